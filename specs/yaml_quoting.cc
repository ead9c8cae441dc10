#include "specs/yaml_quoting.h"

#include <algorithm>
#include <utility>

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

// A value that was meant to stand in "…", without the escapes of YAML: \\" is what JSON makes of \" once more.
std::string unescaped(std::string_view value) {
  std::string out;
  for (size_t i = 0; i < value.size(); ++i) {
    if (value.substr(i).starts_with("\\\\\""))
      i += 2;
    else if (value.substr(i).starts_with("\\\\") || value.substr(i).starts_with("\\\""))
      ++i;
    out += value[i];
  }
  return out;
}

// The place behind the ": " in front of `at`, and where its key begins; nothing where there is none.
struct key_place {
  size_t key, colon, value;
};
std::optional<key_place> key_before(std::string_view line, size_t at) {
  if (at == 0) return std::nullopt;
  const size_t colon = line.rfind(": ", at - 1);
  if (colon == std::string_view::npos) return std::nullopt;
  size_t begin = colon + 2;
  while (begin < at && line[begin] == ' ') ++begin;
  size_t key = colon;
  while (key > 0 && is_word(line[key - 1])) --key;
  if (begin >= at || key == colon) return std::nullopt;
  return key_place{key, colon, begin};
}

constexpr size_t longest_advised = 160;

std::string advice_on(std::string_view line, const key_place& place, std::string_view value) {
  if (value.empty() || value.size() > longest_advised)
    return "put the whole text in quotes, and inside of '…' write each ' twice";
  return "write " + std::string(line.substr(place.key, place.colon - place.key)) + ": " + in_quotes(value) +
         ", with quotes around all of the text";
}

// The line that has `offset`, and where it begins.
std::pair<std::string_view, size_t> line_at(std::string_view text, size_t offset) {
  const size_t newline = text.rfind('\n', offset);
  const size_t begin = newline == std::string_view::npos ? 0 : newline + 1;
  return {text.substr(begin, text.find('\n', offset) - begin), begin};
}

// "word:" at `at`, behind blanks.
bool key_follows(std::string_view line, size_t at) {
  while (at < line.size() && line[at] == ' ') ++at;
  const size_t begin = at;
  while (at < line.size() && is_word(line[at])) ++at;
  return at > begin && at < line.size() && line[at] == ':';
}

// Where the value that begins at `begin` ends; not before `least`. `passes_texts`: brackets in the texts of an
// expression open nothing.
size_t end_of_value(std::string_view line, size_t begin, size_t least, bool flow, bool passes_texts = false) {
  int open = 0;
  size_t end = begin;
  for (; end < line.size(); ++end) {
    const char c = line[end];
    if (passes_texts && is_quote(c)) {
      const size_t closing = line.find(c, end + 1);
      if (closing == std::string_view::npos) return end;
      end = closing;
      continue;
    }
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

// {op: generate with: …}: two words in front of the colon, of which the second one is the next key, most likely.
std::optional<quoting_fault> missing_comma(std::string_view words) {
  const size_t blank = words.find(' ');
  const size_t second = words.find_first_not_of(' ', blank);
  if (blank == std::string_view::npos || second == std::string_view::npos) return std::nullopt;
  const std::string_view first = words.substr(0, blank), key = words.substr(second);
  const auto is_plain = [](char c) { return is_word(c) || c == '.' || c == '-'; };
  if (!std::all_of(first.begin(), first.end(), is_plain) || !std::all_of(key.begin(), key.end(), is_word))
    return std::nullopt;
  return quoting_fault{"a ': ' in a text without quotes: is a comma missing in front of '" + std::string(key) + "'?",
                       "write " + std::string(first) + ", " + std::string(key) +
                           ": …  or, if all of it is one text, put quotes around it"};
}

}  // namespace

std::optional<quoting_fault> quoting_fault_at(std::string_view text, size_t offset, bool flow) {
  if (offset >= text.size() || text[offset] == '\n') return std::nullopt;
  const auto [line, line_begin] = line_at(text, offset);
  const size_t at = offset - line_begin;
  const std::optional<key_place> place = key_before(line, at);
  if (!place) return std::nullopt;
  const size_t begin = place->value;
  const bool quote = is_quote(line[begin]);
  const bool colon_within = !quote && line[at] == ':';
  // One word and a colon is a key in a wrong place, and no text.
  if (!quote && (!colon_within || line.substr(begin, at - begin).find_first_of(" '\"") == std::string_view::npos))
    return std::nullopt;
  if (flow && colon_within) {
    if (std::optional<quoting_fault> found = missing_comma(line.substr(begin, at - begin))) return found;
  }
  std::string value(line.substr(begin, end_of_value(line, begin, at, flow) - begin));
  quoting_fault out;
  out.message = quote ? "the text in quotes ended before this" : "a ': ' in a text without quotes";
  const std::string inner = value.size() > 2 ? value.substr(1, value.size() - 2) : std::string();
  const bool within_quotes = quote && value.back() == value.front();
  const std::string plain = within_quotes && value.front() == '"' ? unescaped(inner) : inner;
  if (plain != inner && is_well_quoted(plain))
    value = plain;
  else if (!is_well_quoted(value) && within_quotes && is_well_quoted(inner))
    value = inner;
  else if (!is_well_quoted(value))
    value.clear();
  out.hint = advice_on(line, *place, value);
  return out;
}

std::optional<std::string> advice_on_expression(std::string_view text, size_t offset) {
  if (offset >= text.size() || text[offset] == '\n') return std::nullopt;
  const auto [line, line_begin] = line_at(text, offset);
  const size_t at = offset - line_begin;
  const std::optional<key_place> place = key_before(line, at);
  if (!place || is_quote(line[place->value])) return std::nullopt;
  if (line.substr(place->value, at - place->value).find_first_of("('\"") == std::string_view::npos) return std::nullopt;
  const size_t end = end_of_value(line, place->value, place->value, true, true);
  const std::string_view value = line.substr(place->value, end - place->value);
  if (end <= at || value.size() > longest_advised || !is_well_quoted(value)) return std::nullopt;
  return advice_on(line, *place, value);
}

}  // namespace flowrun::specs
