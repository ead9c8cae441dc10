// How the lines of a JSON lines file are read: what a node says of it, and what is made of that once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/record/row_type.h"
#include "operators/parts/text/csv_missing.h"
#include "operators/parts/text/csv_times.h"
#include "operators/parts/text/json_layout.h"

namespace flowrun::operators {

struct json_reading {
  // Bytes behind a line that may be read, and behind a text of it that may be written. The first one behind a line is
  // a line end or a zero: what is wrong with a line that ends too early would else depend on it.
  static constexpr size_t padding_bytes = 64;
  // Objects and arrays within each other that no column takes.
  static constexpr size_t most_nested = 128;

  // `type`: of the rows, the columns that `layout` has, and behind them those that tell what is missing. `skip_others`:
  // keys that no column takes are left out; else they make a line malformed.
  json_reading(record::row_type type, json_layout layout, bool skip_others, csv_missing missing, csv_times times);
  json_reading(const json_reading&) = delete;
  json_reading& operator=(const json_reading&) = delete;

  record::row_type type;
  json_layout layout;
  bool skip_others;
  csv_missing missing;
  csv_times times;
  std::vector<std::unordered_map<std::string_view, size_t>> keys;  // of the layout's objects, to their entries
  // The first bytes of a key as it stands in a line, with its closing quote.
  struct key_front {
    uint64_t word = 0;
    uint64_t mask = 0;  // of the bytes that it has
  };
  std::vector<key_front> fronts;  // by the numbers of the layout's entries
  size_t least_line_bytes = 0;    // of the shortest line, with its end
};

}  // namespace flowrun::operators
