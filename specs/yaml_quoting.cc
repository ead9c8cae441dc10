#include "specs/yaml_quoting.h"

namespace flowrun::specs {

namespace {

bool is_quote(char c) { return c == '\'' || c == '"'; }
bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

// Each text in quotes stands by itself, as in an expression: no letter touches it but for the r of r'…'.
bool is_well_quoted(std::string_view value) {
  for (size_t i = 0; i < value.size(); ++i) {
    if (!is_quote(value[i])) continue;
    const bool raw = i > 0 && value[i - 1] == 'r' && (i == 1 || !is_word(value[i - 2]));
    if (i > 0 && !raw && (is_word(value[i - 1]) || is_quote(value[i - 1]))) return false;
    const size_t closing = value.find(value[i], i + 1);
    if (closing == std::string_view::npos) return false;
    if (closing + 1 < value.size() && (is_word(value[closing + 1]) || is_quote(value[closing + 1]))) return false;
    i = closing;
  }
  return true;
}

// As YAML takes it for this text, whatever it holds.
std::string in_quotes(std::string_view value) {
  if (value.find_first_of("\"\\") == std::string_view::npos) return "\"" + std::string(value) + "\"";
  std::string out = "'";
  for (const char c : value) out += c == '\'' ? std::string("''") : std::string(1, c);
  return out + "'";
}

// "word:" at `at`, behind blanks.
bool key_follows(std::string_view line, size_t at) {
  while (at < line.size() && line[at] == ' ') ++at;
  const size_t begin = at;
  while (at < line.size() && is_word(line[at])) ++at;
  return at > begin && at < line.size() && line[at] == ':';
}

// Where the value that begins at `begin` ends; not before `least`.
size_t end_of_value(std::string_view line, size_t begin, size_t least, bool flow) {
  int open = 0;
  size_t end = begin;
  for (; end < line.size(); ++end) {
    const char c = line[end];
    if (c == '#' && end > least && line[end - 1] == ' ') break;
    if (!flow) continue;
    if (c == '(' || c == '[' || c == '{') ++open;
    if (c == ')' || c == ']' || c == '}') {
      if (open == 0 && end > least) break;
      if (open > 0) --open;
    }
    if (c == ',' && open == 0 && end > least && key_follows(line, end + 1)) break;
  }
  while (end > begin && line[end - 1] == ' ') --end;
  return end;
}

}  // namespace

std::optional<quoting_fault> quoting_fault_at(std::string_view text, size_t offset, bool flow) {
  if (offset >= text.size() || text[offset] == '\n') return std::nullopt;
  const size_t line_begin = text.rfind('\n', offset) == std::string_view::npos ? 0 : text.rfind('\n', offset) + 1;
  const std::string_view line = text.substr(line_begin, text.find('\n', offset) - line_begin);
  const size_t at = offset - line_begin;
  if (at == 0) return std::nullopt;
  const size_t colon = line.rfind(": ", at - 1);
  if (colon == std::string_view::npos) return std::nullopt;
  size_t begin = colon + 2;
  while (begin < at && line[begin] == ' ') ++begin;
  size_t key = colon;
  while (key > 0 && is_word(line[key - 1])) --key;
  if (begin >= at || key == colon) return std::nullopt;
  const bool quote = is_quote(line[begin]);
  const bool colon_within = !quote && line[at] == ':';
  // One word and a colon is a key in a wrong place, and no text.
  if (!quote && (!colon_within || line.substr(begin, at - begin).find_first_of(" '\"") == std::string_view::npos))
    return std::nullopt;
  std::string_view value = line.substr(begin, end_of_value(line, begin, at, flow) - begin);
  quoting_fault out;
  out.message = quote ? "the text in quotes ended before this" : "a ': ' in a text without quotes";
  const std::string_view inner = value.size() > 2 ? value.substr(1, value.size() - 2) : std::string_view();
  if (!is_well_quoted(value) && quote && value.back() == value.front() && is_well_quoted(inner))
    value = inner;
  else if (!is_well_quoted(value))
    value = {};
  constexpr size_t longest = 160;
  if (value.empty() || value.size() > longest)
    out.hint = "put the whole text in quotes, and inside of '…' write each ' twice";
  else
    out.hint = "write " + std::string(line.substr(key, colon - key)) + ": " + in_quotes(value) +
               ", with quotes around all of the text";
  return out;
}

}  // namespace flowrun::specs
