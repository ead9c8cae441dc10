#include "operators/parts/text/csv_settings.h"

#include <fmt/format.h>

#include <string>

#include "engine/base/excerpt.h"
#include "operators/parts/text/csv_value.h"

namespace flowrun::operators {

namespace {

// One byte; "\t" may be written with a backslash in plain YAML text, too.
std::optional<char> single_byte(const std::string& text) {
  if (text == "\\t") return '\t';
  if (text.size() == 1) return text[0];
  return std::nullopt;
}

bool may_be_in_numbers(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '+' || c == '.';
}

bool can_part_fields(char c) { return c != '\n' && c != '\r' && c != '\0' && !may_be_in_numbers(c); }

}  // namespace

std::optional<char> delimiter_byte(const std::string& text) {
  const std::optional<char> byte = single_byte(text);
  return byte && can_part_fields(*byte) ? byte : std::nullopt;
}

std::vector<plan::parameter_declaration> csv_parameters() {
  std::vector<plan::parameter_declaration> out(2);
  out[0].name = "delimiter";
  out[0].kind = plan::parameter_kind::text;
  out[0].default_text = "\",\"";
  out[0].help = "The byte between two fields, such as \";\", \" \" or \"\\t\".";
  out[1].name = "quote";
  out[1].kind = plan::parameter_kind::text;
  out[1].default_text = "'\"'";
  out[1].help = "The byte around fields that contain delimiters or line ends; \"\" for none.";
  return out;
}

csv_format read_csv_format(plan::node_checker& node) {
  csv_format format;
  const std::string delimiter = node.text("delimiter");
  if (const auto byte = single_byte(delimiter); !byte) {
    node.fault_at_parameter("delimiter", fmt::format("the delimiter {} is not one byte", quoted_excerpt(delimiter)),
                            "one byte, such as \",\", \";\" or \"\\t\"");
  } else if (!can_part_fields(*byte)) {
    node.fault_at_parameter("delimiter", fmt::format("{} can't be a delimiter", quoted_excerpt(delimiter)),
                            "a byte that is no part of a number or a line end, such as \",\", \";\" or \"\\t\"");
  } else {
    format.delimiter = *byte;
  }
  const std::string quote = node.text("quote");
  if (quote.empty()) {
    format.quote.reset();
  } else if (quote.size() != 1 || quote[0] == '\n' || quote[0] == '\r' || may_be_in_numbers(quote[0])) {
    node.fault_at_parameter("quote", fmt::format("{} can't be the quote", quoted_excerpt(quote)),
                            "one byte, such as '\"', or \"\" for none");
  } else if (quote[0] == format.delimiter) {
    node.fault_at_parameter("quote", "the quote and the delimiter are the same byte", "two different bytes");
  } else {
    format.quote = quote[0];
  }
  return format;
}

}  // namespace flowrun::operators
