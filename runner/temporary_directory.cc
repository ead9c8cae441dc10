#include "runner/temporary_directory.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "engine/base/error.h"
#include "engine/io/directory_lock.h"

namespace flowrun::runner {

namespace {

constexpr std::string_view name_start = "flowrun-tests.";

std::string place() {
  const char* below = std::getenv("TMPDIR");
  return below != nullptr && *below == '/' ? below : "/tmp";
}

void remove(const std::string& path) {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

}  // namespace

temporary_directory::temporary_directory() {
  // Until it is locked, a directory looks abandoned. One that another process took for that is left to it. Where there
  // are no locks, none is taken for abandoned either.
  for (int attempt = 0; attempt < 100; ++attempt) {
    path_ = fmt::format("{}/{}XXXXXX", place(), name_start);
    if (::mkdtemp(path_.data()) == nullptr) break;
    lock_ = io::open_directory(path_);
    if (lock_ < 0) continue;
    if ((io::lock_directory(lock_) || errno != EWOULDBLOCK) && io::has_its_name(lock_, path_)) return;
    ::close(lock_);
  }
  throw error(error_kind::output, "can't make the directory " + path_ + ": " + errno_text(errno),
              "set TMPDIR to a directory that is writable");
}

temporary_directory::~temporary_directory() {
  remove(path_);
  ::close(lock_);
}

void remove_abandoned_directories() {
  std::error_code problem;
  for (std::filesystem::directory_iterator at(place(), problem), end; !problem && at != end; at.increment(problem)) {
    if (!io::is_drawn_name(at->path().filename().string(), name_start)) continue;
    const std::string path = at->path().string();
    const int descriptor = io::open_directory(path);
    if (descriptor < 0) continue;
    if (io::is_own_directory(descriptor) && io::lock_directory(descriptor) && io::has_its_name(descriptor, path))
      remove(path);
    ::close(descriptor);
  }
}

}  // namespace flowrun::runner
