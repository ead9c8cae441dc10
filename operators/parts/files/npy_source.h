// The head of file.read_npy: reads NumPy files and hands on pieces of their rows, as they lie there, with what tells
// the columns in them (npy_layout.h), so that the stage behind, which runs in parallel, makes rows of them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/exec/operator_definition.h"
#include "operators/parts/files/npy_layout.h"
#include "operators/parts/text/rejection_tally.h"

namespace flowrun::operators {

struct npy_piece {
  const std::byte* rows = nullptr;
  size_t num_rows = 0;
  std::shared_ptr<const void> owner;
  std::shared_ptr<const npy_layout> layout;
  uint64_t row_in_file = 0;  // of the first row
  uint64_t first_row = 0;    // the same in all files together
  size_t file = 0;           // index among the paths

  size_t num_bytes() const { return num_rows * layout->row_bytes; }
};

// Pieces have at most `most_rows` rows. `tally` is told of each before it leaves.
std::unique_ptr<exec::source> make_npy_source(exec::build_context& context, const std::vector<std::string>& paths,
                                              npy_columns columns, size_t most_rows,
                                              std::shared_ptr<rejection_tally> tally);

}  // namespace flowrun::operators
