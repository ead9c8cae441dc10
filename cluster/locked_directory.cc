#include "cluster/locked_directory.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <thread>

#include "engine/base/error.h"
#include "engine/io/directory_lock.h"

namespace flowrun::cluster {

int locked_directory(const std::string& path) {
  const int descriptor = io::open_directory(path);
  if (descriptor < 0) return -1;
  int cause = EPERM;
  if (io::is_own_directory(descriptor)) {
    cause = io::lock_directory(descriptor) ? 0 : errno;
    // Another process may have removed it in between, and a third one made another of that name.
    if (cause == 0 && !io::has_its_name(descriptor, path)) cause = ENOENT;
  }
  if (cause == 0) return descriptor;
  ::close(descriptor);
  errno = cause;
  return -1;
}

int made_and_locked_directory(const std::string& path, unsigned mode) {
  constexpr auto most = std::chrono::seconds(2);
  constexpr auto between = std::chrono::milliseconds(10);
  for (const auto start = std::chrono::steady_clock::now();; std::this_thread::sleep_for(between)) {
    if (::mkdir(path.c_str(), mode) != 0 && errno != EEXIST) return -2;
    const int lock = locked_directory(path);
    if (lock >= 0) return lock;
    const bool may_be_for_a_moment = errno == EWOULDBLOCK || errno == ENOENT;
    if (!may_be_for_a_moment || std::chrono::steady_clock::now() - start > most) return -1;
  }
}

void refuse_unlocked(const std::string& path, const std::string& hint, const std::string& needs_locks) {
  if (errno == EPERM)
    throw error(error_kind::output, fmt::format("can't use {}: it belongs to another user", path), hint);
  throw error(error_kind::output, fmt::format("can't lock {}: {}", path, errno_text(errno)),
              fmt::format("{} must be on storage that has locks of directories (flock)", needs_locks));
}

bool remove_directory(const std::string& path) {
  constexpr auto most = std::chrono::seconds(10);
  constexpr auto between = std::chrono::milliseconds(50);
  for (const auto start = std::chrono::steady_clock::now();; std::this_thread::sleep_for(between)) {
    std::error_code problem;
    std::filesystem::remove_all(path, problem);
    if (!problem) return true;
    const bool is_written_into =
        problem == std::errc::directory_not_empty || problem == std::errc::no_such_file_or_directory;
    if (!is_written_into || std::chrono::steady_clock::now() - start > most) return false;
  }
}

}  // namespace flowrun::cluster
