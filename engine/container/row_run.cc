#include "engine/container/row_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/sizes/container_block.h"

namespace flowrun::container {

namespace {

constexpr uint64_t usual_block_bytes = 64 * KiB;
constexpr unsigned num_buffers = 2;

}  // namespace

row_run_writer::row_run_writer(const record::row_type& type, block::block_manager& blocks)
    : blocks_(blocks), rows_(type, {}), page_(rows_) {}

void row_run_writer::open(uint64_t longest_row) {
  const uint64_t block_bytes = sizes::block_for_row(longest_row, usual_block_bytes);
  if (block_bytes > sizes::longest_stored_block)
    throw error(error_kind::bad_data, fmt::format("a row of {} is too long to be stored", format_bytes(longest_row)),
                "split it into several rows");
  writer_.emplace(blocks_, static_cast<uint32_t>(block_bytes), num_buffers);
  writer_->begin_run();
}

void row_run_writer::submit() {
  if (page_.is_open() && page_.num_rows() > 0)
    writer_->submit(page_.num_rows(), page_.rows_bytes(), page_.heap_bytes(), 0);
  page_.close();
}

outcome row_run_writer::push(record::batch& b, waker& w) {
  if (closing_)
    if (const outcome o = flush(w); o.is_blocked()) return o;
  while (b.num_rows > 0) {
    if (page_.is_open() && page_.append(b) > 0) continue;
    const uint64_t needed = rows_.row_bytes() + rows_.heap_bytes(b.rows);
    submit();
    if (writer_ && needed > writer_->payload_bytes())
      if (const outcome o = flush(w); o.is_blocked()) return o;
    if (!writer_) open(needed);
    std::byte* const payload = writer_->payload(&w);
    if (payload == nullptr) return outcome::blocked();
    page_.open(payload, writer_->payload_bytes());
  }
  return outcome::ready();
}

outcome row_run_writer::flush(waker& w) {
  if (!writer_) return outcome::done();
  submit();
  closing_ = true;
  if (const outcome o = writer_->flush(&w); o.is_blocked()) return o;
  closing_ = false;
  std::vector<runs::run> written = writer_->take();
  std::move(written.begin(), written.end(), std::back_inserter(runs_));
  writer_.reset();
  return outcome::done();
}

outcome row_run_reader::next(record::batch& out, waker& w) {
  for (;;) {
    if (!reader_) {
      if (next_ == runs_.size()) return outcome::done();
      reader_.emplace(blocks_, std::span(runs_).subspan(next_, 1), runs::first_key_less(), runs::reading_memory{});
    }
    block::prefetched_block block;
    const outcome o = reader_->next(block, &w);
    if (o.is_blocked()) return o;
    if (o.is_done()) {
      reader_.reset();
      ++next_;
      continue;
    }
    FLOWRUN_CHECK(block.header().stream == runs_[next_].stream);
    out = {};
    out.rows = block.payload();
    out.num_rows = block.header().num_rows;
    out.row_bytes = type_.row_bytes();
    if (type_.has_strings()) {
      out.heap = block.payload();
      out.heap_bytes = block.payload_bytes();
    }
    out.owner = block.owner();
    return o;
  }
}

}  // namespace flowrun::container
