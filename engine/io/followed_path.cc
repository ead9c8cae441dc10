#include "engine/io/followed_path.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "engine/base/error.h"
#include "engine/io/descriptor_stream.h"

namespace flowrun::io {

namespace {

constexpr int most_links = 40;  // as the system

}  // namespace

bool may_follow(uid_t user, uid_t link_owner, uid_t directory_owner, mode_t directory_mode) {
  const bool shared = (directory_mode & S_ISVTX) != 0 && (directory_mode & S_IWOTH) != 0;
  return !shared || link_owner == user || link_owner == directory_owner;
}

followed_path follow_links(const std::string& path) {
  followed_path out{path, {}};
  for (int i = 0; i < most_links; ++i) {
    if (names_descriptor(out.path)) return out;
    struct stat link {};
    if (lstat(out.path.c_str(), &link) != 0 || !S_ISLNK(link.st_mode)) return out;
    std::error_code problem;
    const std::filesystem::path target = std::filesystem::read_symlink(out.path, problem);
    if (problem) return out;
    const std::filesystem::path parent = std::filesystem::path(out.path).parent_path();
    struct stat directory {};
    const bool known = stat(parent.empty() ? "." : parent.c_str(), &directory) == 0;
    if (out.refused_link.empty() && known && !may_follow(geteuid(), link.st_uid, directory.st_uid, directory.st_mode))
      out.refused_link = out.path;
    out.path = (parent / target).string();  // an absolute target replaces the parent
  }
  return {path, {}};  // a circle: opening it tells
}

std::string followed_output(const std::string& path) {
  followed_path followed = follow_links(path);
  if (!followed.refused_link.empty())
    throw error(
        error_kind::output,
        fmt::format("can't write {}: the link {} belongs to another user and lies in a directory that everybody "
                    "may write to",
                    path, followed.refused_link),
        fmt::format("if {} is meant, name that file", followed.path));
  refuse_planted(followed.path);
  return followed.path;
}

void refuse_planted(const std::string& path) {
  if (names_descriptor(path)) return;
  struct stat found {};
  if (lstat(path.c_str(), &found) != 0 || (!S_ISREG(found.st_mode) && !S_ISFIFO(found.st_mode))) return;
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  struct stat directory {};
  if (stat(parent.empty() ? "." : parent.c_str(), &directory) != 0) return;
  if (may_follow(geteuid(), found.st_uid, directory.st_uid, directory.st_mode)) return;
  throw error(error_kind::output,
              fmt::format("can't write {}: a {} of another user (id {}) has that name, in a directory that everybody "
                          "may write to",
                          path, S_ISFIFO(found.st_mode) ? "pipe" : "file", found.st_uid),
              "write to a directory of your own, or have it removed first");
}

}  // namespace flowrun::io
