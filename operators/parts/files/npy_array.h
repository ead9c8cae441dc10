// What rows of a job become in a NumPy file: the header, and the bytes of the elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "engine/record/row_type.h"

namespace flowrun::operators {

// "<u4": the type of NumPy whose values these are. Numbers of 24, 40 and 48 bits become the next wider ones, a date
// becomes a M8[D] of 64 bits. Not for strings.
std::string npy_type_of(record::value_type type);
uint64_t npy_bytes_of(record::value_type type);

class npy_array {
 public:
  // Rows without strings, all columns of one type of NumPy unless the array is structured.
  npy_array(record::row_type type, bool structured);

  // As long for any number of rows.
  std::string header(uint64_t num_rows) const;
  uint64_t element_bytes() const { return element_bytes_; }  // of a row
  // Rows lie in the file as they do in memory.
  bool is_rows() const { return element_bytes_ == type_.row_bytes(); }
  // Writes the elements for `num_rows` rows.
  void fill(const std::byte* rows, size_t num_rows, std::byte* to) const;
  // The first of them with a timestamp that NumPy takes for one that is missing (NaT); num_rows if there is none.
  size_t first_without_time(const std::byte* rows, size_t num_rows) const;
  bool has_timestamps() const;

 private:
  std::string descr() const;

  const record::row_type type_;
  const bool structured_;
  uint64_t element_bytes_ = 0;
};

}  // namespace flowrun::operators
