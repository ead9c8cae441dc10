#include "engine/base/buffer.h"

#include <sys/mman.h>

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

void aligned_buffer::discard_from(size_t offset) {
  offset = round_up(offset, io_alignment);
  if (offset < num_bytes_) madvise(data_ + offset, num_bytes_ - offset, MADV_DONTNEED);
}

}  // namespace flowrun
