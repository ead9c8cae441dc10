#include "operators/parts/text/line_delimiter.h"

#include <fmt/format.h>

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

char line_delimiter(plan::node_checker& node) {
  const std::string delimiter = node.text("delimiter");
  if (delimiter == "\\n") return '\n';
  if (delimiter == "\\0") return '\0';
  if (delimiter.size() == 1) return delimiter[0];
  node.fault_at_parameter("delimiter", fmt::format("the delimiter {} is not one byte", quoted_excerpt(delimiter)),
                          "one byte; \"\\n\" and \"\\0\" are understood");
  return '\n';
}

}  // namespace flowrun::operators
