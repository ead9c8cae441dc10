#include "engine/io/piece_arena.h"

#include <algorithm>
#include <cstring>

#include "engine/base/units.h"

namespace flowrun::io {

piece_arena::piece_arena(size_t num_bytes)
    : capacity_(std::clamp<size_t>(num_bytes, 4 * sizeof(entry), 2 * GiB) / sizeof(entry) * sizeof(entry)) {}

// The entries grow down from the end: the newest is the lowest.
piece_arena::entry* piece_arena::entry_of(size_t i) const {
  return reinterpret_cast<entry*>(memory_.get() + capacity_ - (i + 1) * sizeof(entry));
}

size_t piece_arena::add(uint32_t file, std::span<const std::byte> bytes) {
  if (bytes.empty()) return 0;
  if (memory_ == nullptr) memory_.reset(new std::byte[capacity_]);
  entry* const last = num_pieces_ > 0 ? entry_of(num_pieces_ - 1) : nullptr;
  const bool goes_on = last != nullptr && last->file == file;
  const size_t taken = num_bytes_ + (num_pieces_ + (goes_on ? 0 : 1)) * sizeof(entry);
  if (taken >= capacity_) return 0;
  const size_t count = std::min(bytes.size(), capacity_ - taken);
  std::memcpy(memory_.get() + num_bytes_, bytes.data(), count);
  if (goes_on)
    last->num_bytes += static_cast<uint32_t>(count);
  else
    *entry_of(num_pieces_++) = {file, static_cast<uint32_t>(num_bytes_), static_cast<uint32_t>(count)};
  num_bytes_ += count;
  return count;
}

// From the highest entry down, as at() reads them.
void piece_arena::sort() {
  if (num_pieces_ < 2) return;
  const auto key = [](const entry& e) { return uint64_t{e.file} << 32 | e.offset; };
  std::sort(entry_of(num_pieces_ - 1), entry_of(0) + 1,
            [&](const entry& a, const entry& b) { return key(a) > key(b); });
}

void piece_arena::clear() { num_bytes_ = num_pieces_ = 0; }

piece_arena::piece piece_arena::at(size_t i) const {
  const entry& e = *entry_of(i);
  return {e.file, {memory_.get() + e.offset, e.num_bytes}};
}

}  // namespace flowrun::io
