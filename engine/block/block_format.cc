// Sealing and verifying scratch blocks; see block_format.h.
#include "engine/block/block_format.h"

#include <xxhash.h>

#include <cstring>
#include <string>

#include "engine/base/error.h"

namespace flowrun::block {

namespace {

uint64_t checksum_of(const std::byte* block, uint32_t block_bytes) {
  return XXH3_64bits(block + sizeof(uint64_t), block_bytes - sizeof(uint64_t));
}

[[noreturn]] void damaged(const block_place& expected, const std::string& what) {
  throw error(
      error_kind::io,
      fmt::format("scratch block damaged: {} at offset {}: expected block {} of run {}, generation {}; {}",
                  expected.disk_path, expected.offset, expected.index, expected.stream, expected.generation, what),
      "the disk or its cable, or the machine's memory, may be failing: check the disk, or use another scratch "
      "directory, and run the job again");
}

}  // namespace

void seal(std::byte* block, uint32_t block_bytes, block_header fields) {
  FLOWRUN_CHECK(block_bytes > block_header_bytes);
  FLOWRUN_CHECK(uint64_t{fields.rows_bytes} + fields.heap_bytes <= block_bytes - block_header_bytes);
  fields.checksum = 0;
  fields.magic = block_magic;
  fields.block_bytes = block_bytes;
  std::memcpy(block, &fields, sizeof fields);
  fields.checksum = checksum_of(block, block_bytes);
  std::memcpy(block, &fields.checksum, sizeof fields.checksum);
}

block_header verify(const std::byte* block, uint32_t block_bytes, const block_place& expected) {
  block_header found;
  if (block_bytes <= block_header_bytes) {
    damaged(expected, fmt::format("only {} bytes were read", block_bytes));
  }
  std::memcpy(&found, block, sizeof found);
  const uint64_t checksum = checksum_of(block, block_bytes);
  if (found.checksum != checksum) {
    damaged(expected,
            found.magic == block_magic
                ? fmt::format("its checksum is {:016x} but its content has {:016x}; it says it is block {} of run {}",
                              found.checksum, checksum, found.index, found.stream)
                : fmt::format("found no block there (magic {:08x} instead of {:08x}), as if never written", found.magic,
                              block_magic));
  }
  if (found.magic != block_magic || found.block_bytes != block_bytes) {
    damaged(expected, fmt::format("found a block of {} bytes and magic {:08x} instead of {} bytes and {:08x}",
                                  found.block_bytes, found.magic, block_bytes, block_magic));
  }
  if (found.stream != expected.stream || found.index != expected.index || found.generation != expected.generation) {
    damaged(expected, fmt::format("found block {} of run {}, generation {}, intact but in the wrong place (a lost or "
                                  "misplaced write)",
                                  found.index, found.stream, found.generation));
  }
  return found;
}

}  // namespace flowrun::block
