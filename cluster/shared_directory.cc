#include "cluster/shared_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>

#include "cluster/damaged_file.h"
#include "engine/base/error.h"

namespace flowrun::cluster {

namespace {

[[noreturn]] void refuse(const std::string& path, int cause) {
  throw error(error_kind::output, fmt::format("can't write {}: {}", path, errno_text(cause)),
              "the directory that the tasks share must be writable, and have room");
}

// Of the bytes, and of the name of the file that they are for: one that has another's bytes is damaged, too.
uint64_t checksum_of(const std::string& path, std::string_view bytes) {
  const std::string name = std::filesystem::path(path).filename().string();
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), XXH3_64bits(name.data(), name.size()));
}

// As a file has it: the checksum, and behind it the message.
std::string content_for(const std::string& path, const google::protobuf::MessageLite& message) {
  std::string out(sizeof(uint64_t), '\0');
  message.AppendToString(&out);
  const uint64_t checksum = checksum_of(path, std::string_view(out).substr(sizeof checksum));
  std::memcpy(out.data(), &checksum, sizeof checksum);
  return out;
}

// 0, or why not all is written.
int write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(descriptor, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return errno;
    bytes.remove_prefix(static_cast<size_t>(done));
  }
  return 0;
}

// What `message` is, in a file beside `path` that has no other use; its name.
std::string write_beside(const std::string& path, const google::protobuf::MessageLite& message) {
  std::string name = path + ".XXXXXX";
  const int descriptor = ::mkostemp(name.data(), O_CLOEXEC);
  if (descriptor < 0) refuse(path, errno);
  int cause = write_all(descriptor, content_for(path, message));
  if (cause == 0 && ::fsync(descriptor) != 0) cause = errno;
  if (::close(descriptor) != 0 && cause == 0) cause = errno;
  if (cause != 0) {
    ::unlink(name.c_str());
    refuse(path, cause);
  }
  return name;
}

}  // namespace

std::string shared_directory::stage(size_t stage) const { return fmt::format("{}/stage-{}", path_, stage); }
std::string shared_directory::given(size_t file) const { return fmt::format("{}/given-{}", path_, file); }
std::string shared_directory::done(size_t stage, size_t task) const {
  return fmt::format("{}/done-{}-{}", path_, stage, task);
}
std::string shared_directory::failed(size_t stage, size_t task) const {
  return fmt::format("{}/failed-{}-{}", path_, stage, task);
}

std::string shared_directory::said(size_t stage, size_t task) const {
  return fmt::format("{}/said-{}-{}", path_, stage, task);
}
std::string shared_directory::alive(size_t stage, size_t task, int process) const {
  return fmt::format("{}/alive-{}-{}-{}", path_, stage, task, process);
}

std::vector<std::pair<size_t, std::string>> shared_directory::all_alive(size_t stage) const {
  std::vector<std::pair<size_t, std::string>> out;
  const std::string prefix = fmt::format("alive-{}-", stage);
  std::error_code problem;
  for (std::filesystem::directory_iterator at(path_, problem), end; !problem && at != end; at.increment(problem)) {
    const std::string name = at->path().filename().string();
    if (!name.starts_with(prefix)) continue;
    size_t task = 0;
    const char* const last = name.data() + name.size();
    const auto [behind, status] = std::from_chars(name.data() + prefix.size(), last, task);
    const bool is_process =
        behind != last && *behind == '-' && std::all_of(behind + 1, last, [](char c) { return c >= '0' && c <= '9'; });
    if (status == std::errc() && is_process) out.emplace_back(task, at->path().string());
  }
  return out;
}

void shared_directory::tidy(size_t stage) const {
  const std::string said = fmt::format("said-{}-", stage), alive = fmt::format("alive-{}-", stage),
                    attempt = fmt::format("{}-", stage);
  std::error_code problem;
  for (std::filesystem::directory_iterator at(path_, problem), end; !problem && at != end; at.increment(problem)) {
    const std::string name = at->path().filename().string();
    if (name.starts_with(said) || name.starts_with(alive))
      ::unlink(at->path().c_str());
    else if (name.starts_with(attempt))
      ::rmdir(at->path().c_str());  // where it is empty
  }
}

std::string shared_directory::make_attempt(size_t stage, size_t task) const {
  std::string out = fmt::format("{}/{}-{}-XXXXXX", path_, stage, task);
  if (::mkdtemp(out.data()) == nullptr) refuse(out, errno);
  return out;
}

void write_unsynced_message(const std::string& path, const google::protobuf::MessageLite& message) {
  const std::string name = path + ".new";
  std::ofstream out(name, std::ios::binary);
  out << content_for(path, message);
  out.close();
  if (!out || ::rename(name.c_str(), path.c_str()) != 0) refuse(path, errno);
}

void write_message(const std::string& path, const google::protobuf::MessageLite& message) {
  const std::string name = write_beside(path, message);
  if (::rename(name.c_str(), path.c_str()) == 0) return;
  const int cause = errno;
  ::unlink(name.c_str());
  refuse(path, cause);
}

bool write_first_message(const std::string& path, const google::protobuf::MessageLite& message) {
  const std::string name = write_beside(path, message);
  const int cause = ::link(name.c_str(), path.c_str()) == 0 ? 0 : errno;
  ::unlink(name.c_str());
  if (cause != 0 && cause != EEXIST) refuse(path, cause);
  return cause == 0;
}

bool read_message(const std::string& path, google::protobuf::MessageLite& message) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return false;
  const std::string bytes(std::istreambuf_iterator<char>(in), {});
  uint64_t checksum = 0;
  const bool has_checksum = !in.bad() && bytes.size() >= sizeof checksum;
  if (has_checksum) std::memcpy(&checksum, bytes.data(), sizeof checksum);
  const std::string_view content = std::string_view(bytes).substr(has_checksum ? sizeof checksum : 0);
  if (!has_checksum || checksum != checksum_of(path, content) ||
      !message.ParseFromArray(content.data(), static_cast<int>(content.size())))
    throw damaged_file(path + " is damaged");
  return true;
}

}  // namespace flowrun::cluster
