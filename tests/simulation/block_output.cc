#include "tests/simulation/block_output.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tests/simulation/sorted_input.h"
#include "tests/support/wakers.h"

namespace flowrun::simulation {

block_output::block_output(simulated_machine& machine, uint32_t row_bytes, uint32_t block_bytes, unsigned num_buffers,
                           double ns_per_row)
    : machine_(machine),
      row_bytes_(row_bytes),
      per_block_(rows_per_block(block_bytes, row_bytes)),
      ns_per_row_(ns_per_row),
      stream_(machine.blocks().next_stream_id()),
      disks_(machine.blocks(), stream_),
      writer_(machine.blocks(), block_bytes, num_buffers) {}

block_output::~block_output() {
  for (uint64_t ticket = 0; ticket < writer_.num_submitted(); ++ticket) machine_.blocks().free(writer_.result(ticket));
}

// In whole nanoseconds, without losing fractions.
void block_output::charge(uint64_t num_rows) {
  num_rows_ += num_rows;
  const auto due = static_cast<uint64_t>(std::llround(static_cast<double>(num_rows_) * ns_per_row_));
  machine_.compute(due - compute_ns_);
  compute_ns_ = due;
}

void block_output::append(const record::batch& rows) {
  no_waker nobody;
  for (size_t at = 0; at < rows.num_rows;) {
    while (buffer_ == nullptr) {
      buffer_ = writer_.try_acquire(&nobody);
      if (buffer_ == nullptr) wait_ns_ += machine_.wait();
    }
    const size_t count = std::min<size_t>(rows.num_rows - at, per_block_ - filled_);
    charge(count);
    for (size_t i = at; i < at + count; ++i) {
      const uint64_t key = key_of(rows.row(i), row_bytes_);
      sorted_ &= last_key_ <= key;
      last_key_ = key;
    }
    std::memcpy(block::payload_of(buffer_) + filled_ * row_bytes_, rows.row(at), count * row_bytes_);
    filled_ += count;
    at += count;
    if (filled_ == per_block_) submit();
  }
}

void block_output::submit() {
  if (discards_) {
    filled_ = 0;
    return;
  }
  block::block_header header;
  header.stream = stream_;
  header.index = num_blocks_;
  header.num_rows = static_cast<uint32_t>(filled_);
  header.rows_bytes = static_cast<uint32_t>(filled_ * row_bytes_);
  writer_.submit(buffer_, disks_.next(), header);
  buffer_ = nullptr;
  filled_ = 0;
  ++num_blocks_;
}

std::vector<block::fetch> block_output::take() {
  std::vector<block::fetch> blocks;
  for (uint64_t ticket = 0; ticket < writer_.num_submitted(); ++ticket)
    blocks.push_back({.id = writer_.result(ticket), .stream = stream_, .index = ticket});
  writer_.forget_results();
  return blocks;
}

void block_output::finish() {
  no_waker nobody;
  if (filled_ > 0) submit();
  if (buffer_ != nullptr) writer_.release(buffer_);
  buffer_ = nullptr;
  while (writer_.try_flush(&nobody).is_blocked()) wait_ns_ += machine_.wait();
}

}  // namespace flowrun::simulation
