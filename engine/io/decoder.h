// Decodes compressed content, piece by piece: its members one after another are one text, as gzip(1), zstd(1), bzip2(1)
// and xz(1) have it. Zeros may follow the last member of gzip, and by fours those of xz.
//
// Pure but for memory: what it is given becomes text, in pieces of any size with the same result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "engine/io/encoding.h"
#include "engine/io/member_decoder.h"

namespace flowrun::io {

class decoder {
 public:
  // Keeps its own memory within `memory_bytes`; `content` is not plain.
  decoder(encoding content, uint64_t memory_bytes);

  struct step {
    size_t taken = 0;
    size_t made = 0;
  };
  // Decodes as far as input and room reach. Neither taken nor made: more input is needed. Throws decoding_error; it
  // is not called again then.
  step decode(std::span<const std::byte> from, std::span<std::byte> to);
  // There is no more input, and decode() has made nothing of none. Throws decoding_error when the content can't end
  // here.
  void finish() const;

  encoding content() const { return content_; }
  uint64_t num_taken() const { return num_taken_; }        // bytes of the content, in all
  uint64_t num_made() const { return num_made_; }          // bytes of the text
  uint64_t member_begin() const { return member_begin_; }  // the byte of the content at which the last member began

 private:
  size_t skip_padding(std::span<const std::byte> from);

  const encoding content_;
  const uint64_t memory_bytes_;
  std::unique_ptr<member_decoder> member_;
  uint64_t num_taken_ = 0;
  uint64_t num_made_ = 0;
  uint64_t member_begin_ = 0;
  uint64_t num_padding_ = 0;
  bool within_ = true;  // a member
};

struct decoded_text {
  std::string text;
  uint64_t num_taken = 0;  // bytes of the content that it was made of
  bool whole = false;      // that is all, and it is not damaged
};

// The text of the first bytes of some content, as far as these and `most_bytes` of text reach. What is damaged ends it.
decoded_text decoded_beginning(encoding content, std::span<const std::byte> beginning, size_t most_bytes);

// The same of a file, whether compressed or plain. Nothing where it can't be read.
decoded_text text_beginning(const std::string& path, size_t most_bytes);

// Whether it is a file whose content is compressed.
bool is_compressed(const std::string& path);

}  // namespace flowrun::io
