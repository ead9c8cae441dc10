#include "engine/io/descriptor_stream.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <string_view>

#include "engine/base/error.h"
#include "engine/io/open_descriptor.h"

namespace flowrun::io {

namespace {

// A FIFO is opened without waiting for a writer; poll() waits for it then.
int open_to_read(const std::string& path) {
  if (const int number = descriptor_named(path); number >= 0) return copy_for_reading(number);
  return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

bool is_fifo(const struct ::stat& info) { return S_ISFIFO(info.st_mode); }

bool names_fifo(const std::string& path) {
  struct ::stat info {};
  return !names_descriptor(path) && ::stat(path.c_str(), &info) == 0 && is_fifo(info);
}

// -1 with ENXIO while nobody reads it.
int open_fifo_to_write(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (descriptor < 0) return -1;
  struct ::stat info {};
  if (::fstat(descriptor, &info) == 0 && is_fifo(info) && fcntl(descriptor, F_SETFL, O_WRONLY) == 0) return descriptor;
  close(descriptor);
  errno = ENOSTR;  // something else has the name by now
  return -1;
}

}  // namespace

int open_to_write(const std::string& path) {
  // Not opened anew: a regular file behind standard output must go on where it stands.
  if (const int number = descriptor_named(path); number >= 0) return fcntl(number, F_DUPFD_CLOEXEC, 3);
  return ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
}

int descriptor_named(std::string_view path) {
  if (path == "/dev/stdin") return 0;
  if (path == "/dev/stdout") return 1;
  if (path == "/dev/stderr") return 2;
  for (const std::string_view prefix : {"/dev/fd/", "/proc/self/fd/", "/proc/thread-self/fd/"}) {
    if (path.substr(0, prefix.size()) != prefix) continue;
    int number = -1;
    const char* const end = path.data() + path.size();
    const auto parsed = std::from_chars(path.data() + prefix.size(), end, number);
    if (parsed.ec == std::errc() && parsed.ptr == end && number >= 0) return number;
  }
  return -1;
}

std::unique_ptr<descriptor_stream> descriptor_stream::open(const std::string& path, direction way) {
  const bool reading = way == direction::read;
  const bool may_wait = !reading && names_fifo(path);
  const int descriptor = reading ? open_to_read(path) : may_wait ? open_fifo_to_write(path) : open_to_write(path);
  if (descriptor < 0 && !(may_wait && errno == ENXIO))
    throw error(reading ? error_kind::missing_input : error_kind::output,
                fmt::format("can't open {}: {}", path, errno_text(errno)), "check that it is open and its permissions");
  const int stopper = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (stopper < 0) {
    const int cause = errno;
    if (descriptor >= 0) close(descriptor);
    throw error(error_kind::resources, fmt::format("can't open {}: {}", path, errno_text(cause)),
                "raise the limit of open files (ulimit -n)");
  }
  return std::unique_ptr<descriptor_stream>(new descriptor_stream(path, descriptor, stopper));
}

descriptor_stream::descriptor_stream(std::string path, int descriptor, int stopper)
    : path_(std::move(path)), descriptor_(descriptor), stopper_(stopper) {}

descriptor_stream::~descriptor_stream() {
  if (descriptor_ >= 0) close(descriptor_);
  close(stopper_);
}

void descriptor_stream::stop() noexcept {
  const uint64_t one = 1;
  while (::write(stopper_, &one, sizeof one) < 0 && errno == EINTR) {
  }
}

int descriptor_stream::wait_for(short events) const {
  for (;;) {
    pollfd waited[] = {{descriptor_, events, 0}, {stopper_, POLLIN, 0}};
    if (poll(waited, 2, -1) < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    if (waited[1].revents != 0) return ECANCELED;
    if (waited[0].revents != 0) return 0;
  }
}

// No event tells that a reader has come.
int descriptor_stream::wait_for_reader() {
  constexpr int milliseconds = 20;
  for (;;) {
    descriptor_ = open_fifo_to_write(path_);
    if (descriptor_ >= 0) return 0;
    if (errno != ENXIO && errno != EINTR) return errno;
    pollfd stopped = {stopper_, POLLIN, 0};
    if (poll(&stopped, 1, milliseconds) > 0) return ECANCELED;
  }
}

bool descriptor_stream::is_tried_again(int cause, unsigned& num_retries) {
  return (cause == EINTR || cause == EAGAIN) && ++num_retries < transfer_progress::max_retries;
}

int64_t descriptor_stream::read(std::byte* data, size_t num_bytes) {
  size_t filled = 0;
  unsigned num_retries = 0;
  while (filled < num_bytes) {
    if (const int failure = wait_for(POLLIN)) return -failure;
    const ssize_t got = ::read(descriptor_, data + filled, std::min(num_bytes - filled, largest_transfer));
    if (got == 0) break;
    if (got > 0) {
      filled += static_cast<size_t>(got);
      num_retries = 0;
    } else if (!is_tried_again(errno, num_retries)) {
      return -errno;
    }
  }
  num_read_ += filled;
  return static_cast<int64_t>(filled);
}

int64_t descriptor_stream::write(const std::byte* data, size_t num_bytes) {
  if (descriptor_ < 0)
    if (const int failure = wait_for_reader()) return -failure;
  // A blocking pipe that is ready takes PIPE_BUF bytes for sure; a larger write could keep us past stop().
  constexpr size_t sure_bytes = 4096;
  struct stat info {};
  const bool known = fstat(descriptor_, &info) == 0;
  const bool is_pipe = known && (is_fifo(info) || S_ISSOCK(info.st_mode) || isatty(descriptor_) == 1);
  const bool blocking = (fcntl(descriptor_, F_GETFL) & O_NONBLOCK) == 0;
  unsigned num_retries = 0;
  for (size_t written = 0; written < num_bytes;) {
    if (const int failure = wait_for(POLLOUT)) return -failure;
    const size_t limit = is_pipe && blocking ? sure_bytes : largest_transfer;
    const ssize_t put = ::write(descriptor_, data + written, std::min(num_bytes - written, limit));
    if (put == 0) return -EIO;
    if (put > 0) {
      written += static_cast<size_t>(put);
      num_retries = 0;
    } else if (!is_tried_again(errno, num_retries)) {
      return -errno;
    }
  }
  return static_cast<int64_t>(num_bytes);
}

}  // namespace flowrun::io
