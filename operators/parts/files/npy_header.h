// The header of a NumPy file (.npy): what the array's elements are, and how many there are.
//
//   "\x93NUMPY" | version: two bytes | length of the text: u16 of version 1, u32 of versions 2 and 3 | text | elements
//
// The text is a literal of Python, such as
//   {'descr': [('src', '<u4'), ('', '|V4'), ('weight', '<f8')], 'fortran_order': False, 'shape': (3,), }
// and blanks up to a multiple of 64 bytes. Nothing else of Python is understood, and nothing is run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "engine/record/row_type.h"

namespace flowrun::operators {

// A field of a structured array, or the element of a plain one.
struct npy_field {
  std::string name;  // UTF-8; empty for the element of a plain array
  std::string text;  // of its type, as the header has it: "<f8"
  // As NumPy has it: b, i, u, f, c, S, U, V, M or m; '(' for what consists of several values: fields, or an array
  char kind = 'V';
  bool big_endian = false;
  std::string unit;  // of M and m: "us"; empty for a time without one
  uint64_t num_bytes = 0;
  uint64_t offset = 0;  // in the element
};

struct npy_header {
  bool structured = false;
  std::vector<npy_field> fields;  // without padding; one for a plain array
  uint64_t element_bytes = 0;
  bool fortran_order = false;
  std::vector<uint64_t> shape;
  uint64_t num_bytes = 0;  // of the header: the elements begin there

  // Of an array that has rows: one dimension, or two.
  uint64_t num_rows() const { return shape.front(); }
  uint64_t row_bytes() const { return element_bytes * (shape.size() == 2 ? shape[1] : 1); }
};

// What is wrong with a header, and at which byte of the file.
class npy_header_error : public std::runtime_error {
 public:
  npy_header_error(uint64_t offset, const std::string& message) : std::runtime_error(message), offset_(offset) {}
  uint64_t offset() const { return offset_; }

 private:
  uint64_t offset_;
};

// A header is no longer than that. (Some ten thousand fields.)
constexpr uint64_t most_npy_header_bytes = uint64_t{1} << 20;
// No element is wider, and no row: far more than any row of a job.
constexpr uint64_t most_npy_row_bytes = uint64_t{1} << 31;

// How many bytes of the file must be there before more can be said: those of the whole header, once its length is
// known. Throws npy_header_error when these bytes begin no such file.
uint64_t npy_bytes_needed(std::string_view beginning);
// `beginning` has them. Throws npy_header_error.
npy_header read_npy_header(std::string_view beginning);

// The column type whose values lie in the file as they do in a row, but for the order of their bytes and the width of a
// date; nothing where there is none.
std::optional<record::value_type> value_type_of(const npy_field& field);

}  // namespace flowrun::operators
