// Bytes that become more, at one place, without being there twice while they move.
//
// A vector allocates anew, copies and frees, so that at its largest step it takes two and a half times what it holds.
// realloc() asks the system to move the pages of a large block instead (mremap). Room that nothing was written to takes
// no memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

namespace flowrun {

class growing_bytes {
 public:
  std::byte* data() { return bytes_.get(); }
  const std::byte* data() const { return bytes_.get(); }
  size_t size() const { return size_; }

  // `more` bytes behind the others, which the caller sets. Throws bad_alloc. Addresses change.
  std::byte* grow(size_t more) {
    if (more > capacity_ - size_) reallocate(std::max(size_ + more, capacity_ + capacity_ / 2));
    std::byte* const behind = bytes_.get() + size_;
    size_ += more;
    return behind;
  }
  // `from` is none of these bytes.
  void append(const void* from, size_t num_bytes) {
    if (num_bytes > 0) std::memcpy(grow(num_bytes), from, num_bytes);
  }
  void erase_front(size_t num_bytes) {
    size_ -= num_bytes;
    if (size_ > 0) std::memmove(bytes_.get(), bytes_.get() + num_bytes, size_);
    if (capacity_ / 4 > size_ + (size_t{1} << 20)) reallocate(std::max<size_t>(size_, 1));  // much was there once
  }
  void clear() { size_ = 0; }

 private:
  struct freed {
    void operator()(std::byte* bytes) const { std::free(bytes); }
  };

  void reallocate(size_t capacity) {
    void* const moved = std::realloc(bytes_.get(), capacity);
    if (moved == nullptr) throw std::bad_alloc();
    static_cast<void>(bytes_.release());
    bytes_.reset(static_cast<std::byte*>(moved));
    capacity_ = capacity;
  }

  std::unique_ptr<std::byte, freed> bytes_;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace flowrun
