// What a reader of text makes of it, for the fuzzers of CSV and of JSON lines.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/record/batch.h"
#include "operators/parts/text/csv_parser.h"
#include "operators/parts/text/csv_value.h"
#include "tests/fuzz/property.h"

namespace flowrun::fuzz {

using values = std::vector<std::string>;  // of a row, each as text

struct refused {
  std::string text, reason;
  uint64_t line, column;
  bool operator==(const refused&) const = default;
};
struct parsed {
  std::vector<record::batch> batches;
  std::vector<values> rows;
  std::vector<refused> bad;
};

inline std::string value_at(const record::column& c, const std::byte* row, const std::byte* heap) {
  const std::byte* const at = row + c.offset;
  char number[operators::max_value_chars];
  if (c.type.is_string()) return std::string(record::load_string(at, heap));
  if (c.type.is_bytes()) return {reinterpret_cast<const char*>(at), c.type.num_bytes};
  return {number, operators::format_value(c.type, at, number)};
}

// One piece of whole records, in steps: `parse(text, first_line, rows, reject)` reads some of them.
template <class Parse>
void parse_in_steps(const record::row_type& type, std::string_view text, uint64_t first_line, parsed& out,
                    const Parse& parse) {
  while (!text.empty()) {
    std::vector<record::batch> rows;
    const auto done = parse(text, first_line, rows, [&](const operators::malformed_record& bad) {
      must_hold(!bad.reason.empty() && bad.line > first_line && bad.column >= 1, "'{}' is refused at {}:{}", bad.reason,
                bad.line, bad.column);
      out.bad.push_back({std::string(bad.text), bad.reason, bad.line, bad.column});
      return true;
    });
    must_hold(done.num_bytes > 0 && done.num_bytes <= text.size(), "{} bytes of {} were read", done.num_bytes,
              text.size());
    const std::string_view read = text.substr(0, done.num_bytes);
    first_line += static_cast<uint64_t>(std::count(read.begin(), read.end(), '\n'));
    text.remove_prefix(done.num_bytes);
    for (const record::batch& b : rows)
      for (size_t r = 0; r < b.num_rows; ++r) {
        values& row = out.rows.emplace_back();
        for (const record::column& c : type.columns()) row.push_back(value_at(c, b.row(r), b.heap));
      }
    for (record::batch& b : rows) out.batches.push_back(std::move(b));
  }
}

}  // namespace flowrun::fuzz
