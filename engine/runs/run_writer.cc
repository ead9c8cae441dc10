#include "engine/runs/run_writer.h"

#include "engine/sizes/block_length.h"

namespace flowrun::runs {

namespace {

constexpr uint64_t settled_together = 1024;  // blocks: whoever asks the write-behind goes through its buffers

}  // namespace

run_writer::run_writer(block::block_manager& blocks, uint32_t block_bytes, unsigned num_buffers,
                       const block_coding& coding)
    : blocks_(blocks), writer_(blocks, block_bytes, num_buffers, sizes::bunch_blocks) {
  if (coding.compresses()) encoder_.emplace(coding, block_bytes);
}

run_writer::~run_writer() {
  if (runs_.empty()) return;
  try {
    writer_.flush();
  } catch (const std::exception&) {
    // The caller who asked for the runs was told of it before.
  }
  settle(writer_.num_submitted());
  for (const run& r : runs_)
    for (size_t i = 0; i < r.blocks.size(); ++i) blocks_.free(r.blocks.id(i));
}

void run_writer::begin_run() {
  if (!runs_.empty()) {
    settle(writer_.num_written());
    runs_.back().blocks.shrink_to_fit();
  }
  runs_.emplace_back();
  runs_.back().stream = blocks_.next_stream_id();
  runs_.back().block_bytes = writer_.block_bytes();
  runs_.back().knows_first_rows = keeps_first_rows_;
  disks_.emplace(blocks_, runs_.back().stream);
}

void run_writer::forget_first_rows() {
  keeps_first_rows_ = false;
  for (run& r : runs_) r.forget_first_rows();
}

std::byte* run_writer::payload(waker* w) {
  if (current_ == nullptr) current_ = writer_.try_acquire(w);
  if (current_ == nullptr) return nullptr;
  return encoder_ ? encoder_->payload() : block::payload_of(current_);
}

void run_writer::submit(uint32_t num_rows, uint32_t rows_bytes, uint32_t heap_bytes, record::word128 first,
                        const std::byte* first_row, size_t first_row_bytes) {
  run& r = runs_.back();
  block::block_header header;
  header.stream = r.stream;
  header.index = r.blocks.size();
  header.num_rows = num_rows;
  header.rows_bytes = rows_bytes;
  header.heap_bytes = heap_bytes;
  run_block b;
  b.num_rows = num_rows;
  b.first = first;
  b.first_row_at = r.first_rows.size();
  // Others may look at the runs when this has failed, for want of memory or disk space: each block has its ticket.
  try {
    r.first_rows.insert(r.first_rows.end(), first_row, first_row + first_row_bytes);
    r.blocks.push_back(b);
    const uint32_t stored_bytes = encoder_ ? encoder_->encode(header, current_) : writer_.block_bytes();
    const unsigned disk = disks_->next();
    writer_.submit(std::exchange(current_, nullptr), disk, header, stored_bytes);
  } catch (...) {
    r.blocks.shorten(header.index);
    r.first_rows.resize(b.first_row_at);
    throw;
  }
  r.num_rows += num_rows;
  if (writer_.num_submitted() >= next_settling_) {
    settle(writer_.num_written());
    next_settling_ = writer_.num_submitted() + settled_together;
  }
  tell_of_marks();
}

// Tells the runs where the blocks of the tickets below this lie, and the write-behind needn't know it any more.
void run_writer::settle(uint64_t num_tickets) {
  if (num_tickets <= num_settled_) return;  // 0 also once a write has failed
  for (; num_settled_ < num_tickets; ++num_settled_) {
    for (; settled_blocks_ == runs_[settled_runs_].blocks.size(); settled_blocks_ = 0) ++settled_runs_;
    runs_[settled_runs_].blocks.set_id(settled_blocks_++, writer_.result(num_settled_));
  }
  if (num_settled_ <= writer_.num_written()) writer_.forget_results_below(num_settled_);
}

outcome run_writer::flush(waker* w) {
  const outcome o = writer_.try_flush(w);
  if (o.is_done()) tell_of_marks();
  return o;
}

void run_writer::mark(uint64_t mark) {
  if (!tell_) return;
  marks_.push_back({mark, writer_.num_submitted(), runs_.size(), runs_.empty() ? 0 : runs_.back().blocks.size()});
  tell_of_marks();
}

// Blocks [from, to) of a run as a run.
run run_writer::part_of(size_t index, size_t from, size_t to) const {
  const run& whole = runs_[index];
  run part;
  part.stream = whole.stream;
  part.block_bytes = whole.block_bytes;
  part.knows_first_rows = whole.knows_first_rows;
  uint64_t first = 0;
  if (whole.knows_first_rows) {
    first = whole.blocks.first_row_at(from);
    const uint64_t last = to < whole.blocks.size() ? whole.blocks.first_row_at(to) : whole.first_rows.size();
    part.first_rows.assign(whole.first_rows.begin() + static_cast<std::ptrdiff_t>(first),
                           whole.first_rows.begin() + static_cast<std::ptrdiff_t>(last));
  }
  for (size_t i = from; i < to; ++i) {
    run_block b = whole.blocks[i];
    b.first_row_at = whole.knows_first_rows ? b.first_row_at - first : 0;
    part.num_rows += b.num_rows;
    part.blocks.push_back(b);
  }
  return part;
}

void run_writer::tell_of_marks() {
  if (marks_.empty()) return;
  const uint64_t num_written = writer_.num_written();
  settle(num_written);
  while (!marks_.empty() && marks_.front().num_tickets <= num_written) {
    const mark_at at = marks_.front();
    marks_.pop_front();
    std::vector<run> parts;
    for (; told_runs_ < at.num_runs; ++told_runs_, told_blocks_ = 0) {
      const bool is_last = told_runs_ + 1 == at.num_runs;
      const size_t to = is_last ? at.num_blocks : runs_[told_runs_].blocks.size();
      if (told_blocks_ < to) parts.push_back(part_of(told_runs_, told_blocks_, to));
      told_blocks_ = to;
      if (is_last) break;  // it may go on behind the mark
    }
    tell_(at.mark, std::move(parts));
  }
}

std::vector<run> run_writer::take() {
  if (current_ != nullptr) writer_.release(std::exchange(current_, nullptr));
  settle(writer_.num_submitted());
  if (!runs_.empty()) runs_.back().blocks.shrink_to_fit();
  disks_.reset();
  settled_runs_ = settled_blocks_ = 0;
  return std::exchange(runs_, {});
}

}  // namespace flowrun::runs
