#include "engine/io/path_pattern.h"

#include <fmt/format.h>
#include <fnmatch.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>

#include "engine/base/error.h"

namespace flowrun::io {

namespace {

namespace fs = std::filesystem;

constexpr size_t most_names = 4096;
constexpr int most_depth = 64;

bool has_wildcard(std::string_view text) { return text.find_first_of("*?[") != std::string_view::npos; }

std::string within(const std::string& directory, const std::string& name) {
  if (directory.empty()) return name;
  return directory.ends_with('/') ? directory + name : directory + "/" + name;
}

class search {
 public:
  explicit search(path_matches& out) : out_(out) {}

  // What `parts` from `at` on match in `directory`, whose name is empty where the pattern is relative.
  void go(const std::string& directory, const std::vector<std::string>& parts, size_t at, int depth = 0) {
    const bool last = at + 1 == parts.size();
    if (parts[at] == "**") {
      // Several ways may lead here, each with other directories for the `**` before; one is enough.
      const auto [been, is_new] = least_depth_.try_emplace({directory, at}, depth);
      if (!is_new && been->second <= depth) return;
      been->second = depth;
      go(directory, parts, at + 1, depth);
      for (const std::string& name : names_in(directory)) {
        if (name.front() == '.' || !is_directory(within(directory, name), false)) continue;
        if (depth == most_depth) {
          out_.problem = fmt::format("{} is more than {} directories deep", within(directory, name), most_depth);
          return;
        }
        go(within(directory, name), parts, at, depth + 1);
      }
      return;
    }
    if (!has_wildcard(parts[at])) {
      const std::string path = within(directory, parts[at]);
      if (last ? is_file(path) : is_directory(path, true)) found(path, parts, at, depth);
      return;
    }
    for (const std::string& name : names_in(directory)) {
      if (fnmatch(parts[at].c_str(), name.c_str(), FNM_PERIOD | FNM_NOESCAPE) != 0) continue;
      const std::string path = within(directory, name);
      if (last ? is_file(path) : is_directory(path, true)) found(path, parts, at, depth);
    }
  }

  std::vector<std::string> names_in(const std::string& directory) {
    std::vector<std::string> names;
    std::error_code cause;
    fs::directory_iterator each(directory.empty() ? "." : directory, cause);
    for (const fs::directory_iterator end; !cause && each != end; each.increment(cause))
      names.push_back(each->path().filename().string());
    if (cause && out_.problem.empty() && cause != std::errc::no_such_file_or_directory)
      out_.problem = (directory.empty() ? "." : directory) + ": " + errno_text(cause.value());
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  void found(const std::string& path, const std::vector<std::string>& parts, size_t at, int depth) {
    if (at + 1 == parts.size())
      out_.paths.push_back(path);
    else
      go(path, parts, at + 1, depth);
  }
  static bool is_directory(const std::string& path, bool follow) {
    struct stat info {};
    return (follow ? stat(path.c_str(), &info) : lstat(path.c_str(), &info)) == 0 && S_ISDIR(info.st_mode);
  }
  // Also a link to nothing: opening it says what is wrong.
  static bool is_file(const std::string& path) {
    struct stat info {};
    if (stat(path.c_str(), &info) != 0) return lstat(path.c_str(), &info) == 0;
    return !S_ISDIR(info.st_mode);
  }

  path_matches& out_;
  std::map<std::pair<std::string, size_t>, int> least_depth_;  // by directory and part
};

}  // namespace

bool is_path_pattern(const std::string& path) {
  struct stat info {};
  return has_wildcard(path) && lstat(path.c_str(), &info) != 0;
}

path_matches match_paths(const std::string& pattern) {
  path_matches out;
  std::string directory;
  std::vector<std::string> parts;  // from the first wildcard on
  for (size_t at = 0; at < pattern.size();) {
    const size_t slash = std::min(pattern.find('/', at), pattern.size());
    const std::string part = pattern.substr(at, slash - at);
    if (!parts.empty() || has_wildcard(part)) {
      const bool is_said = part == "**" && !parts.empty() && parts.back() == "**";
      if (!part.empty() && !is_said) parts.push_back(part);
    } else if (at == 0 && part.empty()) {
      directory = "/";
    } else if (!part.empty()) {
      directory = within(directory, part);
    }
    at = slash + 1;
  }
  if (!parts.empty() && parts.back() == "**") parts.emplace_back("*");  // all files, however deep
  search here(out);
  if (!parts.empty()) here.go(directory, parts, 0);
  std::sort(out.paths.begin(), out.paths.end());
  out.paths.erase(std::unique(out.paths.begin(), out.paths.end()), out.paths.end());
  out.directory = directory.empty() ? "." : directory;
  if (out.paths.empty()) out.names = here.names_in(directory);
  if (out.names.size() > most_names) out.names.resize(most_names);
  return out;
}

}  // namespace flowrun::io
