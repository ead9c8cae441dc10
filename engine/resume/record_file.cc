#include "engine/resume/record_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>

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

// The record whose header lies at the front. nullopt: none that is whole. What was hashed for it is taken from
// `budget`.
std::optional<std::string_view> record_at(std::string_view bytes, uint64_t& budget) {
  record_header header;
  if (bytes.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof header);
  bytes.remove_prefix(sizeof header);
  if (header.num_bytes > longest_record || header.num_bytes > bytes.size() || header.num_bytes > budget)
    return std::nullopt;
  budget -= header.num_bytes;
  const std::string_view record = bytes.substr(0, header.num_bytes);
  return checksum_of(record) == header.checksum ? std::optional(record) : std::nullopt;
}

found_records split(std::string_view all) {
  found_records out;
  uint64_t budget = all.size();
  while (const std::optional<std::string_view> record = record_at(all, budget)) {
    out.whole.emplace_back(*record);
    all.remove_prefix(sizeof(record_header) + record->size());
  }
  out.cut_bytes = all.size();
  // Wherever it begins: the length of the one that is not whole may be wrong. The budget is for content that looks like
  // lengths nearly everywhere.
  budget = 16 * all.size();
  for (size_t at = 1; at + sizeof(record_header) < all.size() && !out.are_damaged; ++at)
    out.are_damaged = record_at(all.substr(at), budget).has_value();
  return out;
}

}  // namespace

found_records records_of(const std::string& path) {
  found_records out;
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return out;
  std::string all;
  if (read_bytes(descriptor, all)) out = split(all);
  ::close(descriptor);
  return out;
}

record_file::record_file(std::string path) : path_(std::move(path)) {
  descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
  struct stat found {};
  if (descriptor_ < 0 ? errno == ELOOP || errno == EISDIR
                      : ::fstat(descriptor_, &found) == 0 && !S_ISREG(found.st_mode)) {
    if (descriptor_ >= 0) ::close(descriptor_);
    throw error(error_kind::resources, fmt::format("{} is no file of a job with --resume", path_), "remove it");
  }
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

found_records record_file::read() {
  std::string all;
  if (!read_bytes(descriptor_, all)) fail("read");
  found_records out = split(all);
  if (out.cut_bytes > 0 && ::ftruncate(descriptor_, static_cast<off_t>(all.size() - out.cut_bytes)) != 0) fail("cut");
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
