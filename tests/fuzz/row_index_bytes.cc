// The index of a file of rows, of any bytes; the checksum is set right unless the last byte says otherwise.
//
// What holds: an index is refused as damaged or as that of other rows, or its numbers fit the file, and what it has of
// each block can be read.
#include <xxhash.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "operators/parts/files/row_index.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/property.h"
#include "tests/fuzz/target.h"
#include "tests/support/temporary_directory.h"

namespace flowrun::fuzz {

namespace {

constexpr uint64_t most_bytes = 64 * 1024;
constexpr size_t num_rows = 20;

bool is_refusal(const error& problem) {
  return problem.kind() == error_kind::bad_data || problem.kind() == error_kind::resources;
}

}  // namespace

void try_input(std::string_view bytes) {
  static const temporary_directory where;
  static const record::row_type type(
      {{"a", *record::parse_value_type("u32")}, {"b", *record::parse_value_type("u64")}});
  static const std::string rows_path = where.write("rows", std::string(num_rows * 12, 'r'));
  static const plan::order sorted_by = {{"a"}};
  input in(bytes);
  const bool leave_checksum = in.byte() == 1;
  std::string index(in.rest());
  if (index.size() >= 8 && !leave_checksum) {
    const uint64_t checksum = XXH3_64bits(index.data(), index.size() - sizeof checksum);
    std::memcpy(index.data() + index.size() - sizeof checksum, &checksum, sizeof checksum);
  }
  where.write("rows.index", index);
  try {
    operators::row_index::look_into(rows_path, type, sorted_by);
  } catch (const error& problem) {
    must_hold(is_refusal(problem), "at a look: {}", problem.what());
  }
  try {
    const auto loaded = operators::row_index::load(rows_path, type, sorted_by, most_bytes);
    must_hold(loaded.num_rows() == num_rows, "an index of {} rows", loaded.num_rows());
    must_hold(uint64_t{loaded.rows_per_block()} * type.row_bytes() <= 1024 * 1024, "{} rows in a block",
              loaded.rows_per_block());
    const std::vector<std::byte> rows(num_rows * type.row_bytes());
    for (uint64_t b = 0; b < loaded.num_blocks(); ++b) {
      std::vector<std::byte> first(loaded.first_row(b), loaded.first_row(b) + type.row_bytes());
      loaded.is_block(b, rows);
    }
  } catch (const error& problem) {
    must_hold(is_refusal(problem), "{}", problem.what());
  }
}

}  // namespace flowrun::fuzz
