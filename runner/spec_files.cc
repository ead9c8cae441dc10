#include "runner/spec_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <set>

#include "engine/base/error.h"
#include "specs/source_text.h"

namespace flowrun::runner {

namespace {

namespace fs = std::filesystem;

// One byte more than a spec may have, at most: the reader says what is wrong with that.
std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text(specs::max_text_bytes + 1, '\0');
  if (in) in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!in.eof() && !in)
    throw error(error_kind::missing_input, "can't read the job " + path + ": " + errno_text(errno),
                "give the path of a job file (YAML), or of a directory");
  text.resize(static_cast<size_t>(in.gcount()));
  return text;
}

std::vector<std::string> files_below(const std::string& directory) {
  std::vector<std::string> out;
  std::error_code problem;
  fs::recursive_directory_iterator at(directory, fs::directory_options::skip_permission_denied, problem);
  for (const fs::recursive_directory_iterator end; !problem && at != end; at.increment(problem)) {
    const std::string name = at->path().filename().string();
    std::error_code ignored;
    if (name.starts_with('.')) {
      if (at->is_directory(ignored)) at.disable_recursion_pending();
    } else if (at->path().extension() == ".yaml" && at->is_regular_file(ignored)) {
      out.push_back(at->path().lexically_normal().string());
    }
  }
  if (problem)
    throw error(error_kind::missing_input, "can't read the directory " + directory + ": " + problem.message());
  std::sort(out.begin(), out.end());
  return out;
}

// True where the file has other names. Throws error(output) where it may not be replaced.
bool expect_unchanged(const spec_file& before) {
  const std::string as_it_was = "; the file is as it was";
  struct stat there {};
  const bool writable = ::stat(before.path.c_str(), &there) == 0 && (there.st_mode & 0222) != 0;
  if (!writable || ::access(before.path.c_str(), W_OK) != 0)
    throw error(error_kind::output,
                "can't update " + before.path + ": " + (writable ? errno_text(errno) : "it is read-only") + as_it_was,
                "make it writable (chmod u+w), or run flowrun test without --update");
  if (read_text(before.path) != before.text)
    throw error(error_kind::output, "can't update " + before.path + ": it was changed while its tests ran" + as_it_was,
                "run the command again");
  return there.st_nlink > 1;
}

}  // namespace

std::vector<spec_file> find_specs(const std::vector<std::string>& paths) {
  std::vector<spec_file> out;
  std::set<std::string> seen;
  const auto add = [&](const std::string& path, bool named) {
    if (!seen.insert(fs::path(path).lexically_normal().string()).second) return;
    std::string text = read_text(path);
    if (named || text.find("flowrun:") != std::string::npos) out.push_back({path, std::move(text)});
  };
  for (const std::string& path : paths) {
    std::error_code problem;
    const fs::file_status status = fs::status(path, problem);
    if (!fs::exists(status))
      throw error(error_kind::missing_input, "there is no " + path,
                  "give the path of a job file (YAML), or of a directory");
    if (!fs::is_directory(status)) {
      add(path, true);
      continue;
    }
    const size_t before = seen.size();
    for (const std::string& file : files_below(path)) add(file, false);
    if (out.empty() && seen.size() == before)
      throw error(error_kind::missing_input, "there are no specs (*.yaml) in " + path, "give another directory");
  }
  return out;
}

void expect_files(const std::vector<std::string>& paths) {
  const std::string hint = "save the job to a file, and give its path";
  for (const std::string& path : paths) {
    if (path == "-")
      throw error(error_kind::usage, "--update can't rewrite standard input: it has no file to put the new rows into",
                  hint);
    std::error_code problem;
    const fs::file_status status = fs::status(path, problem);
    if (fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status))
      throw error(error_kind::usage, "--update can't rewrite " + path + ": it is no file", hint);
  }
}

spec_replacement::spec_replacement(const spec_file& before, const std::string& text)
    : has_other_names_(expect_unchanged(before)), document_(before.path) {
  document_.append(text);
}

}  // namespace flowrun::runner
