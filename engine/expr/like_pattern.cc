// % is any text, _ one character, and a \ in front of them takes their meaning away. Most patterns are comparisons with
// the text's beginning, its end or a part of it; the others become a regular expression.
#include "engine/expr/like_pattern.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "engine/expr/coerce.h"
#include "engine/expr/function_table.h"

namespace flowrun::expr {

namespace {

using record::type_kind;
using record::value_type;

enum class piece_kind { text, any, one };
struct piece {
  piece_kind kind;
  std::string text = {};
};

constexpr const char* escapes = R"(\% \_ or \\)";

// nullopt: a \ stands in front of something else.
std::optional<std::vector<piece>> pieces_of(std::string_view pattern) {
  std::vector<piece> out;
  for (size_t i = 0; i < pattern.size(); ++i) {
    char c = pattern[i];
    if (c == '%') {
      if (out.empty() || out.back().kind != piece_kind::any) out.push_back({piece_kind::any});
      continue;
    }
    if (c == '_') {
      out.push_back({piece_kind::one});
      continue;
    }
    if (c == '\\') {
      c = i + 1 < pattern.size() ? pattern[++i] : '\0';
      if (c != '%' && c != '_' && c != '\\') return std::nullopt;
    }
    if (out.empty() || out.back().kind != piece_kind::text) out.push_back({piece_kind::text});
    out.back().text += c;
  }
  return out;
}

// A byte that means itself in a regular expression.
std::string literal_of(char c) {
  const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  if (c == '\0') return R"(\x00)";
  if (is_letter || static_cast<unsigned char>(c) >= 0x80) return std::string(1, c);
  return std::string("\\") + c;
}

std::string regex_of(const std::vector<piece>& pieces) {
  const bool starts = pieces.front().kind != piece_kind::any, ends = pieces.back().kind != piece_kind::any;
  std::string out = starts ? "^" : "";
  for (size_t i = starts ? 0 : 1; i < pieces.size() - (ends ? 0 : 1); ++i) {
    switch (pieces[i].kind) {
      case piece_kind::any: out += R"(\C*)"; break;  // bytes that are no UTF-8 as well
      case piece_kind::one: out += "(?s:.)"; break;
      case piece_kind::text:
        for (const char c : pieces[i].text) out += literal_of(c);
        break;
    }
  }
  return out + (ends ? "$" : "");
}

// The form of the pattern: "t" a text, "%" any, "_" one.
std::string form_of(const std::vector<piece>& pieces) {
  std::string out;
  for (const piece& p : pieces) out += p.kind == piece_kind::text ? 't' : p.kind == piece_kind::any ? '%' : '_';
  return out;
}

node_ptr test(opcode op, const node_ptr& text, const std::string& part) {
  return op_node(op, value_type::of(type_kind::boolean), {text, text_node(part)});
}

}  // namespace

node_ptr like_node(const call_site& s) {
  if (!s.require_text(0) || !s.require_text(1)) return nullptr;
  const node_ptr &text = s.args[0], &pattern = s.args[1];
  if (pattern->op != opcode::text_constant)
    return s.fault(1, "the pattern is not a constant", "a pattern such as 'a%'",
                   "starts_with, ends_with and contains take any text");
  const auto pieces = pieces_of(pattern->text);
  if (!pieces)
    return s.fault(1, fmt::format("in '{}' a \\ stands in front of nothing that it could escape", pattern->text),
                   escapes, R"(in r'10\%' a backslash is itself, in '10\\%' it is written twice)");
  const std::string form = form_of(*pieces);
  if (form.empty()) return compare("==", text, text_node(""));
  if (form == "t") return compare("==", text, text_node(pieces->front().text));
  if (form == "%") return number_node(value_type::of(type_kind::boolean), 1);
  if (form == "t%") return test(opcode::starts_with, text, pieces->front().text);
  if (form == "%t") return test(opcode::ends_with, text, pieces->back().text);
  if (form == "%t%") return test(opcode::contains, text, (*pieces)[1].text);
  if (form == "t%t") {
    const std::string &first = pieces->front().text, &last = pieces->back().text;
    const value_type u64 = value_type::of(type_kind::u64);
    const node_ptr length =
        text->type.is_bytes() ? number_node(u64, text->type.num_bytes) : op_node(opcode::length, u64, {text});
    const node_ptr both = and_node(test(opcode::starts_with, text, first), test(opcode::ends_with, text, last));
    return and_node(compare(">=", length, number_node(u64, first.size() + last.size())), both);
  }
  return regex_matches_call({s.call, {text, text_node(regex_of(*pieces))}, s.problems});
}

}  // namespace flowrun::expr
