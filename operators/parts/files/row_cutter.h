// Cuts a file of rows of one width into pieces of whole rows as it comes, chunk after chunk.
//
// A piece is a view into the buffer that the disk has filled, as long as it is lent (shared_chunks.h); only rows that
// straddle two chunks are put together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/io/file_reader.h"
#include "engine/record/batch_pool.h"
#include "operators/parts/files/shared_chunks.h"

namespace flowrun::operators {

class row_cutter {
 public:
  struct piece {
    const std::byte* rows = nullptr;
    size_t num_rows = 0;
    std::shared_ptr<const void> owner;
  };

  // Rows of `row_bytes` > 0, of which a piece has at most `most_rows`. The reader may have `max_held` chunks out.
  row_cutter(size_t row_bytes, size_t most_rows, unsigned max_held, record::batch_pool& pool);

  // The bytes of `chunk` follow those before. Appends to `out`.
  void feed(const io::chunk& chunk, std::vector<piece>& out);
  // Of the row whose end has not come yet.
  size_t num_straddling() const { return straddling_.size(); }

 private:
  piece copied(const std::byte* rows, size_t num_rows) const;

  const size_t row_bytes_;
  const size_t most_rows_;
  record::batch_pool& pool_;
  const shared_chunks chunks_;
  std::vector<std::byte> straddling_;  // the beginning of a row whose rest is in the next chunk
};

}  // namespace flowrun::operators
