// Page-aligned memory straight from the operating system.
//
// Run buffers and I/O blocks are large, live long and must be given back when they die (the memory budget is checked
// against the resident set, and malloc keeps what it once had). Alignment of 4096 bytes suits O_DIRECT.
#pragma once

#include <cstddef>
#include <utility>

namespace flowrun {

constexpr size_t io_alignment = 4096;

constexpr size_t round_up(size_t n, size_t multiple) { return (n + multiple - 1) / multiple * multiple; }
constexpr size_t round_down(size_t n, size_t multiple) { return n / multiple * multiple; }

// Whole pages, zeros, resident once touched. Throws error(resources) when the system refuses.
std::byte* map_pages(size_t num_bytes);
void unmap_pages(std::byte* data, size_t num_bytes) noexcept;

// Owns an anonymous mapping. Movable. Contents start as zeros; pages are resident only once touched.
// Throws error(resources) when the system refuses.
class aligned_buffer {
 public:
  aligned_buffer() = default;
  // `num_bytes` is rounded up to whole pages. From 2 MiB on, huge pages are asked for (fewer TLB misses in sorting).
  explicit aligned_buffer(size_t num_bytes);
  aligned_buffer(aligned_buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), num_bytes_(std::exchange(other.num_bytes_, 0)) {}
  aligned_buffer& operator=(aligned_buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(num_bytes_, other.num_bytes_);
    return *this;
  }
  ~aligned_buffer();

  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  size_t num_bytes() const { return num_bytes_; }
  explicit operator bool() const { return data_ != nullptr; }
  // Gives whole pages back to the system, those from `offset` on, or of them the ones within `num_bytes`; they read as
  // zeros afterwards.
  void discard_from(size_t offset) { discard(offset, num_bytes_); }
  void discard(size_t offset, size_t num_bytes);

 private:
  std::byte* data_ = nullptr;
  size_t num_bytes_ = 0;
};

}  // namespace flowrun
