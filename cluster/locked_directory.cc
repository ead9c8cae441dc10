#include "cluster/locked_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace flowrun::cluster {

int locked_directory(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (descriptor < 0) return -1;
  if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) return descriptor;
  ::close(descriptor);
  return -1;
}

}  // namespace flowrun::cluster
