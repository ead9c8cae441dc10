#include "engine/expr/text_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace flowrun::expr {

namespace {

const char* skip_blanks(const char* p, const char* end) {
  while (p < end && is_blank(*p)) ++p;
  return p;
}

const char* find(const char* p, const char* end, char byte) {
  if (p == end) return end;
  const void* const found = std::memchr(p, byte, static_cast<size_t>(end - p));
  return found == nullptr ? end : static_cast<const char*>(found);
}

// Behind a field that begins with its blanks.
const char* skip_field(const char* p, const char* end) {
  p = skip_blanks(p, end);
  while (p < end && !is_blank(*p)) ++p;
  return p;
}

const char* advance(const char* p, const char* end, const field_position& position) {
  if (position.skip_blanks) p = skip_blanks(p, end);
  return p + std::min<uint64_t>(position.byte, static_cast<uint64_t>(end - p));
}

const char* begin_of(const char* p, const char* end, const field_range& r) {
  for (uint64_t fields = r.first.field; fields > 0 && p < end; --fields) {
    if (r.separator == field_range::blanks) {
      p = skip_field(p, end);
      continue;
    }
    p = find(p, end, static_cast<char>(r.separator));
    if (p < end) ++p;
  }
  return advance(p, end, r.first);
}

const char* end_of(const char* p, const char* end, const field_range& r) {
  if (r.last.field >= field_range::unbounded) return end;
  const bool whole = r.last.byte == 0;
  for (uint64_t fields = r.last.field + (whole ? 1 : 0); fields > 0 && p < end; --fields) {
    if (r.separator == field_range::blanks) {
      p = skip_field(p, end);
      continue;
    }
    p = find(p, end, static_cast<char>(r.separator));
    if (p < end && (fields > 1 || !whole)) ++p;  // a whole field ends before its separator
  }
  return whole ? p : advance(p, end, r.last);
}

// FIELD[.BYTE][b], taken off the front; bytes from `lowest_byte` on.
bool take_position(std::string_view& text, field_position& to, bool is_last, std::string& problem) {
  const auto field = take_count(text);
  if (!field || *field == 0) {
    problem = field ? "fields are counted from 1" : "a field's number is missing";
    return false;
  }
  to.field = *field - 1;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    const auto byte = take_count(text);
    if (!byte || (*byte == 0 && !is_last)) {
      problem = byte ? "bytes are counted from 1" : "a byte's number is missing behind '.'";
      return false;
    }
    to.byte = is_last ? *byte : *byte - 1;
  }
  if (text.starts_with('b')) {
    to.skip_blanks = true;
    text.remove_prefix(1);
  }
  return true;
}

}  // namespace

std::optional<uint64_t> take_count(std::string_view& text) {
  size_t i = 0;
  uint64_t count = 0;
  for (; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i)
    count = std::min(count * 10 + static_cast<uint64_t>(text[i] - '0'), field_range::unbounded / 16);
  if (i == 0) return std::nullopt;
  text.remove_prefix(i);
  return count;
}

std::optional<field_range> parse_field_range(std::string_view text, std::string& problem) {
  field_range out;
  if (!take_position(text, out.first, false, problem)) return std::nullopt;
  if (text.starts_with(',')) {
    text.remove_prefix(1);
    if (!take_position(text, out.last, true, problem)) return std::nullopt;
  }
  if (text.empty()) return out;
  problem = fmt::format("'{}' doesn't belong there", text.substr(0, 20));
  return std::nullopt;
}

std::string_view cut(std::string_view text, const field_range& range) {
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  const char* const first = begin_of(begin, end, range);
  const char* const last = end_of(begin, end, range);
  return last > first ? std::string_view(first, static_cast<size_t>(last - first)) : std::string_view();
}

}  // namespace flowrun::expr
