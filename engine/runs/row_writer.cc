#include "engine/runs/row_writer.h"

#include "engine/base/error.h"

namespace flowrun::runs {

namespace {

constexpr size_t prefetch_distance = 16;

}  // namespace

row_writer::row_writer(run_writer& writer, const record::row_type& type, const record::key& key,
                       uint64_t most_first_rows_bytes)
    : writer_(writer), rows_(type, key), prefix_(type, key), most_first_rows_bytes_(most_first_rows_bytes) {}

outcome row_writer::append(std::span<const record::row_place>& rows, waker& w) {
  const uint32_t row_bytes = rows_.row_bytes();
  while (!rows.empty()) {
    if (num_rows_ == 0) {
      payload_ = writer_.payload(&w);
      if (payload_ == nullptr) return outcome::blocked();
      begin_block(rows.front());
    }
    size_t next = 0;
    for (; next < rows.size(); ++next) {
      if (next + prefetch_distance < rows.size()) __builtin_prefetch(rows[next + prefetch_distance].row);
      const record::row_place& from = rows[next];
      if (front_ + row_bytes + rows_.heap_bytes(from.row) > back_) break;
      back_ = rows_.place(from.row, from.heap, payload_, payload_ + front_, back_);
      front_ += row_bytes;
    }
    num_rows_ += static_cast<uint32_t>(next);
    FLOWRUN_CHECK(num_rows_ > 0);
    rows = rows.subspan(next);
    if (!rows.empty()) end_block();
  }
  return outcome::ready();
}

void row_writer::begin_block(const record::row_place& first) {
  front_ = 0;
  back_ = writer_.payload_bytes();
  first_prefix_ = prefix_(first.row, first.heap);
  if (prefix_.whole() || !writer_.keeps_first_rows()) return;
  if (first_rows_bytes_ + rows_.key_bytes(first.row) > most_first_rows_bytes_) {
    writer_.forget_first_rows();
    std::vector<std::byte>().swap(first_row_);
    first_rows_bytes_ = 0;
    return;
  }
  rows_.copy_key(first.row, first.heap, first_row_);
  first_rows_bytes_ += first_row_.size();
}

void row_writer::end_block() {
  if (num_rows_ == 0) return;
  writer_.submit(num_rows_, static_cast<uint32_t>(front_), static_cast<uint32_t>(writer_.payload_bytes() - back_),
                 first_prefix_, first_row_.data(), first_row_.size());
  num_rows_ = 0;
}

}  // namespace flowrun::runs
