// Ascending words as differences: what neighbours have in common is not stored (frame of reference with bit packing;
// Lemire and Boytsov, "Decoding billions of integers per second through vectorization", 2015, section 2.6, without the
// vectors).
//
//   words     1000 1003 1003 1010 | …       first: 1000, raw
//   groups    128 differences each          3 0 7 …: the widest has 3 bits, so each gets 3
//   coded     first word │ width, packed bits │ width, packed bits │ … │ 16 zero bytes
//
// Words are little-endian numbers of 1 to 16 bytes, densely packed, as narrow rows lie in the blocks of runs
// (record/row_codec.h). Any words come back as they were; ascending ones get shorter: n random words of w bits take
// about w - log2(n) + 3 bits each. A width that leaves fewer than eight bits of a word's register is rounded up to all
// of it, so that one unaligned load holds every difference. The zero bytes let it read past the last one.
//
// Pure functions. Measured on one core (tests/bench/codec_bench.cc): 6 to 10 GB/s of rows decoded, 2 to 6 coded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace flowrun::runs {

// Codes `words` (a multiple of `word_bytes` bytes; 1 <= word_bytes <= 16) into the front of `coded`. The bytes it
// takes, or 0 when they don't fit.
size_t encode_deltas(std::span<const std::byte> words, uint32_t word_bytes, std::span<std::byte> coded);

// Fills `words` from what encode_deltas() made of so many bytes. False when `coded` isn't that (it may hold anything);
// then `words` has arbitrary content.
bool decode_deltas(std::span<const std::byte> coded, uint32_t word_bytes, std::span<std::byte> words);

}  // namespace flowrun::runs
