// Compresses text as gzip(1), zstd(1), bzip2(1) and xz(1) have it, a piece at a time: each piece becomes a member of
// its own, and members one behind the other are one text for whatever reads the format. So pieces can be compressed by
// several threads at once, and what comes out depends on the text and nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "engine/io/encoding.h"

namespace flowrun::io {

// Bytes of text that become one member. The last piece of a text is shorter.
constexpr size_t encoded_piece_bytes(encoding content) {
  return content == encoding::bzip2 ? 900'000 : size_t{1} << 20;  // a block of bzip2 -9
}
// The most that a piece of `num_bytes` becomes.
size_t most_encoded_bytes(encoding content, size_t num_bytes);
// What an encoder takes beside its text and what it makes of it.
uint64_t encoder_bytes(encoding content);

// Pure but for memory. One thread at a time.
class encoder {
 public:
  virtual ~encoder() = default;
  // One member; returns its size. `to` has most_encoded_bytes() of a text, which may be empty. Throws error(resources).
  virtual size_t encode(std::span<const std::byte> text, std::span<std::byte> to) = 0;
};

// `content` is not plain.
std::unique_ptr<encoder> make_encoder(encoding content);

// What a file of this name is expected to be, by its last letters: .gz, .zst, .bz2, .xz; else plain.
encoding encoding_of_name(std::string_view path);

}  // namespace flowrun::io
