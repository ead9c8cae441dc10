// How long the blocks of a container are.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "engine/base/units.h"

namespace flowrun::container {

constexpr size_t longest_block = size_t{1} << 31;

// A sixteenth of the memory, within what a disk streams and what is not wasted on a few rows.
inline uint32_t choose_block(uint64_t memory_bytes) {
  return static_cast<uint32_t>(
      std::clamp<uint64_t>(std::bit_floor(std::max<uint64_t>(memory_bytes / 16, 1)), 4 * KiB, MiB));
}

// Where blocks are sought: short ones, so that many of them fit the memory. Where there are many they become longer,
// since each has an entry in memory.
inline uint32_t choose_sought_block(uint64_t memory_bytes) {
  return static_cast<uint32_t>(
      std::clamp<uint64_t>(std::bit_floor(std::max<uint64_t>(memory_bytes / 256, 1)), 4 * KiB, 64 * KiB));
}

}  // namespace flowrun::container
