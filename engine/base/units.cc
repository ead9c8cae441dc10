#include "engine/base/units.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

namespace flowrun {

std::optional<uint64_t> parse_bytes(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  if (text.empty() || !(text.front() >= '0' && text.front() <= '9')) return std::nullopt;
  const auto [rest, status] = std::from_chars(text.data(), end, value, std::chars_format::fixed);
  if (status != std::errc()) return std::nullopt;
  uint64_t whole = 0;
  const auto [int_rest, int_status] = std::from_chars(text.data(), end, whole);
  std::string_view unit(rest, static_cast<size_t>(end - rest));
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  uint64_t factor = 1;
  if (unit.empty() && rest != end) return std::nullopt;  // a trailing space
  if (!unit.empty() && unit != "B") {
    static constexpr std::string_view prefixes = "KMGTP", small_prefixes = "kmgtp";
    size_t power = prefixes.find(unit.front());
    if (power == std::string_view::npos && (unit.size() == 1 || unit.front() == 'k'))
      power = small_prefixes.find(unit.front());  // 4g, as -Xmx takes it
    if (power == std::string_view::npos) return std::nullopt;
    unit.remove_prefix(1);
    uint64_t base = 0;
    if (unit.empty() || unit == "iB" || unit == "i") base = 1024;
    if (unit == "B") base = 1000;
    if (base == 0) return std::nullopt;
    for (size_t i = 0; i <= power; ++i) factor *= base;
  }
  if (int_rest == rest) {  // no fraction: stay exact
    if (int_status != std::errc()) return std::nullopt;
    uint64_t product = 0;
    if (__builtin_mul_overflow(whole, factor, &product)) return std::nullopt;
    return product;
  }
  const double bytes = value * static_cast<double>(factor);
  if (!(bytes < 18e18)) return std::nullopt;
  return static_cast<uint64_t>(bytes);
}

std::string format_bytes(uint64_t num_bytes) {
  static constexpr std::array names = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (num_bytes < 1024) return fmt::format("{} B", num_bytes);
  double value = static_cast<double>(num_bytes);
  size_t power = 0;
  while (value >= 999.5 && power + 1 < names.size()) {
    value /= 1024;
    ++power;
  }
  const int digits = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f} {}", value, digits, names[power]);
}

std::string format_duration(double seconds) {
  if (!(seconds >= 0)) return "?";
  if (seconds < 0.9995) return fmt::format("{:.0f} ms", seconds * 1e3);
  if (seconds < 59.95) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<uint64_t>(std::llround(seconds));
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

std::string format_whole_seconds(double seconds) {
  const double whole = std::ceil(seconds);
  return whole >= 0 && whole < 60 ? fmt::format("{:.0f} s", whole) : format_duration(whole);
}

std::string format_count(uint64_t count) {
  std::string digits = std::to_string(count);
  for (size_t i = digits.size(); i > 3;) {
    i -= 3;
    digits.insert(i, 1, ',');
  }
  return digits;
}

}  // namespace flowrun
