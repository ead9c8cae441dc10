#include "engine/io/directory_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace flowrun::io {

int open_directory(const std::string& path) {
  return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

bool lock_directory(int descriptor) { return ::flock(descriptor, LOCK_EX | LOCK_NB) == 0; }

bool is_own_directory(int descriptor) {
  struct stat found {};
  return ::fstat(descriptor, &found) == 0 && found.st_uid == ::geteuid();
}

bool has_its_name(int descriptor, const std::string& path) {
  struct stat held {
  }, there{};
  return ::fstat(descriptor, &held) == 0 && ::lstat(path.c_str(), &there) == 0 && held.st_ino == there.st_ino &&
         held.st_dev == there.st_dev;
}

bool is_drawn_name(std::string_view name, std::string_view prefix) {
  constexpr size_t drawn = 6;
  constexpr const char* letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  return name.starts_with(prefix) && name.size() == prefix.size() + drawn &&
         name.find_first_not_of(letters, prefix.size()) == std::string_view::npos;
}

}  // namespace flowrun::io
