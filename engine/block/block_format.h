// The form of a scratch block: a 64-byte header, then the payload.
//
//   0  checksum     XXH3-64 of bytes [8, block_bytes): the rest of the header, the payload and the unused tail
//   8  magic        "FLRB"
//  12  flags        for the user of the block
//  16  stream       the run (or other stream) the block belongs to
//  24  index        its number in the stream
//  32  generation   counts rewritings of the same stream and index
//  40  num_rows, rows_bytes, heap_bytes, block_bytes      (32 bits each)
//  56  8 zero bytes
//
// The header says where the block belongs, and the checksum covers that. So a flipped bit, a block written to or read
// from the wrong place, and a stale block from an earlier use of the space are all noticed. Byte order is the
// machine's: scratch never leaves it. Cost: one pass of XXH3 over the block, tens of GB/s.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "engine/sizes/block_length.h"

namespace flowrun::block {

constexpr size_t block_header_bytes = sizes::block_header_bytes;
constexpr uint32_t block_magic = 0x42524c46;  // "FLRB" in memory on little-endian machines

// What seal() writes. The caller fills stream … flags; checksum, magic and block_bytes are filled by seal().
struct block_header {
  uint64_t checksum = 0;
  uint32_t magic = block_magic;
  uint32_t flags = 0;
  uint64_t stream = 0;
  uint64_t index = 0;
  uint64_t generation = 0;
  uint32_t num_rows = 0;
  uint32_t rows_bytes = 0;
  uint32_t heap_bytes = 0;
  uint32_t block_bytes = 0;
  uint64_t reserved = 0;
};
static_assert(sizeof(block_header) == block_header_bytes && std::is_trivially_copyable_v<block_header>);

// Which block is expected, and where it was read from (for the message).
struct block_place {
  uint64_t stream = 0;
  uint64_t index = 0;
  uint64_t generation = 0;
  std::string_view disk_path;
  uint64_t offset = 0;
};

// The bytes after the header.
inline std::byte* payload_of(std::byte* block) { return block + block_header_bytes; }
inline const std::byte* payload_of(const std::byte* block) { return block + block_header_bytes; }

// Writes the header into the first 64 bytes of `block`. The payload must be final. `block_bytes` > 64.
void seal(std::byte* block, uint32_t block_bytes, block_header fields);

// The header, once it is proved that `block` is the one expected and unharmed; else throws error(io) "scratch block
// damaged: …" with path, offset, and what was expected and found.
block_header verify(const std::byte* block, uint32_t block_bytes, const block_place& expected);

}  // namespace flowrun::block
