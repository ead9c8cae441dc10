#include "engine/base/buffer.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>

#include "engine/base/error.h"
#include "engine/base/units.h"

namespace flowrun {

std::byte* map_pages(size_t num_bytes) {
  void* mapped = mmap(nullptr, num_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) {
    const int cause = errno;
    throw error(error_kind::resources, fmt::format("can't allocate {}: {}", format_bytes(num_bytes), errno_text(cause)),
                "lower the memory budget (-m) or raise the limit of this shell or container");
  }
  return static_cast<std::byte*>(mapped);
}

void unmap_pages(std::byte* data, size_t num_bytes) noexcept { munmap(data, num_bytes); }

aligned_buffer::aligned_buffer(size_t num_bytes) {
  if (num_bytes == 0) return;
  num_bytes_ = round_up(num_bytes, io_alignment);
  data_ = map_pages(num_bytes_);
  if (num_bytes_ >= 2 * MiB) madvise(data_, num_bytes_, MADV_HUGEPAGE);
}

aligned_buffer::~aligned_buffer() {
  if (data_ != nullptr) unmap_pages(data_, num_bytes_);
}

void aligned_buffer::discard(size_t offset, size_t num_bytes) {
  const size_t begin = round_up(std::min(offset, num_bytes_), io_alignment);
  const size_t left = num_bytes_ - std::min(offset, num_bytes_);
  const size_t end = num_bytes >= left ? num_bytes_ : round_down(offset + num_bytes, io_alignment);
  if (begin < end) madvise(data_ + begin, end - begin, MADV_DONTNEED);
}

}  // namespace flowrun
