// Where the columns of a job's type lie in a NumPy file, and how their values become those of a row.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/record/row_type.h"
#include "operators/parts/files/npy_header.h"

namespace flowrun::operators {

// What the job says of its files: the columns, and what each is called there.
struct npy_columns {
  record::row_type type;
  std::vector<std::string> names;  // of the fields, of the columns in their order
};

struct npy_layout {
  struct column {
    uint64_t offset = 0;     // in a row of the file
    uint32_t num_bytes = 0;  // there
    bool big_endian = false;
  };
  std::vector<column> columns;  // of the type
  uint64_t begin = 0;           // of the rows in the file
  uint64_t row_bytes = 0;       // > 0
  uint64_t num_rows = 0;
  bool is_rows = false;  // rows of the file are rows of the type, as they lie there, whatever bytes they have

  uint64_t num_bytes() const { return num_rows * row_bytes; }  // of all rows
};

// `beginning` has the first bytes of the file `path`, or of its text. Nothing: more are needed. Throws error(bad_data)
// when it is no array whose fields are such columns; the message says which it has.
std::optional<npy_layout> npy_layout_of(const std::string& path, std::string_view beginning,
                                        const npy_columns& columns);

// The same in two steps. `header` is that of the file.
std::optional<npy_header> npy_header_of(const std::string& path, std::string_view beginning);
npy_layout npy_layout_of(const std::string& path, const npy_header& header, const npy_columns& columns);

// What to do in NumPy about an element that no column can be.
std::string npy_conversion_of(const npy_field& field);

// The same of a file, compressed or not. Nothing where it can't be read, or has no whole header.
std::optional<npy_layout> npy_layout_of_file(const std::string& path, const npy_columns& columns);

// A file of so many bytes ends within its header.
[[noreturn]] void npy_without_header(const std::string& path, uint64_t num_bytes);
// A file with so many bytes of rows isn't the one that its header is of.
[[noreturn]] void npy_cut_short(const std::string& path, const npy_layout& layout, uint64_t num_bytes);
[[noreturn]] void npy_goes_on(const std::string& path, const npy_layout& layout);

}  // namespace flowrun::operators
