#include "operators/parts/files/row_range.h"

#include <fmt/format.h>

#include <charconv>
#include <string_view>

namespace flowrun::operators {

namespace {

bool parse(std::string_view text, row_range& out) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) return false;
  const auto number = [](std::string_view digits, uint64_t& value) {
    if (digits.empty()) return true;
    const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return status == std::errc() && end == digits.data() + digits.size();
  };
  return number(text.substr(0, colon), out.from) && number(text.substr(colon + 1), out.to) && out.from <= out.to;
}

}  // namespace

row_range row_range_parameter(plan::node_checker& node, const std::string& name, const std::string& what) {
  row_range out;
  if (node.has(name) && !parse(node.text(name), out))
    node.fault_at_parameter(name, fmt::format("'{}' is no range of {}", node.text(name), what),
                            "FROM:TO, such as \"1000:2000\", \"1000:\" or \":2000\"");
  return out;
}

}  // namespace flowrun::operators
