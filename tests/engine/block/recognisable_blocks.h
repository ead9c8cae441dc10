// Blocks whose content says which they are.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "engine/block/block_manager.h"
#include "engine/block/buffered_writer.h"
#include "engine/block/stream_disks.h"
#include "tests/support/scratch_rig.h"

namespace flowrun::block {

// Recognisable content for block `index` of `stream`.
inline void fill_payload(std::byte* block, uint32_t block_bytes, uint64_t stream, uint64_t index) {
  for (uint32_t at = block_header_bytes; at < block_bytes; at += sizeof(uint64_t)) {
    const uint64_t word = stream * 1'000'003 + index * 4099 + at;
    std::memcpy(block + at, &word, sizeof word);
  }
}

inline bool has_payload(const std::byte* block, uint32_t block_bytes, uint64_t stream, uint64_t index) {
  std::vector<std::byte> expected(block_bytes);
  fill_payload(expected.data(), block_bytes, stream, index);
  return std::equal(expected.begin() + block_header_bytes, expected.end(), block + block_header_bytes);
}

// Writes `num_blocks` blocks of `stream` with the manager's strategy and returns where they lie.
inline std::vector<block_id> write_stream(block_manager& manager, uint64_t stream, uint64_t num_blocks,
                                          unsigned num_buffers = 3, uint32_t block_bytes = tiny_block) {
  buffered_writer writer(manager, block_bytes, num_buffers);
  stream_disks disks(manager, stream);
  for (uint64_t i = 0; i < num_blocks; ++i) {
    std::byte* buffer = writer.acquire();
    fill_payload(buffer, block_bytes, stream, i);
    block_header fields;
    fields.stream = stream;
    fields.index = i;
    fields.num_rows = static_cast<uint32_t>(i % 100);
    EXPECT_EQ(writer.submit(buffer, disks.next(), fields), i);
  }
  writer.flush();
  std::vector<block_id> ids;
  for (uint64_t i = 0; i < num_blocks; ++i) ids.push_back(writer.result(i));
  return ids;
}

}  // namespace flowrun::block
