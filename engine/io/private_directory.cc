#include "engine/io/private_directory.h"

#include <sys/stat.h>

#include <cerrno>

namespace flowrun::io {

int make_private_directory(const std::string& path) {
  if (mkdir(path.c_str(), S_IRWXU) != 0) return errno;
  struct stat made {};
  if (lstat(path.c_str(), &made) == 0 && S_ISDIR(made.st_mode) && (made.st_mode & S_IRWXU) != S_IRWXU)
    static_cast<void>(chmod(path.c_str(), S_IRWXU));
  return 0;
}

}  // namespace flowrun::io
