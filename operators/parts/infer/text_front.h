// The text of a file from front to back, as far as it is wanted: decoded where it is compressed, and without a byte
// order mark.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "engine/io/byte_stream.h"

namespace flowrun::operators {

// "-" is standard input.
std::string real_path(const std::string& path);

class text_front {
 public:
  explicit text_front(const std::string& path);

  // Appends up to `num_bytes`. Throws error(io).
  void read(size_t num_bytes);
  void drop(size_t num_bytes);
  const std::string& text() const { return text_; }
  uint64_t offset() const { return offset_; }  // of the text's first byte
  bool ended() const { return ended_; }
  // Bytes of the file that its text so far was made of.
  uint64_t num_taken() const;

 private:
  const std::string path_;
  const std::unique_ptr<io::byte_stream> from_;
  std::string text_;
  uint64_t offset_ = 0;
  bool ended_ = false;
};

}  // namespace flowrun::operators
