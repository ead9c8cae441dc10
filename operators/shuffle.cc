// shuffle: a random permutation, as a sort by random numbers that only it sees.
//
//   [rand(seed, row number)] ─▶ run creation | merge ─▶ [without it]
//
// The i-th number of the sequence is a bijection of i (splitmix64), so no two rows tie. The permutation depends on the
// seed alone, not on memory, threads or disks. It costs as much as a sort with a key of 8 bytes more.
#include <fmt/format.h>

#include "engine/base/error.h"
#include "operators/parts/order/sort_stages.h"
#include "operators/word.h"

namespace flowrun::operators {

namespace {

hidden_key sorted_rows(const record::row_type& input) {
  return with_hidden_key(input, record::value_type::of(record::type_kind::u64));
}

struct settings {
  expr::expression number;  // that a row is sorted by
};

settings check(plan::node_checker& node) {
  describe_hidden_key(node, sorted_rows(node.input_type()));
  node.set_output(0, node.input_type(), {}, node.input_estimate());
  expr::compiled number = expr::compile(fmt::format("rand({}, row_number)", node.integer("seed")),
                                        expr::scope{.row = &node.input_type(), .row_number = true});
  FLOWRUN_CHECK(number.value.has_value());
  return {*std::move(number.value)};
}

exec::assembly build(exec::build_context& c, const settings& s) {
  const hidden_key sorted = sorted_rows(c.input_type());
  exec::assembly out;
  if (!c.is_intake()) {
    add_merge(out, c, sorted.settings);
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
      "the "
      "same order on every run, whatever the memory and the number of threads. All numbers differ. It costs what a "
      "sort costs.";
  d.order = "needs: nothing; gives: nothing";
  d.example = "mixed: {op: shuffle, in: edges, with: {seed: 7}}\n";
  d.role = plan::operator_role::breaker;
  d.inputs = {{"in", "the rows"}};
  d.outputs = {{"out", "the same rows in a random order"}};
  d.parameters = {{.name = "seed",
                   .kind = plan::parameter_kind::integer,
                   .default_text = "0",
                   .help = "Which of the random orders."}};
  d.memory = sort_memory;
  return exec::define<settings>(std::move(d), check, build);
}

}  // namespace flowrun::operators
