// Scratch directories; see scratch_directory.h.
#include "engine/block/scratch_directory.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>

#include "engine/base/error.h"

namespace flowrun::block {

namespace {

constexpr const char* hint = "name a directory of yours on a disk with room as scratch (-T DIR, or resources: scratch)";

[[noreturn]] void refuse(const std::string& path, const std::string& cause) {
  throw error(error_kind::resources, fmt::format("can't use the scratch directory {}: {}", path, cause), hint);
}

bool is_ours(const struct stat& entry) { return entry.st_uid == geteuid() || entry.st_uid == 0; }

// Refuses what another user may have put in the way. `path` exists.
void refuse_planted(const std::string& asked, const std::string& path) {
  bool open_to_all = false;  // the directory that holds the entry
  struct stat above {};
  if (path.front() != '/' && stat(".", &above) == 0) open_to_all = (above.st_mode & S_IWOTH) != 0;
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string prefix = path.substr(0, end);
    struct stat entry {};
    struct stat directory {};
    if (lstat(prefix.c_str(), &entry) != 0 || stat(prefix.c_str(), &directory) != 0) refuse(asked, errno_text(errno));
    if (open_to_all && !is_ours(entry))
      refuse(asked, fmt::format("{} is a {} of another user (id {}) in a directory that everybody may write to", prefix,
                                S_ISLNK(entry.st_mode) ? "symbolic link" : "directory", entry.st_uid));
    open_to_all = (directory.st_mode & S_IWOTH) != 0;
    if (end == std::string::npos) return;
  }
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
  refuse_planted(path, trimmed);
  const std::unique_ptr<char, void (*)(void*)> real(realpath(trimmed.c_str(), nullptr), std::free);
  if (!real) refuse(path, errno_text(errno));
  refuse_planted(path, real.get());
  if (access(trimmed.c_str(), W_OK | X_OK) != 0) refuse(path, errno_text(errno));
}

}  // namespace flowrun::block
