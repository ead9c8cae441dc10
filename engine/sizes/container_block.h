// How containers divide their memory, and how long their blocks are on scratch. Pure.
//
// They choose blocks by their memory. A row that fits none gets a longer one (block_length.h). The planner counts with
// that where it knows the width, and asks how many rows stay beside the buffers.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "engine/base/units.h"
#include "engine/sizes/block_length.h"

namespace flowrun::sizes {

constexpr uint64_t longest_stored_block = uint64_t{1} << 31;
constexpr uint64_t shortest_container_block = 4 * KiB, longest_container_block = MiB;  // that are chosen

// A sixteenth of the memory, within what a disk streams and what is not wasted on a few rows.
constexpr uint64_t choose_block(uint64_t memory_bytes) {
  return std::clamp(std::bit_floor(std::max<uint64_t>(memory_bytes / 16, 1)), shortest_container_block,
                    longest_container_block);
}

// Blocks of the length that is asked for, unless the memory is too small for several of them.
constexpr uint64_t asked_block(uint64_t asked, uint64_t memory_bytes) {
  return std::min(asked, std::max(std::bit_floor(memory_bytes / 16), shortest_container_block));
}

// Where blocks are sought: short ones, so that many of them fit the memory. Where there are many they become longer,
// since each has an entry in memory.
constexpr uint64_t choose_sought_block(uint64_t memory_bytes) {
  return std::clamp<uint64_t>(std::bit_floor(std::max<uint64_t>(memory_bytes / 256, 1)), shortest_container_block,
                              64 * KiB);
}

// The length of a container's blocks, as far as rows of this width, without their strings, ask for longer ones.
constexpr uint32_t container_block(uint64_t row_bytes, uint64_t chosen) {
  return static_cast<uint32_t>(std::min(block_for_row(row_bytes, chosen), longest_stored_block));
}

// Write buffers for blocks of this length, in so much memory; with 2 + depth / 2 on each disk writing doesn't wait. Of
// very long rows that don't fit there is one at a time.
constexpr unsigned write_buffers_within(uint64_t memory_bytes, uint64_t block_bytes, unsigned num_disks,
                                        unsigned disk_depth) {
  if (block_bytes > std::max(memory_bytes, longest_container_block)) return 1;
  const uint64_t enough = uint64_t{num_disks} * (2 + disk_depth / 2);
  return static_cast<unsigned>(std::clamp<uint64_t>(memory_bytes / block_bytes, 2, std::max<uint64_t>(2, enough)));
}

// A queue writes and reads at once.
constexpr unsigned queue_write_buffers = 2, queue_read_buffers = 4;
struct queue_buffers {
  unsigned write = queue_write_buffers, read = queue_read_buffers;
};
// Of blocks that are longer than the queue chose them, since a row is: as few as will do where others don't fit.
constexpr queue_buffers buffers_of_queue(uint64_t block_bytes, uint64_t memory_bytes) {
  const bool fit = (queue_write_buffers + queue_read_buffers) * block_bytes <= memory_bytes;
  return fit || block_bytes <= choose_block(memory_bytes) ? queue_buffers() : queue_buffers{1, 2};
}
// Of a queue that may keep `kept_bytes` of rows: what stays beside the buffers.
constexpr uint64_t rows_of_queue(uint64_t memory_bytes, uint64_t kept_bytes, uint64_t block_bytes) {
  const uint64_t buffers = (queue_write_buffers + queue_read_buffers) * block_bytes;
  return std::min(kept_bytes, memory_bytes - std::min(memory_bytes, buffers));
}

// A vector writes with a quarter of its memory, and of all of it one of so many parts is for where blocks lie.
constexpr uint64_t index_part_of_vector = 16;
constexpr unsigned vector_write_buffers(uint64_t memory_bytes, uint64_t block_bytes, unsigned num_disks,
                                        unsigned disk_depth) {
  return write_buffers_within(memory_bytes / 4, block_bytes, num_disks, disk_depth);
}
// Of a vector that has more than the `kept_bytes` that it may keep: what stays beside the buffers.
constexpr uint64_t rows_of_vector(uint64_t memory_bytes, uint64_t kept_bytes, uint64_t block_bytes,
                                  unsigned write_buffers) {
  const uint64_t others = write_buffers * block_bytes + memory_bytes / index_part_of_vector;
  return std::min(kept_bytes, memory_bytes - std::min(memory_bytes, others));
}
// What the first keys of a vector's blocks may take. So much of it doesn't count, so that tiny vectors have an index.
constexpr uint64_t keys_of_vector(uint64_t memory_bytes) { return memory_bytes / 8 + 8 * MiB; }
// Rows lie in pieces of this length, unless a row is longer; whole ones go to scratch.
constexpr uint64_t largest_piece = 256 * KiB;

// With this much a queue, or a vector, works with rows of this width.
constexpr uint64_t least_container_memory(uint64_t row_bytes) {
  return (queue_write_buffers + queue_read_buffers) * block_for_row(row_bytes, shortest_container_block);
}

// At most so much of scratch do rows of `row_bytes` take that are written in one sequence, in blocks of `chosen` bytes
// or, where they grow, longer ones.
constexpr uint64_t bytes_in_container(uint64_t num_bytes, uint64_t row_bytes, uint64_t chosen) {
  if (num_bytes == 0) return 0;
  constexpr uint64_t headers = 64;  // one of so many parts, of the shortest blocks
  uint64_t whole = num_bytes + num_bytes / headers;
  for (uint64_t block = chosen; block <= std::max(chosen, longest_container_block); block *= 2)
    whole = std::max(whole, bytes_in_blocks(num_bytes, row_bytes, 0, block));
  return whole + std::max(block_for_row(row_bytes, chosen), longest_container_block);
}

}  // namespace flowrun::sizes
