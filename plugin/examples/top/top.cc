// top.rows: the first k rows of each group, as an operator that sorts on the way (a breaker).
//
//   rows ─▶ flowrun sorts by the group's columns, then by `by` ─▶ the first k of each group
//
// The plugin has nothing of its own in front of the sort. Behind it, it looks at one row after another: which group it
// is of, and how many of that group have passed.
#include <cstring>
#include <flowrun/plugin.hpp>
#include <string>
#include <vector>

namespace {

struct settings {
  fr::row_type sorted;            // the input's columns, and behind them keys that are expressions
  fr::row_type output;            // the input's columns
  std::vector<fr::column> group;  // where they lie in the sorted rows
  uint64_t k = 0;
};

settings check(fr::node& node) {
  settings s;
  s.k = node.integer("k");
  if (s.k == 0) node.fault("k", "0 rows of each group are none", "a number from 1 on");
  s.output = node.input();
  fr::order keys;
  for (const uint32_t place : node.columns("of")) {
    s.group.push_back(s.output[place]);
    keys.push_back({s.output[place].name});
  }
  for (fr::order_term& term : node.sort_keys("by")) keys.push_back(std::move(term));
  if (!node.good()) return s;
  s.sorted = node.rows();
  // Equal rows keep their order, so that it is clear which of them are the first k.
  node.set_sort({.rows = s.sorted, .by = keys, .limit = 0, .stable = true, .unique = false});
  fr::order gives(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(s.group.size()));
  for (size_t i = s.group.size(); i < keys.size() && s.output.find(keys[i].column); ++i) gives.push_back(keys[i]);
  fr::estimate rows = node.input_estimate();
  rows.exact = false;
  node.set_output(0, s.output, gives, rows);
  return s;
}

struct group_state {
  explicit group_state(const settings& given) : s(given) {}
  const settings& s;
  uint64_t passed = 0;  // rows of the group at hand
  bool has_group = false;
  std::vector<std::string> group;  // its values, as bytes
};

// A row's value of a column, as bytes that say whether two are equal.
std::string_view bytes_of(const fr::batch& in, size_t row, const fr::column& c) {
  if (c.type.kind == FR_STRING) return in.text(row, c.offset);
  return {reinterpret_cast<const char*>(in.row(row)) + c.offset, fr::width_of(c.type)};
}

bool starts_group(group_state& state, const fr::batch& in, size_t row) {
  bool same = state.has_group;
  for (size_t i = 0; same && i < state.group.size(); ++i) same = state.group[i] == bytes_of(in, row, state.s.group[i]);
  if (same) return false;
  state.group.clear();
  for (const fr::column& c : state.s.group) state.group.emplace_back(bytes_of(in, row, c));
  return state.has_group = true;
}

void keep(group_state& state, const fr::batch& in, fr::out& out) {
  const settings& s = state.s;
  fr::row_writer& rows = out.rows(s.output);
  for (size_t i = 0; i < in.size(); ++i) {
    if (out.full()) return out.leave(i);
    if (starts_group(state, in, i)) state.passed = 0;
    if (state.passed++ >= s.k) continue;
    // The sorted row begins with the columns of the output; its strings move to the new batch.
    unsigned char* const row = rows.append();
    std::memcpy(row, in.row(i), s.output.row_bytes());
    for (const fr::column& c : s.output.columns())
      if (c.type.kind == FR_STRING) rows.put_text(row, c.offset, in.text(i, c.offset));
  }
}

}  // namespace

FLOWRUN_PLUGIN("top", "1.0.0") {
  plugin.add(
      fr::breaker<settings>("rows")
          .summary("Gives the first rows of each group.")
          .details("The rows are sorted by the columns of the group and then by the keys. Rows that are equal in "
                   "all of them keep their order.")
          .order("gives: of, then by as far as the keys are columns")
          .example("best: {op: top.rows, in: results, with: {of: [team], by: [-points], k: 3}}\n")
          .input("in", "the rows")
          .output("out", "the first k of each group")
          .parameter({.name = "of",
                      .kind = FR_PARAMETER_COLUMNS,
                      .required = true,
                      .help = "The columns that rows of one group have in common."})
          .parameter({.name = "by",
                      .kind = FR_PARAMETER_SORT_KEYS,
                      .required = true,
                      .help = "The keys that say which rows come first: columns and expressions, - in front: "
                              "descending."})
          .parameter(
              {.name = "k", .kind = FR_PARAMETER_INTEGER, .default_text = "1", .help = "How many rows of each group."})
          .check(check)
          .behind<group_state>([](const settings& s, const fr::job&) { return group_state(s); }, keep));
}
