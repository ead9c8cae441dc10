// The output of a simulated merge: rows, at a cost each, into blocks, behind a buffered_writer.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/block/block_prefetcher.h"
#include "engine/block/buffered_writer.h"
#include "engine/block/stream_disks.h"
#include "engine/record/batch.h"
#include "tests/simulation/simulated_machine.h"

namespace flowrun::simulation {

// Declared last, this waits for all transfers before the objects that started them are destroyed, also after an
// exception.
struct settle_first {
  simulated_machine& machine;
  ~settle_first() { machine.settle(); }
};

class block_output {
 public:
  block_output(simulated_machine& machine, uint32_t row_bytes, uint32_t block_bytes, unsigned num_buffers,
               double ns_per_row);
  // Frees the blocks.
  ~block_output();
  block_output(const block_output&) = delete;
  block_output& operator=(const block_output&) = delete;

  // Computes and copies row by row, as fast as buffers become free.
  void append(const record::batch& rows);
  // Writes the last block and waits for all.
  void finish();
  // After finish(): the blocks, in order. They belong to the caller from now on.
  std::vector<block::fetch> take();

  uint64_t num_rows() const { return num_rows_; }
  uint64_t num_blocks() const { return num_blocks_; }
  uint64_t compute_ns() const { return compute_ns_; }
  uint64_t wait_ns() const { return wait_ns_; }
  bool sorted() const { return sorted_; }
  // Blocks are filled but not written.
  void discard() { discards_ = true; }

 private:
  void charge(uint64_t num_rows);
  void submit();

  simulated_machine& machine_;
  const uint32_t row_bytes_;
  const uint64_t per_block_;
  const double ns_per_row_;
  const uint64_t stream_;
  block::stream_disks disks_;
  block::buffered_writer writer_;
  std::byte* buffer_ = nullptr;
  uint64_t filled_ = 0;
  uint64_t num_rows_ = 0;
  uint64_t num_blocks_ = 0;
  uint64_t compute_ns_ = 0;
  uint64_t wait_ns_ = 0;
  uint64_t last_key_ = 0;
  bool sorted_ = true;
  bool discards_ = false;
};

}  // namespace flowrun::simulation
