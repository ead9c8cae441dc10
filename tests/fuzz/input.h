// The bytes of an input as values. Choices are taken from its end and text from its front, so that a plain file of the
// format under test is a good seed as it is. When nothing is left all choices are 0.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace flowrun::fuzz {

class input {
 public:
  explicit input(std::string_view bytes) : left_(bytes) {}

  bool empty() const { return left_.empty(); }
  uint8_t byte() {
    if (left_.empty()) return 0;
    const auto out = static_cast<uint8_t>(left_.back());
    left_.remove_suffix(1);
    return out;
  }
  bool flag() { return (byte() & 1U) != 0; }
  // Below `bound`, which is at most 256.
  size_t below(size_t bound) { return byte() % bound; }
  uint64_t number() {
    uint64_t out = 0;
    for (int i = 0; i < 8; ++i) out = out << 8U | byte();
    return out;
  }

  // What is left, from the front.
  std::string_view rest() const { return left_; }
  std::string_view take(size_t num_bytes) {
    const std::string_view out = left_.substr(0, num_bytes);
    left_.remove_prefix(out.size());
    return out;
  }
  // Up to the next `end`, which is dropped, or all that is left.
  std::string_view take_until(char end) {
    const std::string_view out = left_.substr(0, left_.find(end));
    left_.remove_prefix(std::min(left_.size(), out.size() + 1));
    return out;
  }
  // Fills `to`, with zeros where nothing is left.
  void fill(void* to, size_t num_bytes) {
    const std::string_view from = take(num_bytes);
    std::memset(to, 0, num_bytes);
    if (!from.empty()) std::memcpy(to, from.data(), from.size());
  }

 private:
  std::string_view left_;
};

}  // namespace flowrun::fuzz
