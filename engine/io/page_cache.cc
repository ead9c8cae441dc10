#include "engine/io/page_cache.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "engine/base/buffer.h"

namespace flowrun::io {

namespace {

constexpr uint64_t num_samples = 32;

// mincore() tells the truth only to those who own the file or may write it; to others everything seems cached.
bool may_ask_mincore(int descriptor) {
  struct stat info {};
  if (fstat(descriptor, &info) != 0) return false;
  return geteuid() == 0 || geteuid() == info.st_uid;
}

bool resident(int descriptor, uint64_t page_begin) {
  void* const page = mmap(nullptr, io_alignment, PROT_READ, MAP_SHARED, descriptor, static_cast<off_t>(page_begin));
  if (page == MAP_FAILED) return false;
  unsigned char state = 0;
  const bool known = mincore(page, io_alignment, &state) == 0;
  munmap(page, io_alignment);
  return known && (state & 1) != 0;
}

// Reads a byte if that needs no disk.
bool readable_at_once(int descriptor, uint64_t offset) {
  std::array<char, 1> byte{};
  iovec target{byte.data(), byte.size()};
  return preadv2(descriptor, &target, 1, static_cast<off_t>(offset), RWF_NOWAIT) == 1;
}

}  // namespace

double cached_share(int descriptor, uint64_t begin, uint64_t end) {
  if (begin >= end) return 0;
  const bool ask_mincore = may_ask_mincore(descriptor);
  uint64_t num_cached = 0;
  for (uint64_t sample = 0; sample < num_samples; ++sample) {
    // The middle of each of num_samples equal parts.
    const uint64_t offset = begin + (end - begin) / num_samples * sample + (end - begin) / num_samples / 2;
    const uint64_t page_begin = offset / io_alignment * io_alignment;
    num_cached += ask_mincore ? resident(descriptor, page_begin) : readable_at_once(descriptor, offset);
  }
  return static_cast<double>(num_cached) / static_cast<double>(num_samples);
}

}  // namespace flowrun::io
