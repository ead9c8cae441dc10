#include "plugin/file_trust.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "engine/base/error.h"

namespace flowrun::plugins {

namespace {

std::string distrust(const std::string& path, const char* what) {
  struct stat found;
  if (::stat(path.c_str(), &found) != 0) return fmt::format("{} can't be looked at: {}", path, errno_text(errno));
  if (found.st_uid != 0 && found.st_uid != ::geteuid())
    return fmt::format("the {} {} belongs to another user ({}): install the plugin as yourself, or as root", what, path,
                       found.st_uid);
  if ((found.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return fmt::format("others may write the {0} {1} (mode {2:04o}): chmod go-w {1}", what, path,
                       found.st_mode & 07777);
  return {};
}

}  // namespace

std::string distrust_of(const std::string& path) {
  std::string out = distrust(path, "file");
  if (!out.empty()) return out;
  const std::filesystem::path directory = std::filesystem::path(path).parent_path();
  return directory.empty() ? out : distrust(directory.string(), "directory");
}

}  // namespace flowrun::plugins
