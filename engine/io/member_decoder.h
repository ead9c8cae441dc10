// Decodes one member of compressed content: a gzip member, a zstd frame, a bzip2 or xz stream. Each format has a file
// of its own; decoder.h puts members together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>

#include "engine/io/encoding.h"

namespace flowrun::io {

// Content that can't be decoded. what() says what is wrong with it, without file and place.
class decoding_error : public std::runtime_error {
 public:
  // `wanted_bytes`: nothing is wrong but that decoding would take so much memory.
  explicit decoding_error(const std::string& what, uint64_t wanted_bytes = 0)
      : std::runtime_error(what), wanted_bytes_(wanted_bytes) {}
  uint64_t wanted_bytes() const { return wanted_bytes_; }

 private:
  uint64_t wanted_bytes_;
};

struct decoded_step {
  size_t taken = 0;    // bytes of the input
  size_t made = 0;     // bytes of the output
  bool ended = false;  // the member has ended, its checksums are right, and what is left of the input comes behind it
};

class member_decoder {
 public:
  virtual ~member_decoder() = default;
  // A new member begins with the next byte.
  virtual void begin() = 0;
  // Decodes as far as input and room reach; `to` has room. Neither taken nor made: more input is needed. Throws
  // decoding_error.
  virtual decoded_step decode(std::span<const std::byte> from, std::span<std::byte> to) = 0;
};

// Each keeps its memory within `memory_bytes`, or throws decoding_error where it can't. The first begin() is done.
std::unique_ptr<member_decoder> make_gzip_decoder();
std::unique_ptr<member_decoder> make_zstd_decoder(uint64_t memory_bytes);
std::unique_ptr<member_decoder> make_bzip2_decoder(uint64_t memory_bytes);
std::unique_ptr<member_decoder> make_xz_decoder(uint64_t memory_bytes);

// decoder_bytes() of each format.
uint64_t gzip_decoder_bytes();
uint64_t zstd_decoder_bytes(std::span<const std::byte> beginning);
uint64_t bzip2_decoder_bytes(std::span<const std::byte> beginning);
uint64_t xz_decoder_bytes(std::span<const std::byte> beginning);

}  // namespace flowrun::io
