#include "engine/io/mapped_transfer.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <cstring>

#include "engine/base/buffer.h"
#include "engine/base/interrupted_call.h"
#include "engine/io/backends.h"
#include "engine/io/file.h"
#include "engine/io/transfer.h"

namespace flowrun::io {

namespace {

#ifndef MADV_POPULATE_READ
constexpr int MADV_POPULATE_READ = 22;
constexpr int MADV_POPULATE_WRITE = 23;
#endif

// Where a copy that is at work in this thread goes on when a page can't be had; null: none is.
thread_local sigjmp_buf* volatile page_is_missing = nullptr;
struct sigaction action_before;

void on_missing_page(int number, siginfo_t* info, void*) {
  if (page_is_missing != nullptr) siglongjmp(*page_is_missing, 1);
  // Not of a copy: what would have happened happens, as soon as the instruction is tried again.
  sigaction(SIGBUS, &action_before, nullptr);
  if (info->si_code <= 0) raise(number);  // sent by a process
}

// Pages that were there a moment ago may be gone: the file has become shorter, or its disk is. Then it is false, and
// not the end of the process.
[[gnu::noinline]] bool copy_pages(std::byte* to, const std::byte* from, size_t num_bytes) {
  static const bool is_installed = [] {
    struct sigaction action {};
    action.sa_sigaction = on_missing_page;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    return sigaction(SIGBUS, &action, &action_before) == 0;
  }();
  if (!is_installed) return false;
  sigjmp_buf here;
  if (sigsetjmp(here, 1) != 0) {
    page_is_missing = nullptr;
    return false;
  }
  page_is_missing = &here;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  std::memcpy(to, from, num_bytes);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  page_is_missing = nullptr;
  return true;
}

// The pages of a range of a file; unmapped at the end.
class mapping {
 public:
  mapping(int descriptor, uint64_t offset, size_t num_bytes, direction way)
      : begin_(round_down(offset, io_alignment)), num_bytes_(static_cast<size_t>(offset - begin_) + num_bytes) {
    const int protection = way == direction::write ? PROT_READ | PROT_WRITE : PROT_READ;
    pages_ = mmap(nullptr, num_bytes_, protection, MAP_SHARED, descriptor, static_cast<off_t>(begin_));
  }
  ~mapping() {
    if (*this) munmap(pages_, num_bytes_);
  }
  mapping(const mapping&) = delete;
  mapping& operator=(const mapping&) = delete;

  explicit operator bool() const { return pages_ != MAP_FAILED; }
  std::byte* at(uint64_t offset) const { return static_cast<std::byte*>(pages_) + (offset - begin_); }
  // 0 or an errno: EFAULT and EHWPOISON for what would have been SIGBUS.
  int populate(direction way) const {
    const int advice = way == direction::write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;
    unsigned num_retries = 0;
    while (madvise(pages_, num_bytes_, advice) != 0)
      if ((errno != EINTR && errno != EAGAIN) || ++num_retries >= transfer_progress::max_retries) return errno;
    return 0;
  }

 private:
  const uint64_t begin_;
  const size_t num_bytes_;
  void* pages_ = MAP_FAILED;
};

enum class room { made, none, unknown };

// Space on the disk for [offset, end), so that the copy can't find the disk full, and a file that reaches to `end`.
// `none`: errno says why. `unknown` where the file system can't reserve: growing the file by ftruncate() would cut off
// what another thread has written behind it meanwhile.
room make_room(int descriptor, uint64_t offset, uint64_t end) {
  const auto reserve = [&] {
    return fallocate(descriptor, 0, static_cast<off_t>(offset), static_cast<off_t>(end - offset));
  };
  if (retry_interrupted(reserve) == 0) return room::made;
  return errno == EOPNOTSUPP || errno == ENOSYS ? room::unknown : room::none;
}

}  // namespace

int64_t transfer_mapped(request& r) noexcept {
  const int descriptor = r.target->descriptor();
  struct stat now {};
  if (fstat(descriptor, &now) != 0 || !S_ISREG(now.st_mode)) return perform(r);
  const auto length = static_cast<uint64_t>(now.st_size);
  size_t num_bytes = r.num_bytes;
  if (r.way == direction::read) {
    if (r.offset >= length) return 0;
    num_bytes = static_cast<size_t>(std::min<uint64_t>(num_bytes, length - r.offset));
  } else {
    const room found = make_room(descriptor, r.offset, r.offset + num_bytes);
    if (found == room::none) return -errno;
    if (found == room::unknown && r.offset + num_bytes > length) return perform(r);
  }
  const mapping pages(descriptor, r.offset, num_bytes, r.way);
  if (!pages) return perform(r);
  const int failure = pages.populate(r.way);
  if (failure == EINVAL) return perform(r);
  if (failure != 0 && failure != EFAULT) return -failure;
  std::byte* const mapped = pages.at(r.offset);
  const bool reads = r.way == direction::read;
  // What is missing now is the system's to tell: of a file that has become shorter, what is left.
  if (failure == EFAULT || !copy_pages(reads ? r.data : mapped, reads ? mapped : r.data, num_bytes)) return perform(r);
  if (!reads)
    sync_file_range(descriptor, static_cast<off_t>(r.offset), static_cast<off_t>(num_bytes), SYNC_FILE_RANGE_WRITE);
  return static_cast<int64_t>(num_bytes);
}

}  // namespace flowrun::io
