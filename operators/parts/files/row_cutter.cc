#include "operators/parts/files/row_cutter.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace flowrun::operators {

row_cutter::row_cutter(size_t row_bytes, size_t most_rows, unsigned max_held, record::batch_pool& pool)
    : row_bytes_(row_bytes), most_rows_(most_rows), pool_(pool), chunks_(max_held) {}

void row_cutter::feed(const io::chunk& chunk, std::vector<piece>& out) {
  const std::byte* p = chunk.data;
  size_t num_bytes = chunk.num_bytes;
  if (!straddling_.empty()) {
    const size_t missing = std::min(row_bytes_ - straddling_.size(), num_bytes);
    straddling_.insert(straddling_.end(), p, p + missing);
    p += missing;
    num_bytes -= missing;
    if (straddling_.size() < row_bytes_) return;
    out.push_back(copied(straddling_.data(), 1));
    straddling_.clear();
  }
  const size_t num_rows = num_bytes / row_bytes_;
  const std::shared_ptr<const void> owner = num_rows > 0 ? chunks_.lend(chunk) : nullptr;
  for (size_t done = 0; done < num_rows;) {
    const size_t count = std::min(most_rows_, num_rows - done);
    const std::byte* const rows = p + done * row_bytes_;
    out.push_back(owner == nullptr ? copied(rows, count) : piece{rows, count, owner});
    done += count;
  }
  if (num_bytes > num_rows * row_bytes_) straddling_.reserve(row_bytes_);
  straddling_.assign(p + num_rows * row_bytes_, p + num_bytes);
}

row_cutter::piece row_cutter::copied(const std::byte* rows, size_t num_rows) const {
  std::shared_ptr<std::byte[]> own = pool_.take(num_rows * row_bytes_);
  std::memcpy(own.get(), rows, num_rows * row_bytes_);
  const std::byte* const at = own.get();
  return {at, num_rows, std::move(own)};
}

}  // namespace flowrun::operators
