// Operators with stored inputs, in whole jobs: as a stage, cut off, as a head, and several of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "engine/plan/node_checker.h"
#include "tests/support/job_rig.h"

namespace flowrun::exec {
namespace {

using value_set = std::set<uint64_t>;

uint64_t first_value(const record::batch& b, size_t row) {
  uint64_t value = 0;
  std::memcpy(&value, b.row(row), sizeof value);
  return value;
}

class set_maker final : public ordered_stage {
 public:
  explicit set_maker(std::any& state) : state_(state) { state_ = value_set(); }
  outcome push(record::batch& in, output&, waker&) override {
    for (size_t i = 0; i < in.num_rows; ++i) std::any_cast<value_set&>(state_).insert(first_value(in, i));
    return outcome::ready();
  }

 private:
  std::any& state_;
};

// Keeps the rows that are in all sets.
class chooser final : public ordered_stage {
 public:
  explicit chooser(build_context& c) : type_(c.input_type()), pool_(c.job.pool()) {
    for (std::any& state : c.states)
      if (auto* values = std::any_cast<value_set>(&state)) sets_.push_back(std::move(*values));
  }
  outcome push(record::batch& in, output& out, waker&) override {
    record::batch_builder builder(type_, pool_, record::rows_of_any_length(in.num_bytes() + 64));
    for (size_t i = 0; i < in.num_rows; ++i) {
      const uint64_t value = first_value(in, i);
      if (std::all_of(sets_.begin(), sets_.end(), [&](const value_set& s) { return s.contains(value); }))
        builder.append_row(in.row(i), in.heap);
    }
    out.emit(builder.take());
    return outcome::ready();
  }

 private:
  const record::row_type& type_;
  record::batch_pool& pool_;
  std::vector<value_set> sets_;
};

// Gives the values that are in all sets.
class set_source final : public source {
 public:
  explicit set_source(build_context& c) : type_(c.output_type()), pool_(c.job.pool()) {
    for (std::any& state : c.states) sets_.push_back(std::any_cast<value_set>(std::move(state)));
  }
  outcome pull(output& out, waker&) override {
    record::batch_builder builder(type_, pool_, record::rows_of_any_length(8 * sets_[0].size() + 64));
    for (uint64_t value : sets_[0])
      if (std::all_of(sets_.begin(), sets_.end(), [&](const value_set& s) { return s.contains(value); }))
        std::memcpy(builder.append(), &value, sizeof value);
    out.emit(builder.take());
    return outcome::done();
  }

 private:
  const record::row_type& type_;
  record::batch_pool& pool_;
  std::vector<value_set> sets_;
};

struct settings {};

assembly build(build_context& c, const settings&) {
  assembly out;
  EXPECT_EQ(c.states.size(), c.node.inputs.size());
  if (c.is_intake())
    out.stages.emplace_back(std::make_unique<set_maker>(c.states[c.input]));
  else if (c.node.role() == plan::operator_role::ordered)
    out.stages.emplace_back(std::make_unique<chooser>(c));
  else
    out.head = std::make_unique<set_source>(c);
  return out;
}

operator_definition known_operator() {
  plan::operator_declaration d;
  d.name = "test.known";
  d.role = plan::operator_role::ordered;
  d.inputs = {{"in", ""}, {"table", "", true}, {"other", "", true}};
  d.outputs = {{"out", ""}};
  return define<settings>(
      std::move(d),
      [](plan::node_checker& n) {
        n.set_output(0, n.input_type(), n.input_order());
        return settings();
      },
      build);
}

operator_definition both_operator() {
  plan::operator_declaration d;
  d.name = "test.both";
  d.role = plan::operator_role::meeting;
  d.inputs = {{"a", "", true}, {"b", "", true}};
  d.outputs = {{"out", ""}};
  return define<settings>(
      std::move(d),
      [](plan::node_checker& n) {
        n.set_output(0, n.input_type());
        return settings();
      },
      build);
}

constexpr const char* job = R"yaml(
  drawn:    {op: generate, with: {rows: 40000, columns: {v: "i * 7 % 30000"}}}
  even:     {op: generate, with: {rows: 9000, columns: {v: "2 * i"}}}
  threes:   {op: generate, with: {rows: 9000, columns: {v: "3 * i"}}}
  sixes:    {op: test.known, in: {in: drawn, table: even, other: threes}}
  sixes_w:  {op: file.write_rows, in: sixes, with: {path: @OUT/sixes.bin}}
  fives:    {op: filter, in: drawn, with: {where: "v % 5 == 0"}}
  backward: {op: sort, in: drawn, with: {by: [-v], unique: true}}
  large:    {op: filter, in: backward, with: {where: "v > 10000"}}
  cut:      {op: test.known, in: {in: drawn, table: fives, other: large}}
  cut_w:    {op: file.write_rows, in: cut, with: {path: @OUT/cut.bin}}
  cross:    {op: test.known, in: {in: even, table: drawn, other: cut}}
  cross_w:  {op: file.write_rows, in: cross, with: {path: @OUT/cross.bin}}
  both:     {op: test.both, in: {a: even, b: threes}}
  both_w:   {op: file.write_rows, in: both, with: {path: @OUT/both.bin}}
)yaml";

std::string packed(const std::vector<uint64_t>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(uint64_t)};
}

TEST(stored_inputs, are_complete_when_their_node_runs) {
  std::map<std::string, std::vector<uint64_t>> expected;
  for (uint64_t i = 0; i < 40000; ++i) {
    const uint64_t v = i * 7 % 30000;
    if (v % 6 == 0 && v < 18000) expected["sixes.bin"].push_back(v);
    if (v % 5 == 0 && v > 10000) expected["cut.bin"].push_back(v);
  }
  for (uint64_t v = 0; v < 18000; v += 2)
    if (v % 5 == 0 && v > 10000) expected["cross.bin"].push_back(v);
  for (uint64_t v = 0; v < 18000; v += 6) expected["both.bin"].push_back(v);
  const operator_definition known = known_operator(), both = both_operator();
  for (const bool plain : {true, false})
    for (const bool force_spill : {false, true}) {
      job_place place;
      place.plain = plain;
      place.threads = plain ? 1 : 4;
      place.force_spill = force_spill;
      place.more_operators = {&known, &both};
      job_rig rig(job, place);
      const std::unique_ptr<error> problem = rig.run();
      ASSERT_EQ(problem, nullptr) << problem->what();
      const std::map<std::string, std::string> outputs = rig.outputs();
      for (const char* name : {"sixes.bin", "cut.bin", "cross.bin", "both.bin"})
        EXPECT_TRUE(outputs.at(name) == packed(expected[name])) << name;
      const RunReport report = rig.report();
      EXPECT_EQ(rig.node(report, "sixes").rows(), expected["sixes.bin"].size());
      EXPECT_EQ(rig.node(report, "sixes").rows_in(), 40000U + 9000 + 9000);
    }
}

}  // namespace
}  // namespace flowrun::exec
