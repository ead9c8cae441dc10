// The beginning of a NumPy file, of any bytes; the last one says which columns are wanted.
//
// What holds: the header is refused, or its fields lie within an element, one after another; as many bytes are needed
// whatever comes behind; and where columns are found in it, they lie within a row, all of which rows can be read.
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "operators/parts/files/npy_array.h"
#include "operators/parts/files/npy_layout.h"
#include "operators/parts/files/npy_rows.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/property.h"
#include "tests/fuzz/target.h"

namespace flowrun::fuzz {

namespace {

using operators::npy_columns;
using operators::npy_header;
using operators::npy_layout;

npy_columns columns_of(input& in) {
  constexpr const char* types[] = {"u8",  "u32", "u64",  "i16",      "f32",  "f64",
                                   "u24", "u40", "bool", "bytes[3]", "date", "timestamp"};
  std::vector<record::column> columns(1 + in.below(3));
  for (size_t i = 0; i < columns.size(); ++i)
    columns[i] = {std::string(1, static_cast<char>('a' + i)),
                  *record::parse_value_type(types[in.below(std::size(types))])};
  npy_columns out;
  out.type = record::row_type(columns);
  out.names = out.type.names();
  return out;
}

void look_at_header(const npy_header& header) {
  uint64_t end = 0;
  for (const operators::npy_field& f : header.fields) {
    must_hold(f.offset >= end && f.offset + f.num_bytes <= header.element_bytes, "a field at {}", f.offset);
    end = f.offset + f.num_bytes;
  }
}

void read_rows(const npy_layout& layout, const record::row_type& type) {
  for (const npy_layout::column& c : layout.columns)
    must_hold(c.offset + c.num_bytes <= layout.row_bytes, "a column at {} of {} bytes", c.offset, layout.row_bytes);
  if (layout.row_bytes > 4096) return;
  constexpr size_t num_rows = 3;
  const std::vector<std::byte> from(num_rows * layout.row_bytes, std::byte{0x80});
  std::vector<std::byte> to(num_rows * type.row_bytes());
  std::vector<operators::npy_rejected_row> rejected;
  const size_t kept = rows_of_npy(layout, type, from.data(), num_rows, to.data(), rejected);
  must_hold(kept + rejected.size() == num_rows, "{} rows and {} rejected ones", kept, rejected.size());
}

}  // namespace

void try_input(std::string_view bytes) {
  input in(bytes);
  const npy_columns wanted = columns_of(in);
  const std::string file(in.rest());
  try {
    const uint64_t needed = operators::npy_bytes_needed(file);
    must_hold(needed > 0 && needed <= operators::most_npy_header_bytes + 12, "{} bytes are needed", needed);
    if (needed <= file.size()) look_at_header(operators::read_npy_header(file));
  } catch (const operators::npy_header_error& wrong) {
    must_hold(wrong.offset() <= file.size(), "byte {} of {}", wrong.offset(), file.size());
  }
  try {
    const auto layout = operators::npy_layout_of("file", file, wanted);
    if (layout) read_rows(*layout, wanted.type);
  } catch (const error& problem) {
    must_hold(problem.kind() == error_kind::bad_data, "{}", problem.what());
  }
  // What is written is read.
  const std::string own = operators::npy_array(wanted.type, true).header(bytes.size());
  const auto layout = operators::npy_layout_of("file", own, wanted);
  must_hold(layout && layout->num_rows == bytes.size() && layout->begin == own.size(), "its own header is another");
}

}  // namespace flowrun::fuzz
