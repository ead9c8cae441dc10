#include "cluster/locked_directory.h"

#include <fmt/format.h>
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
  const bool is_own = io::is_own_directory(descriptor);
  if (is_own && io::lock_directory(descriptor)) return descriptor;
  const int cause = is_own ? errno : EPERM;
  ::close(descriptor);
  errno = cause;
  return -1;
}

void refuse_unlocked(const std::string& path, const std::string& hint, const std::string& needs_locks) {
  if (errno == EPERM)
    throw error(error_kind::output, fmt::format("can't use {}: it belongs to another user", path), hint);
  throw error(error_kind::output, fmt::format("can't lock {}: {}", path, errno_text(errno)),
              fmt::format("{} must be on storage that has locks (flock; NFS has them from version 4 on)", needs_locks));
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
