// What a check throws when rows are out of order or repeat. A caller may catch it and tell it in its own words.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "engine/base/error.h"

namespace flowrun::operators {

class row_out_of_order : public error {
 public:
  // `row`: its number, from 0. `texts`: its columns of type string and bytes[N], byte for byte.
  row_out_of_order(std::string message, std::string hint, std::string node, uint64_t row,
                   std::map<std::string, std::string> texts)
      : error(error_kind::bad_data, std::move(message), std::move(hint)),
        node_(std::move(node)),
        row_(row),
        texts_(std::move(texts)) {}

  const std::string& node() const { return node_; }
  uint64_t row() const { return row_; }
  const std::map<std::string, std::string>& texts() const { return texts_; }

 private:
  std::string node_;
  uint64_t row_;
  std::map<std::string, std::string> texts_;
};

}  // namespace flowrun::operators
