// The bools of packed rows that come from a file. One is compared, used as a key and counted with as the byte that it
// is: one that is neither 0 nor 1 would be a third value.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/record/batch.h"
#include "engine/record/row_type.h"

namespace flowrun::operators {

class boolean_bytes {
 public:
  explicit boolean_bytes(const record::row_type& type);

  // Throws error(bad_data) where one of `rows`, the first of which is row `first_row` of the file, has another byte.
  void check(const record::batch& rows, const std::string& path, uint64_t first_row) const;

 private:
  std::vector<record::column> booleans_;
};

}  // namespace flowrun::operators
