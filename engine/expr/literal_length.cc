#include "engine/expr/literal_length.h"

#include <fmt/format.h>

#include "engine/base/counted.h"

namespace flowrun::expr {

namespace {

// As a literal in single quotes.
std::string spelled(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\'' || c == '\\') out += '\\';
    if (byte == 0)
      out += "\\0";
    else if (byte < 0x20 || byte == 0x7F)
      out += fmt::format("\\x{:02x}", byte);
    else
      out += c;
  }
  return out + "'";
}

}  // namespace

std::optional<operand_fault> never_equal(std::string_view op, const node_ptr& a, const node_ptr& b) {
  if (op != "==" && op != "!=") return std::nullopt;
  const node_ptr& bytes = a->type.is_bytes() ? a : b;
  const node_ptr& text = a->type.is_bytes() ? b : a;
  const size_t length = bytes->type.num_bytes, given = text->text.size();
  if (!bytes->type.is_bytes() || !text->type.is_string() || !text->literal || given == length) return std::nullopt;
  operand_fault out;
  out.argument = &text == &a ? 0 : 1;
  out.message = fmt::format("a text of {} never equals one of {}, which {} holds", counted(given, "byte"), length,
                            record::to_string(bytes->type));
  out.expected = fmt::format("a text of {}", counted(length, "byte"));
  constexpr size_t most_written = 40;  // of the bytes in the advice
  if (given > length) {
    out.hint = fmt::format("to ask for the first {}, write {}", length == 1 ? "byte" : fmt::format("{} bytes", length),
                           spelled(text->text.substr(0, length)));
    if (length > most_written) out.hint = "compare with a text of that length";
  } else if (length <= most_written) {
    std::string padded = text->text;
    padded.resize(length);
    out.hint = fmt::format("for a value padded with zero bytes write {}, for one with blanks trim_right(x) {} {}",
                           spelled(padded), op, spelled(text->text));
  } else {
    out.hint = fmt::format(
        "for a value padded with zero bytes write {}starts_with(x, {}), for one with blanks "
        "trim_right(x) {} {}",
        op == "==" ? "" : "not ", spelled(text->text + '\0'), op, spelled(text->text));
  }
  return out;
}

}  // namespace flowrun::expr
