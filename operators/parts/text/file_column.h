// A last column with the path of the file that a row came from, for sources that read several.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "engine/plan/node_checker.h"
#include "engine/plan/operator_declaration.h"
#include "engine/record/batch.h"
#include "engine/record/row_type.h"

namespace flowrun::operators {

plan::parameter_declaration file_column_parameter();

// The row type with the column that `file_column` asks for; `type` itself where it asks for none. Adds a fault where
// the name can't be had.
record::row_type with_file_column(plan::node_checker& node, const record::row_type& type);

// Rows of a type become rows of the same with such a column. Thread-safe.
class file_column {
 public:
  // `path_of`: by the number of the file.
  file_column(const record::row_type& from, const record::row_type& to, std::vector<std::string> path_of)
      : from_bytes_(from.row_bytes()), to_bytes_(to.row_bytes()), paths_(std::move(path_of)) {}

  // Of what a batch may take, the part that is left for the rows without the column.
  size_t without(size_t batch_bytes) const {
    if (to_bytes_ == from_bytes_ || batch_bytes == 0) return batch_bytes;
    return std::max(batch_bytes / to_bytes_ * from_bytes_, size_t{1});
  }
  record::batch add(const record::batch& rows, size_t file, record::batch_pool& pool) const;

 private:
  const size_t from_bytes_;
  const size_t to_bytes_;
  const std::vector<std::string> paths_;
};

}  // namespace flowrun::operators
