// What a file was found to be: an operator that reads it, its settings, and what was seen on the way.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/record/value_type.h"

namespace flowrun::operators {

struct inferred_column {
  std::string name;
  std::string header;  // what the file calls it; empty: nothing
  record::value_type type;
  uint64_t num_missing = 0;
  std::vector<std::string> missing_texts;
  std::string told_by;      // the column that says where it is missing; empty: none
  std::string least, most;  // of the values that were seen
  std::vector<std::string> notes;
};

// A parameter of the operator, as YAML has it: a text, a list, or a map.
struct inferred_setting {
  std::string name;
  std::string text;
  std::vector<std::string> list;
  std::vector<std::pair<std::string, std::string>> map;
};

struct inferred_source {
  std::string_view format;                 // "csv"
  std::string_view op;                     // that reads it
  std::string_view sink_op;                // that writes what comes of it
  std::vector<inferred_column> columns;    // of its type; none where it takes no type
  std::vector<inferred_setting> settings;  // besides `path` and `type`
  bool skips_malformed = false;            // on_error: skip
  std::vector<std::string> notes;          // what the file is like
  std::vector<std::string> questions;      // what the file doesn't tell, and how it was decided

  struct sample {
    uint64_t rows = 0;
    uint64_t bytes = 0;  // of text
    bool whole = false;  // all files, from front to back
    size_t places = 0;   // of the files, where the sample comes from
    size_t files = 0;    // that were looked into
    size_t all_files = 0;
    std::optional<uint64_t> all_rows{};  // an estimate, unless `whole`
  };
  sample seen;
};

}  // namespace flowrun::operators
