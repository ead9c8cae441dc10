// Skipping fields of a record of CSV that nobody reads, 64 bytes at a time: no more work than finding the record's end.
#pragma once

#include <cstddef>

#include "operators/parts/text/text_scan.h"

namespace flowrun::operators {

// With the instructions that the machine has. Thread-safe.
class field_skip {
 public:
  explicit field_skip(const csv_format& format);

  // `p` is the beginning of a field. The beginning of the field `count` fields behind it; null when the record ends
  // before, or one of the fields skipped is malformed.
  const char* fields(const char* p, const char* end, size_t count) const {
    return count == 0 ? p : pass_(p, end, count, format_);
  }
  // The same for the last fields of a record, which must be `count` (at least one): behind its '\n', or end.
  const char* last_fields(const char* p, const char* end, size_t count) const {
    return pass_to_end_(p, end, count - 1, format_);
  }

 private:
  using pass = const char*(const char* p, const char* end, size_t count, const csv_format& format);
  csv_format format_;
  pass* pass_;
  pass* pass_to_end_;
};

}  // namespace flowrun::operators
