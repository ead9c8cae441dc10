#include "specs/value.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "engine/base/units.h"

namespace flowrun::specs {

namespace {

template <typename Result, typename Parse>
std::optional<Result> of_scalar(const Value& v, Parse parse) {
  if (!v.has_scalar()) return std::nullopt;
  return parse(std::string_view(v.scalar().text()));
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

bool is_name(std::string_view text, bool dashes) {
  return !text.empty() && is_letter(text.front()) && std::all_of(text.begin(), text.end(), [&](char c) {
    return is_letter(c) || is_digit(c) || (dashes && c == '-');
  });
}

}  // namespace

std::string_view kind_name(const Value& v) {
  switch (v.kind_case()) {
    case Value::kScalar: return "text";
    case Value::kList: return "a list";
    case Value::kMap: return "a map";
    case Value::KIND_NOT_SET: break;
  }
  return "nothing";
}

const Entry* find_entry(const Value& v, std::string_view key) {
  for (const Entry& entry : v.map().entries())
    if (entry.key() == key) return &entry;
  return nullptr;
}

const Value* find(const Value& v, std::string_view key) {
  const Entry* entry = find_entry(v, key);
  return entry ? &entry->value() : nullptr;
}

const std::string& text(const Value& v) { return v.scalar().text(); }

bool looks_octal(std::string_view text) {
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) text.remove_prefix(1);
  return text.size() > 1 && text.front() == '0' && std::all_of(text.begin(), text.end(), is_digit);
}

std::optional<uint64_t> to_uint(std::string_view text) {
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0o")) {
    base = text[1] == 'x' ? 16 : 8;
    text.remove_prefix(2);
  } else if (looks_octal(text)) {
    return std::nullopt;
  }
  uint64_t value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (status != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<int64_t> to_int(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const std::optional<uint64_t> magnitude = to_uint(text);
  constexpr uint64_t largest = static_cast<uint64_t>(INT64_MAX);
  if (!magnitude || *magnitude > largest + (negative ? 1 : 0)) return std::nullopt;
  return static_cast<int64_t>(negative ? ~*magnitude + 1 : *magnitude);
}

std::optional<double> to_double(std::string_view text) {
  double value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<bool> to_bool(std::string_view text) {
  if (text == "true") return true;
  if (text == "false") return false;
  return std::nullopt;
}

std::optional<uint64_t> to_uint(const Value& v) {
  return of_scalar<uint64_t>(v, [](std::string_view text) { return to_uint(text); });
}
std::optional<int64_t> to_int(const Value& v) {
  return of_scalar<int64_t>(v, [](std::string_view text) { return to_int(text); });
}
std::optional<double> to_double(const Value& v) {
  return of_scalar<double>(v, [](std::string_view text) { return to_double(text); });
}
std::optional<bool> to_bool(const Value& v) {
  return of_scalar<bool>(v, [](std::string_view text) { return to_bool(text); });
}
std::optional<uint64_t> to_bytes(const Value& v) { return of_scalar<uint64_t>(v, parse_bytes); }

bool is_id(std::string_view text) { return is_name(text, true); }
bool is_column_name(std::string_view text) { return is_name(text, false); }

source_position where(const std::string& file, const Position& position) {
  if (!position.origin().empty()) return {position.origin(), 0, 0};
  return {file, position.line(), position.column()};
}

uint64_t count_values(const Value& v) {
  uint64_t count = 1;
  for (const Value& item : v.list().items()) count += count_values(item);
  for (const Entry& entry : v.map().entries()) count += count_values(entry.value());
  return count;
}

int height(const Value& v) {
  int below = -1;
  for (const Value& item : v.list().items()) below = std::max(below, height(item));
  for (const Entry& entry : v.map().entries()) below = std::max(below, height(entry.value()));
  return v.has_scalar() ? 0 : below + 1;
}

}  // namespace flowrun::specs
