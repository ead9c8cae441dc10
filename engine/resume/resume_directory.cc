#include "engine/resume/resume_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "engine/base/error.h"
#include "engine/block/scratch_directory.h"
#include "engine/io/directory_lock.h"
#include "engine/resume/manifest.h"

namespace flowrun::resume {

namespace {

constexpr std::string_view name_start = "flowrun-resume-";
constexpr size_t key_digits = 16;
constexpr std::array names = {"blocks", "manifest", "owner"};

// Another process looks at a directory for a moment, or has been killed and is not gone yet.
constexpr unsigned attempts_to_lock = 80;
constexpr std::chrono::milliseconds pause{25};

bool is_name(std::string_view name) {
  return name.size() == name_start.size() + key_digits && name.starts_with(name_start) &&
         name.find_first_not_of("0123456789abcdef", name_start.size()) == std::string_view::npos;
}

// 0, or the errno of what is in the way. Only what a job makes.
int remove_all(const std::string& path) {
  for (const char* const name : names)
    if (::unlink((path + "/" + name).c_str()) != 0 && errno != ENOENT) return errno;
  return ::rmdir(path.c_str()) == 0 || errno == ENOENT ? 0 : errno;
}

std::string name_of(const std::string& scratch, uint64_t key) {
  return fmt::format("{}/{}{:016x}", scratch, name_start, key);
}

bool lock_soon(int descriptor) {
  for (unsigned attempt = 0; attempt < attempts_to_lock; ++attempt) {
    if (io::lock_directory(descriptor)) return true;
    if (errno != EWOULDBLOCK) return false;
    std::this_thread::sleep_for(pause);
  }
  errno = EWOULDBLOCK;
  return false;
}
[[noreturn]] void refuse(const std::string& path, const std::string& cause, const char* hint) {
  throw error(error_kind::resources, fmt::format("can't use {}: {}", path, cause), hint);
}

// What lies on the disk in it, and when that was changed last.
void look_into(found_directory& to) {
  std::error_code ignored;
  struct stat itself {};
  if (::lstat(to.path.c_str(), &itself) == 0) to.changed_s = itself.st_mtim.tv_sec;
  for (const auto& entry : std::filesystem::directory_iterator(to.path, ignored)) {
    struct stat found {};
    if (::lstat(entry.path().c_str(), &found) != 0) continue;
    to.num_bytes += static_cast<uint64_t>(found.st_blocks) * 512;
    to.changed_s = std::max<int64_t>(to.changed_s, found.st_mtim.tv_sec);
    const std::string name = entry.path().filename();
    if (name == "manifest" && S_ISREG(found.st_mode)) to.manifest = entry.path();
    if (std::find(names.begin(), names.end(), name) == names.end()) to.has_other_files = true;
  }
  if (!to.manifest.empty()) to.outputs = outputs_of(to.manifest);
  for (const std::string& output : to.outputs)
    if (struct stat found{}; ::lstat(output.c_str(), &found) == 0)
      to.num_bytes += static_cast<uint64_t>(found.st_blocks) * 512;
}

}  // namespace

resume_directory::resume_directory(const std::string& scratch, uint64_t key) : path_(name_of(scratch, key)) {
  block::prepare_scratch_directory(scratch);
  for (int attempt = 0; attempt < 100; ++attempt) {
    if (::mkdir(path_.c_str(), 0700) != 0 && errno != EEXIST) break;
    lock_ = io::open_directory(path_);
    if (lock_ < 0) refuse(path_, errno_text(errno), "remove what is there, or name another scratch directory (-T DIR)");
    if (!io::is_own_directory(lock_))
      refuse(path_, "it belongs to another user", "name another scratch directory (-T DIR)");
    if (!lock_soon(lock_)) {
      const int cause = errno;
      ::close(std::exchange(lock_, -1));
      refuse(path_, cause == EWOULDBLOCK ? "another run of this job works there now" : errno_text(cause),
             "wait until it has ended, or run without --resume");
    }
    if (io::has_its_name(lock_, path_)) {
      ::fchmod(lock_, 0700);
      return;
    }
    ::close(std::exchange(lock_, -1));
  }
  refuse(path_, errno_text(errno), "name a directory of yours on a disk with room as scratch (-T DIR)");
}

resume_directory::resume_directory(resume_directory&& other) noexcept
    : path_(std::move(other.path_)), lock_(std::exchange(other.lock_, -1)) {}

resume_directory::~resume_directory() {
  if (lock_ >= 0) ::close(lock_);
}

namespace {

// A file, and nothing that others make of it: a FIFO would have us wait.
uint64_t number_in(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return 0;
  std::array<char, 16> digits{};
  const ssize_t count = ::read(descriptor, digits.data(), digits.size());
  ::close(descriptor);
  uint64_t number = 0;
  if (count > 0) std::from_chars(digits.data(), digits.data() + count, number, 16);
  return number;
}

}  // namespace

void resume_directory::begin(uint64_t owner) {
  for (const std::string& path : {blocks(), path_ + "/owner"})
    if (::unlink(path.c_str()) != 0 && errno != ENOENT)
      refuse(path, errno_text(errno), "remove it, or name another scratch directory (-T DIR)");
  std::ofstream file(path_ + "/owner");
  file << fmt::format("{:x}\n", owner);
  file.close();
  if (!file) refuse(path_, "can't write a file in it", "is the disk full?");
}

void resume_directory::remove() noexcept { remove_all(path_); }

std::string manifest_in(const std::string& scratch, uint64_t key) { return name_of(scratch, key) + "/manifest"; }

std::string blocks_in(const std::string& scratch, uint64_t key) { return name_of(scratch, key) + "/blocks"; }

uint64_t owner_in(const std::string& scratch, uint64_t key) { return number_in(name_of(scratch, key) + "/owner"); }

bool is_at_work(const std::string& scratch, uint64_t key) {
  const int descriptor = io::open_directory(name_of(scratch, key));
  if (descriptor < 0) return false;
  const bool out = io::is_own_directory(descriptor) && !io::lock_directory(descriptor);
  ::close(descriptor);
  return out;
}

void remove_blocks_of(uint64_t owner, const std::string& scratch, uint64_t key) {
  const std::string path = name_of(scratch, key);
  const int descriptor = io::open_directory(path);
  if (descriptor < 0) return;
  if (io::is_own_directory(descriptor) && io::lock_directory(descriptor) && io::has_its_name(descriptor, path) &&
      owner_in(scratch, key) == owner)
    remove_all(path);
  ::close(descriptor);
}

std::vector<found_directory> find_resume_directories(const std::string& scratch) {
  std::vector<found_directory> out;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(scratch, ignored)) {
    if (!is_name(entry.path().filename().string())) continue;
    found_directory found;
    found.path = entry.path();
    const int descriptor = io::open_directory(found.path);
    if (descriptor < 0) continue;
    if (io::is_own_directory(descriptor)) {
      found.is_at_work = !io::lock_directory(descriptor);
      look_into(found);
      out.push_back(std::move(found));
    }
    ::close(descriptor);
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return out;
}

bool remove_if_dead(const found_directory& found, std::string& cause) {
  const int descriptor = io::open_directory(found.path);
  if (descriptor < 0) return cause = errno_text(errno), false;
  const bool is_dead = io::lock_directory(descriptor) && io::has_its_name(descriptor, found.path);
  if (is_dead && !found.manifest.empty())  // which may tell of more by now
    for (const std::string& output : outputs_of(found.manifest)) ::unlink(output.c_str());
  if (is_dead)
    if (const int problem = remove_all(found.path); problem != 0) cause = errno_text(problem);
  ::close(descriptor);
  return is_dead && cause.empty();
}

}  // namespace flowrun::resume
