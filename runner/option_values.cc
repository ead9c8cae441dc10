#include "runner/option_values.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "engine/base/units.h"
#include "operators/parts/text/csv_settings.h"
#include "specs/resource_reader.h"

namespace flowrun::runner {

uint64_t bytes_of(const std::string& option, const std::string& text) {
  const auto value = parse_bytes(text);
  if (!value || *value == 0)
    throw error(error_kind::usage, option + " '" + text + "' is no number of bytes",
                "more than 0, with a unit of at most PiB: 64MiB, 1.5GiB, 500GB");
  return *value;
}

uint64_t block_size_of(const std::string& option, const std::string& text) {
  const uint64_t num_bytes = bytes_of(option, text);
  if (!specs::is_block_size(num_bytes))
    throw error(error_kind::usage, option + " is " + text + ": expected " + specs::block_size_expected,
                "write " + specs::nearest_block_sizes(num_bytes));
  return num_bytes;
}

uint64_t number_of(const std::string& option, const std::string& text, uint64_t least, uint64_t most) {
  uint64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number =
      end == text.data() + text.size() && (problem == std::errc() || problem == std::errc::result_out_of_range);
  if (is_number && problem == std::errc() && value >= least && value <= most) return value;
  const bool has_end = most != std::numeric_limits<uint64_t>::max();
  throw error(error_kind::usage, option + (is_number ? " is " + text : " '" + text + "' is no number"),
              fmt::format("a whole number from {} {}", least, has_end ? fmt::format("to {}", most) : "on"));
}

unsigned depth_of(const std::string& option, const std::string& text) {
  return static_cast<unsigned>(number_of(option, text, 1, specs::most_depth));
}

char delimiter_of(const std::string& option, const std::string& text) {
  const std::optional<char> byte = operators::delimiter_byte(text);
  if (!byte)
    throw error(error_kind::usage, option + " can't be '" + text + "'",
                "one byte that is no part of a number or a line end, such as , ; | or \\t");
  return *byte;
}

double seconds_of(const std::string& option, const std::string& text) {
  double value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size() || !(value > 0 && value <= 3600))
    throw error(error_kind::usage, option + " '" + text + "' is no time", "seconds above 0, at most 3600: 3, 0.5");
  return value;
}

std::vector<std::string> list_of(const std::string& option, const std::string& text) {
  std::vector<std::string> out;
  for (size_t begin = 0;;) {
    const size_t end = std::min(text.find(',', begin), text.size());
    if (end == begin) throw error(error_kind::usage, option + " '" + text + "' has an empty item", "a,b,c");
    out.push_back(text.substr(begin, end - begin));
    if (end == text.size()) return out;
    begin = end + 1;
  }
}

std::pair<std::string, std::string> key_and_value(const std::string& option, const std::string& text,
                                                  const std::string& example) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    throw error(error_kind::usage, option + " '" + text + "' lacks its " + (equals == 0 ? "name" : "'='"), example);
  return {text.substr(0, equals), text.substr(equals + 1)};
}

choices<std::string> plain_choices(const std::vector<std::string>& names) {
  choices<std::string> out;
  for (const std::string& name : names) out.emplace_back(name, name);
  return out;
}

}  // namespace flowrun::runner
