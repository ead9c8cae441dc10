// shuffle: a random permutation, as a sort by random numbers that only it sees.
//
//   [rand(seed, row number)] ─▶ run creation | merge ─▶ [without it]
//
// The i-th number of the sequence is a bijection of i (splitmix64), so no two rows tie. The permutation depends on the
// seed alone, not on memory, threads or disks. It costs as much as a sort with a key of 8 bytes more. With a limit it
// keeps the rows with the smallest numbers only, which is a sample without replacement.
#include <fmt/format.h>

#include "engine/base/error.h"
#include "operators/parts/order/ordered_cut.h"
#include "operators/parts/order/sort_stages.h"
#include "operators/parts/rules/estimates.h"
#include "operators/word.h"

namespace flowrun::operators {

namespace {

struct settings {
  expr::expression number;  // that a row is sorted by
  uint64_t limit = 0;       // 0: all rows
};

hidden_key sorted_rows(const record::row_type& input, uint64_t limit) {
  hidden_key out = with_hidden_key(input, record::value_type::of(record::type_kind::u64));
  out.settings.limit = limit;
  return out;
}

settings check(plan::node_checker& node) {
  const uint64_t limit = node.has("limit") ? node.integer("limit") : 0;
  if (node.has("limit") && limit == 0)
    node.fault_at_parameter("limit", "a limit of 0 leaves no rows", "a number from 1 on",
                            "leave it out to keep all rows");
  describe_hidden_key(node, sorted_rows(node.input_type(), limit));
  node.facts().sort.limit_rows = limit;
  plan::row_estimate estimate = node.input_estimate();
  if (limit > 0) estimate = limited(estimate, limit, node.input_type());
  node.set_output(0, node.input_type(), {}, estimate);
  expr::compiled number = expr::compile(fmt::format("rand({}, row_number)", node.integer("seed")),
                                        expr::scope{.row = &node.input_type(), .row_number = true});
  FLOWRUN_CHECK(number.value.has_value());
  return {*std::move(number.value), limit};
}

exec::assembly build(exec::build_context& c, const settings& s) {
  const hidden_key sorted = sorted_rows(c.input_type(), s.limit);
  exec::assembly out;
  if (!c.is_intake()) {
    add_merge(out, c, sorted.settings);
    if (s.limit > 0) out.stages.push_back(make_ordered_cut(sorted.type, repeats::none, {}, s.limit, c.job.pool()));
    out.stages.push_back(without_hidden_key(sorted, c.job.pool()));
    return out;
  }
  named_expressions columns = identity(c.input_type());
  columns.emplace_back(hidden_key_column(), s.number);
  out.stages.push_back(make_program(c.input_type(), {program_step::map(std::move(columns))}, c.job.pool()));
  add_run_creation(out, c, sorted.settings);
  return out;
}

}  // namespace

template <>
exec::operator_definition word<"shuffle">() {
  plan::operator_declaration d;
  d.name = "shuffle";
  d.summary = "Puts the rows into a random order.";
  d.details =
      "Row i of the input has the random number rand(seed, i), and the rows come out in the order of their numbers: "
      "the same order on every run, whatever the memory and the number of threads. All numbers differ. It costs what a "
      "sort costs.\n\n"
      "With `limit` it gives a random sample of so many rows, each at most once, and keeps no more than these while "
      "the input goes by.";
  d.order = "needs: nothing; gives: nothing";
  d.example =
      "mixed: {op: shuffle, in: edges, with: {seed: 7}}\n"
      "some:  {op: shuffle, in: edges, with: {seed: 7, limit: 10}}\n";
  d.role = plan::operator_role::breaker;
  d.inputs = {{"in", "the rows"}};
  d.outputs = {{"out", "the same rows, or with `limit` some of them, in a random order"}};
  d.parameters = {{.name = "seed",
                   .kind = plan::parameter_kind::integer,
                   .default_text = "0",
                   .help = "Which of the random orders."},
                  {.name = "limit",
                   .kind = plan::parameter_kind::integer,
                   .help = "Keep only the first so many rows of the random order, at least one."}};
  d.memory = sort_memory;
  return exec::define<settings>(std::move(d), check, build);
}

}  // namespace flowrun::operators
