#include "engine/io/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <random>
#include <vector>

#include "engine/base/buffer.h"
#include "engine/base/error.h"
#include "engine/base/interrupted_call.h"
#include "engine/base/mutex.h"
#include "engine/base/units.h"
#include "engine/io/open_descriptor.h"
#include "engine/io/transfer.h"

namespace flowrun::io {

// Pages of a file in memory appear when written, so that a sparse or released range costs nothing. Missing pages read
// as zeros.
struct file::memory {
  static constexpr size_t page_bytes = 256 * KiB;
  using page = std::array<std::byte, page_bytes>;

  mutable shared_mutex mutex;
  uint64_t num_bytes FLOWRUN_GUARDED_BY(mutex) = 0;
  std::vector<std::unique_ptr<page>> pages FLOWRUN_GUARDED_BY(mutex);

  // Not analysed: `visit` needs the lock that each caller holds. Calls visit(page index, offset in it, offset in the
  // range, length) for each piece of [offset, offset + length).
  template <class Visit>
  static void for_each_piece(uint64_t offset, size_t length, Visit visit) FLOWRUN_NO_THREAD_SAFETY_ANALYSIS {
    for (size_t done = 0; done < length;) {
      const size_t within = (offset + done) % page_bytes;
      const size_t piece = std::min(length - done, page_bytes - within);
      visit(static_cast<size_t>((offset + done) / page_bytes), within, done, piece);
      done += piece;
    }
  }

  size_t read(uint64_t offset, std::byte* data, size_t length) const {
    read_lock lock(mutex);
    if (offset >= num_bytes) return 0;
    length = static_cast<size_t>(std::min<uint64_t>(length, num_bytes - offset));
    for_each_piece(offset, length,
                   [&](size_t index, size_t within, size_t done, size_t piece) FLOWRUN_REQUIRES_SHARED(mutex) {
                     if (index < pages.size() && pages[index] != nullptr)
                       std::memcpy(data + done, pages[index]->data() + within, piece);
                     else
                       std::memset(data + done, 0, piece);
                   });
    return length;
  }

  void write(uint64_t offset, const std::byte* data, size_t length) {
    write_lock lock(mutex);
    for_each_piece(offset, length, [&](size_t index, size_t within, size_t done, size_t piece) FLOWRUN_REQUIRES(mutex) {
      if (index >= pages.size()) pages.resize(index + 1);
      if (pages[index] == nullptr) pages[index] = std::make_unique<page>();
      std::memcpy(pages[index]->data() + within, data + done, piece);
    });
    num_bytes = std::max(num_bytes, offset + length);
  }

  void clear(uint64_t offset, uint64_t length) FLOWRUN_REQUIRES(mutex) {
    const uint64_t end = std::min<uint64_t>(offset + length, uint64_t{pages.size()} * page_bytes);
    if (offset >= end) return;
    for_each_piece(offset, end - offset,
                   [&](size_t index, size_t within, size_t, size_t piece) FLOWRUN_REQUIRES(mutex) {
                     if (piece == page_bytes)
                       pages[index].reset();
                     else if (pages[index] != nullptr)
                       std::memset(pages[index]->data() + within, 0, piece);
                   });
  }

