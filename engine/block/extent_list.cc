// The free space of one scratch file; see extent_list.h.
#include "engine/block/extent_list.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/base/error.h"

namespace flowrun::block {

std::optional<uint64_t> extent_list::take(uint64_t num_bytes) {
  const auto taken = take(num_bytes, 1);
  return taken ? std::optional(taken->first) : std::nullopt;
}

std::optional<std::pair<uint64_t, unsigned>> extent_list::take(uint64_t block_bytes, unsigned most_blocks) {
  for (auto it = extents_.begin(); it != extents_.end(); ++it) {
    if (it->second < block_bytes) continue;
    const auto num_blocks = static_cast<unsigned>(std::min<uint64_t>(it->second / block_bytes, most_blocks));
    const uint64_t num_bytes = num_blocks * block_bytes;
    const uint64_t offset = it->first;
    if (it->second == num_bytes) {
      extents_.erase(it);
    } else {
      // The node is kept and moved up, so that taking never allocates.
      auto next = std::next(it);
      auto node = extents_.extract(it);
      node.key() += num_bytes;
      node.mapped() -= num_bytes;
      extents_.insert(next, std::move(node));
    }
    free_bytes_ -= num_bytes;
    return std::pair(offset, num_blocks);
  }
  return std::nullopt;
}

bool extent_list::take_at(uint64_t offset, uint64_t num_bytes) {
  auto found = extents_.upper_bound(offset);
  if (found == extents_.begin()) return false;
  --found;
  const uint64_t begin = found->first, end = begin + found->second;
  if (num_bytes > end - std::min(end, offset)) return false;
  extents_.erase(found);
  free_bytes_ -= end - begin;
  give(begin, offset - begin);
  give(offset + num_bytes, end - offset - num_bytes);
  return true;
}

void extent_list::give(uint64_t offset, uint64_t num_bytes) {
  if (num_bytes == 0) return;
  const auto after = extents_.lower_bound(offset);
  const auto before = after == extents_.begin() ? extents_.end() : std::prev(after);
  const bool has_before = before != extents_.end();
  FLOWRUN_CHECK(after == extents_.end() || offset + num_bytes <= after->first);
  FLOWRUN_CHECK(!has_before || before->first + before->second <= offset);

  const bool joins_before = has_before && before->first + before->second == offset;
  const bool joins_after = after != extents_.end() && offset + num_bytes == after->first;
  if (joins_before) {
    before->second += num_bytes;
    if (joins_after) {
      before->second += after->second;
      extents_.erase(after);
    }
  } else if (joins_after) {
    const uint64_t length = num_bytes + after->second;
    auto next = std::next(after);
    auto node = extents_.extract(after);
    node.key() = offset;
    node.mapped() = length;
    extents_.insert(next, std::move(node));
  } else {
    extents_.emplace_hint(after, offset, num_bytes);
  }
  free_bytes_ += num_bytes;
}

}  // namespace flowrun::block
