// limit: the first rows, of the stream or of each group of equal neighbours (row_limit.h does the work).
//
// The input is read to its end, also when no more rows can come of it: what feeds it may feed others as well, and
// whether damage further on is found must not depend on how far the threads had come.
#include "operators/parts/order/row_limit.h"
#include "operators/parts/rules/estimates.h"
#include "operators/word.h"

namespace flowrun::operators {

namespace {

struct settings {
  std::vector<std::string> by;
  uint64_t skip = 0;
  uint64_t count = UINT64_MAX;  // all
};

settings read(plan::node_checker& node) {
  settings s;
  s.by = node.columns("by");
  s.skip = node.integer("skip");
  if (node.has("count")) s.count = node.integer("count");
  return s;
}

settings check(plan::node_checker& node) {
  node.pass_rows_on(at_most(node.input_estimate()));
  settings s = read(node);
  if (s.count == 0)
    node.fault_at_parameter("count", "a limit of 0 leaves no rows", "a number from 1 on",
                            s.skip > 0 ? "leave it out to keep all rows behind those that are skipped" : "");
  if (!node.has("count") && s.skip == 0)
    node.fault_at_node("a limit needs to know how many rows",
                       "count: how many to keep, or skip: how many to leave out");
  if (!s.by.empty()) node.require_adjacent(0, s.by, {}, true);
  if (!node.ok()) return s;
  plan::row_estimate estimate = node.input_estimate();
  if (s.by.empty())
    estimate = limited(skipped(estimate, s.skip, node.input_type()), s.count, node.input_type());
  else
    estimate = at_most(estimate);
  node.set_output(0, node.input_type(), node.input_order(), estimate);
  return s;
}

exec::assembly build(exec::build_context& c, const settings& s) {
  std::vector<size_t> keys;
  for (const std::string& column : s.by) keys.push_back(*c.input_type().index_of(column));
  exec::assembly out;
  out.stages.push_back(make_row_limit(c.input_type(), keys, s.skip, s.count, c.job.pool()));
  return out;
}

}  // namespace

template <>
exec::operator_definition word<"limit">() {
  plan::operator_declaration d;
  d.name = "limit";
  d.summary = "Keeps the first rows, of the stream or of each group.";
  d.details =
      "With `by` it keeps the first rows of each group of rows with equal keys. These must follow each other, as they "
      "do behind a sort by the keys (in any sequence): sorted by [country, -amount], `{count: 3, by: [country]}` keeps "
      "the three largest of each country.\n\n"
      "The first rows of a sort come cheaper from the sort's own `limit`, which keeps no more than these. The input is "
      "read to its end: what lies behind the rows that are kept still counts in other outputs and in checks, and its "
      "faults are found.";
  d.order = "needs: with by, equal keys adjacent; keeps: the input's order";
  d.example =
      "page:   {op: limit, in: names, with: {count: 2, skip: 1}}\n"
      "firsts: {op: limit, in: sorted, with: {count: 1, by: [src]}}\n";
  d.role = plan::operator_role::ordered;
  d.division = plan::operator_division::keys;
  d.inputs = {{"in", "the rows; with `by`, equal keys next to each other"}};
  d.outputs = {{"out", "the rows that are kept, in the order of the input"}};
  d.parameters = {{.name = "count",
                   .kind = plan::parameter_kind::integer,
                   .help = "How many rows to keep, at least one; without it all behind those that are skipped."},
                  {.name = "skip",
                   .kind = plan::parameter_kind::integer,
                   .default_text = "0",
                   .help = "How many rows to leave out before the first one that is kept."},
                  {.name = "by",
                   .kind = plan::parameter_kind::columns,
                   .help = "The keys of a group: both numbers count anew in each group."}};
  return exec::define<settings>(std::move(d), check, build);
}

}  // namespace flowrun::operators