  void resize(uint64_t length) {
    write_lock lock(mutex);
    if (length < num_bytes) {
      clear(length, num_bytes - length);
      pages.resize(std::min<size_t>(pages.size(), round_up(length, page_bytes) / page_bytes));
    }
    num_bytes = length;
  }
};

namespace {

std::string random_name() {
  std::random_device device;
  return fmt::format(".flowrun-{}-{:08x}{:08x}.scratch", getpid(), device(), device());
}

std::string hint_for(int cause, std::string otherwise) {
  if (cause == ENOSPC || cause == EDQUOT) return "free space on that disk, or choose a directory on another one";
  if (cause == EMFILE || cause == ENFILE) return "raise the limit of open files (ulimit -n)";
  if (cause == EROFS) return "the file system is mounted read-only: choose another directory";
  if (cause == EACCES || cause == EPERM) return "check the permissions of the path and of its directories";
  return otherwise;
}

// Of scratch that can't be opened: what may be different later, or why it can't be there.
error_kind scratch_refusal(int cause) {
  const bool for_now = cause == ENOSPC || cause == EDQUOT || cause == EMFILE || cause == ENFILE || cause == ENOMEM;
  return for_now ? error_kind::resources : error_kind::output;
}

int open_scratch(const std::string& directory, bool& direct) {
  const bool wanted = direct;
  int descriptor = open_descriptor(directory, O_TMPFILE | O_EXCL | O_RDWR, 0600, direct);
  // Without O_TMPFILE, file systems say EOPNOTSUPP and old kernels see an open of a directory for writing.
  if (descriptor >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return descriptor;
  for (int attempt = 0; attempt < 16; ++attempt) {
    const std::string path = directory + "/" + random_name();
    direct = wanted;
    descriptor = open_descriptor(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600, direct);
    if (descriptor >= 0) {
      unlink(path.c_str());
      return descriptor;
    }
    if (errno != EEXIST) break;
  }
  return -1;
}

}  // namespace

file::file(std::string path, int descriptor, bool direct, error_kind when_full)
    : path_(std::move(path)), descriptor_(descriptor), direct_(direct), when_full_(when_full) {}

file::~file() {
  if (descriptor_ >= 0) close(descriptor_);
}

std::unique_ptr<file> file::adopt(int descriptor, std::string path, bool direct) {
  FLOWRUN_CHECK(descriptor >= 0);
  return std::unique_ptr<file>(new file(std::move(path), descriptor, direct, error_kind::output));
}

std::unique_ptr<file> file::in_memory(std::string name, uint64_t num_bytes) {
  std::unique_ptr<file> made(new file(std::move(name), -1, false, error_kind::resources));
  made->memory_ = std::make_unique<memory>();
  write_lock lock(made->memory_->mutex);
  made->memory_->num_bytes = num_bytes;
  return made;
}

std::unique_ptr<file> file::open(const std::string& path, open_mode mode, open_options options) {
  bool direct = options.direct;
  int descriptor = -1;
  switch (mode) {
    case open_mode::read: {
      descriptor = open_descriptor(path, O_RDONLY, 0, direct);
      struct stat info {};
      if (descriptor >= 0 && fstat(descriptor, &info) == 0 && S_ISDIR(info.st_mode)) {
        close(descriptor);
        throw error(error_kind::missing_input, fmt::format("can't read {}: it is a directory", path), "name a file");
      }
      if (descriptor >= 0) break;
      const int cause = errno;
      throw error(error_kind::missing_input, fmt::format("can't open {}: {}", path, errno_text(cause)),
                  hint_for(cause, "check the name; relative paths start at the working directory"));
    }
    case open_mode::write_new: {
      descriptor = open_descriptor(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0666, direct);
      if (descriptor >= 0) break;
      const int cause = errno;
      throw error(
          error_kind::output, fmt::format("can't create {}: {}", path, errno_text(cause)),
          hint_for(cause, cause == EEXIST ? "remove it or choose another name" : "check that its directory exists"));
    }
    case open_mode::scratch: {
      descriptor = open_scratch(path, direct);
      if (descriptor >= 0) break;
      const int cause = errno;
      throw error(scratch_refusal(cause), fmt::format("can't create a scratch file in {}: {}", path, errno_text(cause)),
                  hint_for(cause, "name an existing, writable directory (-T DIR)"));
    }
    case open_mode::kept: {
      descriptor = open_descriptor(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0600, direct);
      if (descriptor >= 0) break;
      const int cause = errno;
      throw error(scratch_refusal(cause), fmt::format("can't open the scratch file {}: {}", path, errno_text(cause)),
                  hint_for(cause, "name an existing, writable directory (-T DIR)"));
    }
  }
  const bool is_scratch = mode == open_mode::scratch || mode == open_mode::kept;
  const error_kind when_full = is_scratch ? error_kind::resources : error_kind::output;
  return std::unique_ptr<file>(new file(path, descriptor, direct, when_full));
}

uint64_t file::num_bytes() const {
  if (memory_ != nullptr) {
    read_lock lock(memory_->mutex);
    return memory_->num_bytes;
  }
  struct stat info {};
  if (fstat(descriptor_, &info) != 0)
    throw error(error_kind::io, fmt::format("can't get the length of {}: {}", path_, errno_text(errno)));
  return static_cast<uint64_t>(info.st_size);
}

void file::truncate(uint64_t num_bytes) {
  if (memory_ != nullptr) return memory_->resize(num_bytes);
  if (retry_interrupted([&] { return ftruncate(descriptor_, static_cast<off_t>(num_bytes)); }) != 0) {
    const int cause = errno;
    throw error(error_kind::io,
                fmt::format("can't set the length of {} to {}: {}", path_, num_bytes, errno_text(cause)),
                hint_for(cause, ""));
  }
}

bool file::reserve(uint64_t offset, uint64_t num_bytes) {
  if (memory_ != nullptr) {
    write_lock lock(memory_->mutex);
    memory_->num_bytes = std::max(memory_->num_bytes, offset + num_bytes);
    return true;
  }
  if (num_bytes == 0) return true;
  if (retry_interrupted(
          [&] { return fallocate(descriptor_, 0, static_cast<off_t>(offset), static_cast<off_t>(num_bytes)); }) == 0)
    return true;
  const int cause = errno;
  if (cause == EOPNOTSUPP || cause == ENOSYS || cause == EINVAL || cause == ENODEV) return false;
  throw error(
      means_no_room(cause) ? when_full_ : error_kind::io,
      fmt::format("can't reserve {} at offset {} of {}: {}", format_bytes(num_bytes), offset, path_, errno_text(cause)),
      hint_for(cause, cause == EFBIG ? "raise the file size limit (ulimit -f)" : "check the disk"));
}

void file::release(uint64_t offset, uint64_t num_bytes) {
  if (num_bytes == 0) return;
  if (memory_ != nullptr) {
    write_lock lock(memory_->mutex);
    return memory_->clear(offset, num_bytes);
  }
  // Only an economy: where holes can't be punched, the space comes back when the file dies.
  (void)fallocate(descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                  static_cast<off_t>(num_bytes));
}

void file::sync() {
  if (memory_ != nullptr) return;
  // Never tried twice: after a failed fsync the kernel may have dropped the pages, and a second one would claim
  // success.
  if (fsync(descriptor_) == 0) return;
  const int cause = errno;
  throw error(means_no_room(cause) ? when_full_ : error_kind::io,
              fmt::format("can't make {} durable (fsync): {}", path_, errno_text(cause)),
              hint_for(cause, "check the disk and the system log (dmesg)"));
}

int64_t file::read_at(uint64_t offset, std::byte* data, size_t num_bytes) {
  if (memory_ != nullptr) return static_cast<int64_t>(memory_->read(offset, data, num_bytes));
  for (transfer_progress progress;;) {
    const ssize_t got =
        pread(descriptor_, data + progress.begin, std::min(num_bytes - progress.begin, largest_transfer),
              static_cast<off_t>(offset + progress.begin));
    const int64_t result = got < 0 ? -errno : got;
    if (const auto end = progress.advance(result, num_bytes, direct_, direction::read)) return *end;
  }
}

int64_t file::write_at(uint64_t offset, const std::byte* data, size_t num_bytes) {
  if (memory_ != nullptr) {
    try {
      memory_->write(offset, data, num_bytes);
    } catch (const std::bad_alloc&) {
      return -ENOMEM;
    }
    return static_cast<int64_t>(num_bytes);
  }
  for (transfer_progress progress;;) {
    const ssize_t put =
        pwrite(descriptor_, data + progress.begin, std::min(num_bytes - progress.begin, largest_transfer),
               static_cast<off_t>(offset + progress.begin));
    const int64_t result = put < 0 ? -errno : put;
    if (const auto end = progress.advance(result, num_bytes, direct_, direction::write)) return *end;
  }
}

}  // namespace flowrun::io
