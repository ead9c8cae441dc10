#include "operators/parts/text/line_delimiter.h"

#include <fmt/format.h>

#include "engine/base/excerpt.h"
#include "operators/parts/text/csv_value.h"

namespace flowrun::operators {

plan::parameter_declaration line_delimiter_parameter() {
  plan::parameter_declaration p;
  p.name = "delimiter";
  p.kind = plan::parameter_kind::text;
  p.default_text = "\"\\n\"";
  p.help = "The byte that ends a line; \"\\0\" for lists of file names.";
  return p;
}

std::optional<char> line_delimiter_byte(const std::string& text) {
  if (text == "\\n") return '\n';
  if (text == "\\0") return '\0';
  return text.size() == 1 ? std::optional(text[0]) : std::nullopt;
}

char line_delimiter(plan::node_checker& node) {
  const std::string delimiter = node.text("delimiter");
  if (const std::optional<char> byte = line_delimiter_byte(delimiter)) return *byte;
  node.fault_at_parameter("delimiter", fmt::format("the delimiter {} is not one byte", quoted_excerpt(delimiter)),
                          "one byte; \"\\n\" and \"\\0\" are understood");
  return '\n';
}

}  // namespace flowrun::operators
