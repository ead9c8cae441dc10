// Two built-in words, tokens and reverse, as a plugin: what plugins can do is no less than what operators/ can. Built
// out of the tree by roles_test.py and by the benchmark; the cutting of texts is the built-in one's own source.
#include <cstring>
#include <flowrun/plugin.hpp>
#include <string>
#include <utility>
#include <vector>

#include "operators/parts/text/token_set.h"

namespace {

using flowrun::operators::token_set;

struct token_settings {
  fr::row_type output;
  uint32_t text = 0;                                  // where it lies in the rows that come
  std::vector<std::pair<fr::column, uint32_t>> kept;  // where it lies, and where it goes
  token_set in_token;
};

token_settings check_tokens(fr::node& node) {
  token_settings s;
  std::vector<fr::column> columns;
  const fr::row_type input = node.input();
  for (const uint32_t place : node.columns("keep")) columns.push_back(input[place]);
  if (const auto text = node.expression("text")) s.text = text->offset;
  const bool separates = node.has("separators");
  const auto given = token_set::parse(node.text(separates ? "separators" : "characters"), separates);
  if (!given) node.fault(separates ? "separators" : "characters", "this is no set of characters");
  if (!node.good() || !given) return s;
  s.in_token = *given;
  columns.push_back({node.text("as"), {FR_STRING, 8}});
  s.output = fr::row_type(columns);
  for (size_t i = 0; i + 1 < columns.size(); ++i) s.kept.emplace_back(columns[i], s.output[i].offset);
  node.set_output(0, s.output);
  return s;
}

void cut(const token_settings& s, const fr::batch& in, fr::out& out) {
  fr::row_writer& rows = out.rows_with_texts_of(in, s.output);
  const uint32_t row_bytes = s.output.row_bytes(), token_offset = s.output.columns().back().offset;
  const token_set in_token = s.in_token;  // here, where no row that is written can lie in it
  const unsigned char* const heap = in.raw().heap;
  auto [row, room] = rows.next_rows();
  size_t written = 0;
  uint64_t at = out.within();  // where the text goes on
  for (size_t i = 0; i < in.size(); ++i, at = 0) {
    const std::string_view text = in.text(i, s.text);
    const auto* const bytes = reinterpret_cast<const unsigned char*>(text.data());
    for (;;) {
      const token_set::place found = in_token.next(bytes, text.size(), at);
      if (found.from == text.size()) break;
      if (written == room) {
        rows.added(written);
        return out.leave(i, found.from);
      }
      for (const auto& [column, to] : s.kept)
        std::memcpy(row + to, in.row(i) + column.offset, fr::width_of(column.type));
      rows.put(
          row, token_offset,
          fr_string{static_cast<uint32_t>(bytes + found.from - heap), static_cast<uint32_t>(found.end - found.from)});
      row += row_bytes;
      ++written;
      at = found.end;
    }
  }
  rows.added(written);
}

struct nothing {};
struct backward {
  fr::reader rows;
};

// pairs: what a filter and a map make of pairs of numbers, in one loop.
struct pair_settings {
  fr::row_type output{{{"sum", {FR_U64, 8}}, {"b", {FR_U64, 8}}}};
};
struct number_pair {
  uint64_t a, b;
};
void pairs(const pair_settings& s, const fr::batch& in, fr::out& out) {
  out.put_each<number_pair, number_pair>(in, s.output, [](const number_pair& row, number_pair& to) {
    to = {row.a + row.b, row.b};
    return row.a % 2 == 0;
  });
}

}  // namespace

FLOWRUN_PLUGIN("seam", "1.0.0") {
  plugin.add(fr::stateless<token_settings>("tokens")
                 .summary("Cuts texts into tokens.")
                 .input("in", "rows with a text")
                 .output("out", "the kept columns and the token")
                 .parameter({.name = "text", .kind = FR_PARAMETER_EXPRESSION, .required = true, .help = "The text."})
                 .parameter({.name = "as", .default_text = "token", .help = "The name of the token's column."})
                 .parameter({.name = "keep", .kind = FR_PARAMETER_COLUMNS, .help = "Columns that are kept."})
                 .parameter({.name = "characters", .default_text = "A-Za-z0-9_", .help = "What tokens consist of."})
                 .parameter({.name = "separators", .help = "What stands between them."})
                 .check(check_tokens)
                 .apply(cut));
  plugin.add(fr::meeting<nothing, backward>("reverse")
                 .summary("The rows from the last to the first.")
                 .stored_input("in", "the rows")
                 .output("out", "the same rows in reverse order")
                 .check([](fr::node& node) {
                   fr::order turned = node.input_order();
                   for (fr::order_term& term : turned) term.descending = !term.descending;
                   node.set_memory({.minimum = 256 << 10, .maximum = 16 << 20, .weight = 0.25}, FR_WORK);
                   node.set_output(0, node.input(), turned, node.input_estimate());
                   return nothing{};
                 })
                 .run([](const nothing&, const fr::job& j) { return backward{j.stored(0).backward(j.memory_bytes())}; },
                      [](backward& s, fr::out& out) {
                        fr::batch front;
                        const fr::outcome o = s.rows.front(front);
                        if (!o.is_ready()) return o;
                        out.pass(front, 0, front.size());
                        s.rows.pop();
                        return o;
                      }));
  plugin.add(fr::stateless<pair_settings>("pairs")
                 .summary("The sum of each pair whose first number is even, and its second.")
                 .input("in", "rows that begin with two u64")
                 .output("out", "the sum and the second number")
                 .check([](fr::node& node) {
                   node.set_output(0, pair_settings().output);
                   return pair_settings();
                 })
                 .apply(pairs));
}
