// What the tests of this layer share: temporary directories, and managers over them with each backend.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "engine/block/block_manager.h"
#include "engine/block/buffered_writer.h"
#include "engine/block/stream_disks.h"
#include "engine/io/faulty_backend.h"
#include "engine/io/request.h"
#include "tests/support/temporary_directory.h"

namespace flowrun::block {

constexpr uint32_t tiny_block = 4096;

using flowrun::temporary_directory;

// The error that `act` throws; fails the test when it throws none.
template <class Act>
error error_of(Act&& act) {
  try {
    act();
  } catch (const error& e) {
    return e;
  }
  ADD_FAILURE() << "no error was thrown";
  return error(error_kind::internal, "");
}

// Disks in memory without a backend's asynchrony.
inline manager_options memory_options(io::backend& backend, unsigned num_disks, uint64_t limit = 0) {
  manager_options options;
  for (unsigned d = 0; d < num_disks; ++d) options.disks.push_back({"disk" + std::to_string(d), limit});
  options.backend = &backend;
  options.in_memory = true;
  return options;
}

inline manager_options directory_options(io::backend& backend, const temporary_directory& where, unsigned num_disks) {
  manager_options options;
  for (unsigned d = 0; d < num_disks; ++d) options.disks.push_back({where / ("disk" + std::to_string(d))});
  options.backend = &backend;
  options.reserve_step = 64 * KiB;
  return options;
}

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
