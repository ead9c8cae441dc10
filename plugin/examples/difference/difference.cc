// difference.rows: what has changed between two sorted streams, as an operator that reads several inputs (a meeting).
//
//   before ─▶ ┐
//             ├─▶ rows of one key side by side ─▶ +  only after    -  only before    !  after, other than before
//   after  ─▶ ┘
//
// It moves on in whichever stream has the smaller key, so both are read once. Where a stream has no row yet, the step
// is blocked and gives its thread back.
#include <compare>
#include <cstring>
#include <flowrun/plugin.hpp>
#include <string>
#include <vector>

namespace {

struct settings {
  fr::row_type rows;    // of both inputs
  fr::row_type output;  // `change` and these
  std::vector<fr::column> keys;
};

bool can_be_key(fr_type type) { return type.kind == FR_STRING || (type.kind >= FR_U8 && type.kind <= FR_U64); }

settings check(fr::node& node) {
  settings s;
  s.rows = node.input(0);
  const fr::row_type after = node.input(1);
  bool same = s.rows.columns().size() == after.columns().size();
  for (size_t i = 0; same && i < after.columns().size(); ++i)
    same = s.rows[i].name == after[i].name && s.rows[i].type.kind == after[i].type.kind &&
           fr::width_of(s.rows[i].type) == fr::width_of(after[i].type);
  if (!same)
    node.fault("", "the two inputs have other columns", "the same columns in both",
               "put a map in front of one of them");
  fr::order order;
  for (const uint32_t place : node.columns("by")) {
    s.keys.push_back(s.rows[place]);
    order.push_back({s.rows[place].name});
    if (!can_be_key(s.rows[place].type))
      node.fault("by", "'" + s.rows[place].name + "' can't be a key here", "a column of an unsigned type, or a string");
  }
  if (s.rows.find("change")) node.fault("", "the inputs have a column 'change'", "another name for it");
  if (!node.good()) return s;
  node.require_order(order, 0);
  node.require_order(order, 1);
  std::vector<fr::column> columns{{"change", {FR_STRING, 8}}};
  columns.insert(columns.end(), s.rows.columns().begin(), s.rows.columns().end());
  s.output = fr::row_type(std::move(columns));
  node.set_output(0, s.output, order);
  return s;
}

struct streams {
  const settings* s;
  fr::cursor before, after;
};

std::strong_ordering compare_column(const fr::batch& a, size_t i, const fr::batch& b, size_t j, const fr::column& c) {
  if (c.type.kind == FR_STRING) return a.text(i, c.offset).compare(b.text(j, c.offset)) <=> 0;
  uint64_t x = 0, y = 0;
  std::memcpy(&x, a.row(i) + c.offset, fr::width_of(c.type));
  std::memcpy(&y, b.row(j) + c.offset, fr::width_of(c.type));
  return x <=> y;
}

std::strong_ordering compare_keys(const settings& s, const fr::cursor& a, const fr::cursor& b) {
  for (const fr::column& c : s.keys)
    if (const auto order = compare_column(a.rows(), a.position(), b.rows(), b.position(), c); order != 0) return order;
  return std::strong_ordering::equal;
}

bool rows_are_equal(const settings& s, const fr::cursor& a, const fr::cursor& b) {
  for (const fr::column& c : s.rows.columns()) {
    if (c.type.kind == FR_STRING) {
      if (a.rows().text(a.position(), c.offset) != b.rows().text(b.position(), c.offset)) return false;
    } else if (std::memcmp(a.rows().row(a.position()) + c.offset, b.rows().row(b.position()) + c.offset,
                           fr::width_of(c.type)) != 0) {
      return false;
    }
  }
  return true;
}

void put(const settings& s, std::string_view change, const fr::cursor& from, fr::row_writer& to) {
  unsigned char* const row = to.append();
  to.put_text(row, 0, change);
  const uint32_t moved = s.output[0].offset + fr::width_of(s.output[0].type);
  std::memcpy(row + moved, from.rows().row(from.position()), s.rows.row_bytes());
  for (const fr::column& c : s.rows.columns())
    if (c.type.kind == FR_STRING) to.put_text(row, moved + c.offset, from.rows().text(from.position(), c.offset));
}

fr::outcome pull(streams& state, fr::out& out) {
  const settings& s = *state.s;
  fr::row_writer& rows = out.rows(s.output);
  while (!out.full()) {
    const fr::outcome before = state.before.fill(), after = state.after.fill();
    if (before.is_blocked()) return before;
    if (after.is_blocked()) return after;
    if (before.is_done() && after.is_done()) return fr::outcome::done();
    const auto order = before.is_done()  ? std::strong_ordering::greater
                       : after.is_done() ? std::strong_ordering::less
                                         : compare_keys(s, state.before, state.after);
    if (order < 0)
      put(s, "-", state.before, rows);
    else if (order > 0)
      put(s, "+", state.after, rows);
    else if (!rows_are_equal(s, state.before, state.after))
      put(s, "!", state.after, rows);
    if (order <= 0) state.before.advance();
    if (order >= 0) state.after.advance();
  }
  return fr::outcome::ready();
}

}  // namespace

FLOWRUN_PLUGIN("difference", "1.0.0") {
  plugin.add(
      fr::meeting<settings, streams>("rows")
          .summary("Gives what has changed from one sorted stream to another.")
          .details(
              "Each row comes with what happened: + it is new, - it is gone, ! it is there with other values, which "
              "are given. Rows that are the same are left out. A key is taken to stand once in each stream.")
          .order("needs: both inputs sorted by `by`; gives: by")
          .example("changed: {op: difference.rows, in: {before: yesterday, after: today}, with: {by: [id]}}\n")
          .input("before", "the old rows, sorted")
          .input("after", "the new rows, sorted")
          .output("out", "the changes")
          .parameter({.name = "by", .kind = FR_PARAMETER_COLUMNS, .required = true, .help = "The columns of the key."})
          .check(check)
          .run(
              [](const settings& s, const fr::job& job) {
                return streams{&s, fr::cursor(job.input(0)), fr::cursor(job.input(1))};
              },
              pull));
}
