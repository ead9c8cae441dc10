// Scratch directories; see scratch_directory.h.
#include "engine/block/scratch_directory.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "engine/base/error.h"

namespace flowrun::block {

namespace {

constexpr const char* hint = "name a directory of yours on a disk with room as scratch (-T DIR, or resources: scratch)";

[[noreturn]] void refuse(const std::string& path, const std::string& cause) {
  throw error(error_kind::resources, fmt::format("can't use the scratch directory {}: {}", path, cause), hint);
}

}  // namespace

void prepare_scratch_directory(const std::string& path) {
  if (path.empty()) refuse("''", "the path is empty");
  std::string trimmed = path;
  while (trimmed.size() > 1 && trimmed.back() == '/') trimmed.pop_back();  // lstat would follow "link/"

  // Make each component that is missing.
  for (size_t end = trimmed.find('/', 1);; end = trimmed.find('/', end + 1)) {
    const std::string prefix = trimmed.substr(0, end);
    if (mkdir(prefix.c_str(), 0700) != 0) {
      const int cause = errno;
      struct stat made {};
      if (stat(prefix.c_str(), &made) != 0) {
        if (lstat(prefix.c_str(), &made) == 0 && S_ISLNK(made.st_mode))
          refuse(path, fmt::format("{} is a symbolic link that leads nowhere", prefix));
        refuse(path, fmt::format("can't make {}: {}", prefix, errno_text(cause)));
      }
      if (!S_ISDIR(made.st_mode)) refuse(path, fmt::format("{} is not a directory", prefix));
    }
    if (end == std::string::npos) break;
  }

  struct stat found {};
  if (lstat(trimmed.c_str(), &found) != 0) refuse(path, errno_text(errno));
  if (S_ISLNK(found.st_mode) && found.st_uid != geteuid() && found.st_uid != 0) {
    refuse(path, fmt::format("it is a symbolic link that belongs to another user (id {})", found.st_uid));
  }
  if (access(trimmed.c_str(), W_OK | X_OK) != 0) refuse(path, errno_text(errno));
}

}  // namespace flowrun::block
