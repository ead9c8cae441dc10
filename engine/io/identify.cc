#include "engine/io/identify.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <system_error>

#include "engine/io/descriptor_stream.h"
#include "engine/io/followed_path.h"

namespace flowrun::io {

namespace {

namespace fs = std::filesystem;

std::string number_of(const struct stat& info) {
  return fmt::format("{}:{}", static_cast<uint64_t>(info.st_dev), static_cast<uint64_t>(info.st_ino));
}

// The directory by what the system says, the rest by its spelling: directories that are missing will be made.
std::string entry_of(const fs::path& path) {
  // A directory is no entry that a file can be written to, but may be named: "..", "d/..".
  struct stat itself {};
  if (stat(path.c_str(), &itself) == 0 && S_ISDIR(itself.st_mode)) return number_of(itself);
  fs::path directory = path.parent_path();
  fs::path rest = path.filename();
  for (;;) {
    struct stat info {};
    if (stat(directory.empty() ? "." : directory.c_str(), &info) == 0) {
      rest = rest.lexically_normal();
      if (!rest.empty() && *rest.begin() == "..") {
        // Where the directory can't be looked into, the same question would come again.
        const fs::path shorter = directory / rest;
        return shorter == path ? path.lexically_normal().string() : entry_of(shorter);
      }
      return number_of(info) + "/" + rest.string();
    }
    if (directory.empty() || directory == directory.parent_path()) return path.lexically_normal().string();
    rest = directory.filename() / rest;
    directory = directory.parent_path();
  }
}

bool is_null_device(const struct stat& info) { return S_ISCHR(info.st_mode) && info.st_rdev == makedev(1, 3); }

}  // namespace

file_identity identify(const std::string& path, bool writes) {
  const std::string name = path != "-" ? path : writes ? "/dev/stdout" : "/dev/stdin";
  const std::string followed = follow_links(name).path;
  struct stat info {};
  const bool exists = stat(name.c_str(), &info) == 0;
  const int descriptor = descriptor_named(followed);
  if (descriptor < 0 && exists && is_null_device(info)) return {};
  file_identity out;
  out.entry = descriptor >= 0 ? fmt::format("descriptor {}", descriptor) : entry_of(followed);
  const bool is_pipe = exists && S_ISFIFO(info.st_mode);
  const bool is_regular = exists && S_ISREG(info.st_mode);
  if (is_pipe || is_regular) out.object = number_of(info);
  out.only_name = is_regular && info.st_nlink == 1;
  out.in_place = descriptor >= 0 || (exists && !is_regular);
  out.read_once = descriptor == 0 || is_pipe;
  return out;
}

std::string resolved_path(const std::string& path) {
  std::error_code problem;
  const fs::path whole = fs::absolute(path, problem);
  if (problem) return path;
  const fs::path out = fs::weakly_canonical(whole, problem);
  return problem ? whole.lexically_normal().string() : out.string();
}

}  // namespace flowrun::io
