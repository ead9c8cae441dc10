// How the blocks of runs are stored, chosen per sort: as they are, or shorter for some work of the processor.
//
//   delta      rows that are sorted as numbers: differences of neighbours (delta_codec.h)
//   lz4, zstd  any rows: repeated strings of bytes; lz4 is faster, zstd (at its fastest level but the negative ones)
//              makes shorter blocks
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace flowrun::runs {

// The values are stored in blocks.
enum class compression : uint8_t { none = 0, delta = 1, lz4 = 2, zstd = 3 };

struct block_coding {
  compression how = compression::none;
  uint32_t word_bytes = 0;  // delta: of one packed word

  bool compresses() const { return how != compression::none; }
};

// Makes pieces of blocks shorter and back. Each piece is coded by itself. One thread at a time.
class block_codec {
 public:
  virtual ~block_codec() = default;
  // Codes `piece` (not empty) into the front of `coded`. The bytes it takes, or 0 when they don't fit.
  virtual size_t encode(std::span<const std::byte> piece, std::span<std::byte> coded) = 0;
  // Fills `piece`. False when `coded` isn't what encode() made of so many bytes; it may hold anything.
  virtual bool decode(std::span<const std::byte> coded, std::span<std::byte> piece) = 0;
};

// Only with coding.compresses().
std::unique_ptr<block_codec> make_block_codec(const block_coding& coding);

}  // namespace flowrun::runs
