#include "specs/source_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/units.h"

namespace flowrun::specs {

namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

}  // namespace

size_t utf8_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(i < text.size() ? text[i] : 0); };
  const auto follows = [&](size_t i, unsigned low = 0x80, unsigned high = 0xBF) {
    return byte(i) >= low && byte(i) <= high;
  };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return follows(1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    const bool second = follows(1, lead == 0xE0 ? 0xA0 : 0x80, lead == 0xED ? 0x9F : 0xBF);
    return second && follows(2) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const bool second = follows(1, lead == 0xF0 ? 0x90 : 0x80, lead == 0xF4 ? 0x8F : 0xBF);
    return second && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

namespace {

Position at(int line, size_t column) {
  Position position;
  position.set_line(line);
  position.set_column(static_cast<int>(column));
  return position;
}

// The first character that is not text. False when there is one.
bool check_characters(std::string_view text, fault_sink& faults) {
  int line = 1;
  size_t line_start = 0;
  for (size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    const Position position = at(line, i - line_start + 1);
    if (c == '\n') {
      ++line;
      line_start = i + 1;
    } else if (c == '\r') {
      faults.add(position, "a carriage return without a line feed", "lines that end in LF or CRLF");
      return false;
    } else if (c < 0x20 && c != '\t') {
      faults.add(position, fmt::format("a control character (byte 0x{:02X})", c), "text",
                 c == 0 ? "is this a binary file, or UTF-16? save it as UTF-8"
                        : "inside double quotes write \\x and two digits");
      return false;
    } else if (c == 0x7F) {
      faults.add(position, "a control character (byte 0x7F)", "text");
      return false;
    }
    const size_t length = utf8_length(text.substr(i));
    if (length == 0) {
      faults.add(position, fmt::format("not UTF-8: byte 0x{:02X}", c), "text in UTF-8", "save the file as UTF-8");
      return false;
    }
    i += length;
  }
  return true;
}

bool check_indentation(std::string_view text, fault_sink& faults) {
  const size_t faults_before = faults.num_faults();
  int line = 1;
  for (size_t start = 0; start < text.size(); ++line) {
    const size_t end = std::min(text.find('\n', start), text.size());
    const std::string_view content = text.substr(start, end - start);
    const size_t indent = content.find_first_not_of(" \t");
    const size_t tab = content.find('\t');
    if (indent != std::string_view::npos && tab < indent && content[indent] != '#')
      faults.add(at(line, tab + 1), "a tab in the indentation", "spaces",
                 "YAML indents by spaces only; inside double quotes write \\t");
    start = end + 1;
  }
  return faults.num_faults() == faults_before;
}

// yaml-cpp looks as far ahead as a list or a map in brackets goes, and keeps some 300 bytes of memory for each sign in
// it. Quotes and comments count as well: where they end is for it to tell.
bool check_flow_signs(std::string_view text, fault_sink& faults) {
  size_t count = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_sign = text[i] == '[' || text[i] == '{' || text[i] == ',';
    if (!is_sign || ++count <= max_flow_signs) continue;
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(i), '\n');
    const size_t column = i - (text.substr(0, i).rfind('\n') + 1) + 1;  // npos + 1 is 0
    faults.add(at(static_cast<int>(line), column),
               fmt::format("more than {} brackets, braces and commas", max_flow_signs), "a smaller job",
               "data belongs into files that a node reads");
    return false;
  }
  return true;
}

}  // namespace

std::string plain_text(std::string text) {
  if (text.starts_with(byte_order_mark)) text.erase(0, byte_order_mark.size());
  size_t kept = 0;
  for (size_t i = 0; i < text.size(); ++i)
    if (text[i] != '\r' || i + 1 == text.size() || text[i + 1] != '\n') text[kept++] = text[i];
  text.resize(kept);
  return text;
}

bool check_text(std::string_view text, fault_sink& faults) {
  if (text.size() > max_text_bytes) {
    faults.add(source_position{faults.file(), 0, 0},
               fmt::format("the file is larger than {}, too large for a job", format_bytes(max_text_bytes)),
               "a job file", "data belongs into files that a node reads");
    return false;
  }
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF")) {
    faults.add(at(1, 1), "the file is UTF-16", "text in UTF-8", "save the file as UTF-8");
    return false;
  }
  return check_characters(text, faults) && check_indentation(text, faults) && check_flow_signs(text, faults);
}

std::string_view front_of(std::string_view text, size_t most_bytes) {
  size_t end = std::min(text.size(), most_bytes);
  while (end < text.size() && end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end);
}

std::string made_utf8(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    out += length > 0 ? text.substr(0, length) : "\xEF\xBF\xBD";
    text.remove_prefix(length > 0 ? length : 1);
  }
  return out;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

source_text::source_text(std::string_view text) : text_(text), line_starts_{0} {
  for (size_t i = 0; i < text.size(); ++i)
    if (text[i] == '\n') line_starts_.push_back(i + 1);
}

std::optional<size_t> source_text::offset_of(int line, int column) const {
  if (line < 1 || column < 1 || static_cast<size_t>(line) > line_starts_.size()) return std::nullopt;
  const size_t offset = line_starts_[static_cast<size_t>(line) - 1] + static_cast<size_t>(column) - 1;
  if (offset > text_.size()) return std::nullopt;
  return offset;
}

Position source_text::position_of(size_t offset) const {
  const auto after = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
  const auto line = static_cast<size_t>(after - line_starts_.begin());
  return at(static_cast<int>(line), offset - line_starts_[line - 1] + 1);
}

Position source_text::nth_variable(const Position& start, size_t n) const {
  std::optional<size_t> offset = start.origin().empty() ? offset_of(start.line(), start.column()) : std::nullopt;
  if (!offset) return start;
  size_t found = text_.find("${", *offset);
  for (; n > 0 && found != std::string_view::npos; --n) found = text_.find("${", found + 1);
  return found == std::string_view::npos ? start : position_of(found);
}

}  // namespace flowrun::specs
