// A record of CSV as its fields, for those who look at few of them: headers, samples. By the rule of text_scan.h.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "operators/parts/text/text_scan.h"

namespace flowrun::operators {

struct csv_field {
  std::string text;     // without quotes; where it is broken, with what stands behind the closing one
  bool quoted = false;  // it begins with the quote
  bool broken = false;  // and that is never closed, or text follows: csv_parser refuses the record
};

class csv_record {
 public:
  // With its line end or without.
  void cut(std::string_view record, const csv_format& format);
  // Valid until the next call of cut().
  std::span<const csv_field> fields() const { return {fields_.data(), num_fields_}; }

 private:
  std::vector<csv_field> fields_;  // kept, so that their memory is used again
  size_t num_fields_ = 0;
};

}  // namespace flowrun::operators
