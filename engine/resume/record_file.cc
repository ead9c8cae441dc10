#include "engine/resume/record_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "engine/base/error.h"
#include "engine/base/units.h"

namespace flowrun::resume {

namespace {

struct record_header {
  uint64_t checksum = 0;  // of the length and the record
  uint64_t num_bytes = 0;
};

constexpr uint64_t longest_record = 1 * GiB;

uint64_t checksum_of(std::string_view record) {
  return XXH3_64bits_withSeed(record.data(), record.size(), record.size());
}

// False, with errno: it can't be read.
bool read_bytes(int descriptor, std::string& all) {
  struct stat found {};
  if (::fstat(descriptor, &found) != 0) return false;
  all.resize(static_cast<size_t>(found.st_size));
  for (size_t at = 0; at < all.size();) {
    const ssize_t n = ::pread(descriptor, all.data() + at, all.size() - at, static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    if (n == 0) all.resize(at);
    at += static_cast<size_t>(n);
  }
  return true;
}

// The whole records; returns where they end.
size_t split(const std::string& all, std::vector<std::string>& out) {
  size_t at = 0;
  while (all.size() - at >= sizeof(record_header)) {
    record_header header;
    std::memcpy(&header, all.data() + at, sizeof header);
    const size_t begin = at + sizeof header;
    if (header.num_bytes > longest_record || header.num_bytes > all.size() - begin) break;
    const std::string_view record = std::string_view(all).substr(begin, header.num_bytes);
    if (checksum_of(record) != header.checksum) break;
    out.emplace_back(record);
    at = begin + header.num_bytes;
  }
  return at;
}

}  // namespace

std::vector<std::string> records_of(const std::string& path) {
  std::vector<std::string> out;
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return out;
  std::string all;
  if (read_bytes(descriptor, all)) split(all, out);
  ::close(descriptor);
  return out;
}

record_file::record_file(std::string path) : path_(std::move(path)) {
  descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (descriptor_ < 0)
    throw error(error_kind::resources, fmt::format("can't open {}: {}", path_, errno_text(errno)),
                "name a directory of yours on a disk with room as scratch (-T DIR, or resources: scratch)");
}

record_file::~record_file() { ::close(descriptor_); }

void record_file::fail(const char* what) const {
  const int cause = errno;
  throw error(cause == ENOSPC || cause == EDQUOT ? error_kind::resources : error_kind::io,
              fmt::format("can't {} {}: {}", what, path_, errno_text(cause)));
}

std::vector<std::string> record_file::read() {
  std::string all;
  if (!read_bytes(descriptor_, all)) fail("read");
  std::vector<std::string> out;
  const size_t end = split(all, out);
  if (end < all.size() && ::ftruncate(descriptor_, static_cast<off_t>(end)) != 0) fail("cut");
  return out;
}

void record_file::append(std::string_view record) {
  const record_header header{checksum_of(record), record.size()};
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  bytes += record;
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t n = ::write(descriptor_, bytes.data() + at, bytes.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("write");
    at += static_cast<size_t>(n);
  }
  if (::fdatasync(descriptor_) != 0) fail("sync");
}

void record_file::clear() {
  if (::ftruncate(descriptor_, 0) != 0) fail("empty");
}

}  // namespace flowrun::resume
