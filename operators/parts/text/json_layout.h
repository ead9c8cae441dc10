// Which values of a JSON object are which columns: by the column's name, or by a path of keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/plan/node_checker.h"
#include "engine/plan/operator_declaration.h"
#include "engine/record/row_type.h"

namespace flowrun::operators {

struct json_layout {
  struct entry {
    std::string key;
    std::string quoted;            // as put_json_text writes it
    uint32_t number = 0;           // among the entries of all objects
    std::optional<size_t> column;  // what its value becomes; else it is an object:
    size_t object = 0;
  };
  struct object {
    std::string path;  // of its keys, as `names` says it; empty: the record
    std::vector<entry> entries;
  };
  std::vector<object> objects;     // the first is the record
  std::vector<std::string> paths;  // of the columns
  size_t num_entries = 0;
};

// `names`: what the keys of columns are called.
plan::parameter_declaration json_names_parameter();

// Reads it for a node whose values have `type`; reports what is wrong.
json_layout read_json_layout(plan::node_checker& node, const record::row_type& type);

// Where each column has a path of its own: "user.id" is the key id of the object user; a backslash before a dot or a
// backslash keeps that in the key.
json_layout json_layout_of(const std::vector<std::string>& paths);

}  // namespace flowrun::operators
