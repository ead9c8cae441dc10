#include "engine/resume/input_contents.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/units.h"

namespace flowrun::resume {

namespace {

constexpr uint64_t num_samples = 64, end_bytes = 64 * KiB, sample_bytes = 4 * KiB;

class open_input {
 public:
  explicit open_input(const std::string& path)
      : path_(path), descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (descriptor_ < 0)
      throw error(error_kind::missing_input, fmt::format("can't open {}: {}", path, errno_text(errno)),
                  "check the path; relative paths start at the working directory");
  }
  ~open_input() { ::close(descriptor_); }
  open_input(const open_input&) = delete;
  open_input& operator=(const open_input&) = delete;

  int descriptor() const { return descriptor_; }
  void add(uint64_t offset, uint64_t num_bytes, uint64_t& hash) {
    buffer_.resize(num_bytes);
    size_t done = 0;
    while (done < num_bytes) {
      const ssize_t n =
          ::pread(descriptor_, buffer_.data() + done, num_bytes - done, static_cast<off_t>(offset + done));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) throw error(error_kind::io, fmt::format("can't read {}: {}", path_, errno_text(errno)));
      if (n == 0) break;
      done += static_cast<size_t>(n);
    }
    hash = XXH3_64bits_withSeed(buffer_.data(), done, hash);
  }

 private:
  const std::string& path_;
  const int descriptor_;
  std::vector<char> buffer_;
};

}  // namespace

input_contents look_at_input(const std::string& path) {
  open_input file(path);
  struct stat found {};
  if (::fstat(file.descriptor(), &found) != 0)
    throw error(error_kind::io, fmt::format("can't look at {}: {}", path, errno_text(errno)));
  input_contents out;
  out.path = path;
  if (!S_ISREG(found.st_mode))
    throw error(error_kind::usage, fmt::format("--resume: {} is no regular file, and can't be read again", path),
                "copy it into a file first, or leave out --resume");
  out.num_bytes = static_cast<uint64_t>(found.st_size);
  out.modified_ns = found.st_mtim.tv_sec * 1'000'000'000 + found.st_mtim.tv_nsec;
  out.changed_ns = found.st_ctim.tv_sec * 1'000'000'000 + found.st_ctim.tv_nsec;
  out.inode = found.st_ino;
  if (out.num_bytes <= 2 * end_bytes) {
    file.add(0, out.num_bytes, out.content);
    return out;
  }
  file.add(0, end_bytes, out.content);
  const uint64_t step = (out.num_bytes - 2 * end_bytes) / num_samples;
  for (uint64_t i = 1; i + 1 < num_samples; ++i) file.add(end_bytes + i * step, sample_bytes, out.content);
  file.add(out.num_bytes - end_bytes, end_bytes, out.content);
  return out;
}

}  // namespace flowrun::resume
