#include "cluster/output_manifest.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "engine/base/error.h"
#include "engine/base/units.h"

namespace flowrun::cluster {

namespace {

constexpr int manifest_format = 1;

[[noreturn]] void damaged(const std::string& path, const std::string& what) {
  throw error(error_kind::bad_data, fmt::format("{}: {}", path, what),
              "a job on a cluster has written the folder: write it again");
}

// Of half a million parts. What is longer is no manifest that a job has written, and could take any memory.
constexpr uint64_t most_bytes = 64 * MiB;

// Lists in lists: `parts`, a part, its key, a value of that. What is deeper ends the program's stack where it is
// copied.
constexpr int deepest = 8;

// An object of the manifest. What it lacks, or has of another type, is told with its name.
class members {
 public:
  members(const nlohmann::json& of, const std::string& path, std::string whose)
      : of_(of), path_(path), whose_(std::move(whose)) {
    if (!of_.is_object()) refuse("is no object");
  }

  bool has(const char* name) const { return of_.contains(name); }
  std::string text(const char* name) const {
    const nlohmann::json& value = at(name);
    if (!value.is_string()) refuse_type(name, "text");
    return value.get<std::string>();
  }
  uint64_t count(const char* name) const {
    const nlohmann::json& value = at(name);
    if (!value.is_number_unsigned()) refuse_type(name, "whole number from 0 on");
    return value.get<uint64_t>();
  }
  const nlohmann::json& list(const char* name) const {
    const nlohmann::json& value = at(name);
    if (!value.is_array()) refuse_type(name, "list");
    return value;
  }
  std::vector<std::string> texts(const char* name) const {
    std::vector<std::string> out;
    for (const nlohmann::json& value : list(name)) {
      if (!value.is_string()) refuse_type(name, "list of texts");
      out.push_back(value.get<std::string>());
    }
    return out;
  }
  // A list with a value for each of the columns; empty: it isn't there.
  std::string key(const char* name, size_t num_columns) const {
    if (!has(name)) return {};
    const nlohmann::json& values = list(name);
    if (num_columns == 0 || values.size() != num_columns)
      refuse(fmt::format("has a key \"{}\" that is not what it is sorted by", name));
    for (const nlohmann::json& value : values)
      if (value.is_null() || value.is_array() || (value.is_object() && !is_hexadecimal(value)))
        refuse(fmt::format("has a key \"{}\" with what no column can have", name));
    return values.dump();
  }
  [[noreturn]] void refuse(const std::string& why) const {
    damaged(path_, fmt::format("it is no manifest of parts: {} {}", whose_, why));
  }

 private:
  // {"hex": "00ff", "bytes": 2}
  static bool is_hexadecimal(const nlohmann::json& value) {
    return value.size() == 2 && value.contains("hex") && value["hex"].is_string() && value.contains("bytes") &&
           value["bytes"].is_number_unsigned();
  }
  const nlohmann::json& at(const char* name) const {
    if (!has(name)) refuse(fmt::format("has no \"{}\"", name));
    return of_[name];
  }
  [[noreturn]] void refuse_type(const char* name, const char* type) const {
    refuse(fmt::format("has a \"{}\" that is no {}", name, type));
  }

  const nlohmann::json& of_;
  const std::string& path_;
  const std::string whose_;
};

uint64_t sum_of(uint64_t a, uint64_t b) { return a > UINT64_MAX - b ? UINT64_MAX : a + b; }

// Nothing: it is no folder, or has no manifest.
std::optional<nlohmann::json> json_in(const std::string& folder) {
  const std::string path = folder + "/" + output_manifest::name;
  std::error_code ignored;
  if (!std::filesystem::is_directory(folder, ignored)) return std::nullopt;
  struct stat there {};
  if (::stat(path.c_str(), &there) != 0) {
    if (errno == ENOENT) return std::nullopt;
    throw error(error_kind::missing_input, fmt::format("can't read {}: {}", path, errno_text(errno)),
                "check the permissions");
  }
  if (!S_ISREG(there.st_mode)) damaged(path, "it is no manifest of parts: it is no file");
  if (static_cast<uint64_t>(there.st_size) > most_bytes)
    damaged(path, fmt::format("it is no manifest of parts: it has {}, and the longest have {}",
                              format_bytes(static_cast<uint64_t>(there.st_size)), format_bytes(most_bytes)));
  std::ifstream in(path);
  if (!in)
    throw error(error_kind::missing_input, fmt::format("can't read {}: {}", path, errno_text(errno)),
                "check the permissions");
  const auto is_flat = [&path](int depth, nlohmann::json::parse_event_t, const nlohmann::json&) {
    if (depth > deepest) damaged(path, "it is no manifest of parts: it has lists in lists in lists");
    return true;
  };
  try {
    return nlohmann::json::parse(in, is_flat);
  } catch (const nlohmann::json::exception& problem) {
    const std::string_view what = problem.what();
    const size_t name_end = what.find("] ");  // of the exception
    damaged(path, fmt::format("it is no JSON: {}", name_end == what.npos ? what : what.substr(name_end + 2)));
  }
}

// A part lies in the folder itself.
bool is_name(const std::string& text) {
  return !text.empty() && text != "." && text != ".." && text.find_first_of(std::string_view("/\0", 2)) == text.npos;
}

}  // namespace

void write(const output_manifest& manifest, const std::string& folder) {
  nlohmann::ordered_json out;
  out["format"] = manifest_format;
  out["run"] = manifest.run;
  out["job"] = manifest.job;
  if (!manifest.sorted_by.empty()) out["sorted_by"] = manifest.sorted_by;
  out["parts"] = nlohmann::ordered_json::array();
  uint64_t rows = 0, bytes = 0;
  for (const output_manifest::part& p : manifest.parts) {
    nlohmann::ordered_json& part = out["parts"].emplace_back();
    part = {{"name", p.name}, {"rows", p.rows}, {"bytes", p.bytes}, {"hash", p.hash}};
    if (!p.first.empty()) part["first"] = nlohmann::ordered_json::parse(p.first);
    if (!p.last.empty()) part["last"] = nlohmann::ordered_json::parse(p.last);
    rows += p.rows;
    bytes += p.bytes;
  }
  out["rows"] = rows;
  out["bytes"] = bytes;
  const std::string path = folder + "/" + output_manifest::name;
  std::ofstream file(path);
  file << out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << '\n';
  if (!file.flush())
    throw error(error_kind::output, fmt::format("can't write {}: {}", path, errno_text(errno)),
                "is there room on the disk?");
}

std::optional<output_manifest> read_manifest(const std::string& folder) {
  const std::string path = folder + "/" + output_manifest::name;
  const std::optional<nlohmann::json> read = json_in(folder);
  if (!read) return std::nullopt;
  const members all(*read, path, "it");
  if (const uint64_t format = all.count("format"); format > manifest_format)
    damaged(path, "it was written by a later version, which this one doesn't know");
  else if (format == 0)
    all.refuse("has the format 0");
  output_manifest out;
  out.run = all.text("run");
  out.job = all.text("job");
  if (all.has("sorted_by")) out.sorted_by = all.texts("sorted_by");
  uint64_t rows = 0, bytes = 0;
  size_t num_keys = 0, num_with_rows = 0;
  std::set<std::string> names = {output_manifest::name};
  for (const nlohmann::json& one : all.list("parts")) {
    const members part(one, path, fmt::format("part {} (counted from 0)", out.parts.size()));
    out.parts.push_back({part.text("name"), part.count("rows"), part.count("bytes"), part.text("hash"),
                         part.key("first", out.sorted_by.size()), part.key("last", out.sorted_by.size())});
    const output_manifest::part& p = out.parts.back();
    if (!is_name(p.name)) damaged(path, fmt::format("a part of it lies elsewhere: {}", p.name));
    if (!names.insert(p.name).second) damaged(path, fmt::format("it names {} twice, or as a part of itself", p.name));
    if (p.first.empty() != p.last.empty() || (p.rows == 0 && !p.first.empty()))
      part.refuse("has the key of one end, or keys and no rows");
    num_keys += p.first.empty() ? 0 : 1;
    num_with_rows += p.rows > 0 ? 1 : 0;
    rows = sum_of(rows, p.rows);
    bytes = sum_of(bytes, p.bytes);
  }
  if (num_keys > 0 && num_keys != num_with_rows) all.refuse("has keys of some parts with rows, and of others none");
  if (all.count("rows") != rows || all.count("bytes") != bytes)
    damaged(path, "its sums of rows and bytes are not those of its parts");
  return out;
}

std::string stranger_in(const std::string& folder, const output_manifest& manifest) {
  std::set<std::string> names = {output_manifest::name};
  for (const output_manifest::part& p : manifest.parts) names.insert(p.name);
  std::error_code problem, ignored;
  for (std::filesystem::directory_iterator at(folder, problem), end; !problem && at != end; at.increment(problem))
    // No part is a directory, whatever its name is.
    if (std::string name = at->path().filename().string(); !names.contains(name) || at->is_directory(ignored))
      return name;
  if (problem)
    throw error(error_kind::missing_input, fmt::format("can't read {}: {}", folder, problem.message()),
                "check the permissions");
  return {};
}

std::vector<std::string> paths_of_parts(const std::string& folder, const output_manifest& manifest) {
  std::vector<std::string> out;
  for (const output_manifest::part& p : manifest.parts) {
    out.push_back(folder + "/" + p.name);
    struct stat there {};
    if (::lstat(out.back().c_str(), &there) != 0)
      damaged(out.back(), fmt::format("the manifest names it, and it can't be read: {}", errno_text(errno)));
    // A link could lead anywhere, and who opens a pipe waits for its other end.
    if (!S_ISREG(there.st_mode)) damaged(out.back(), "the manifest names it, and it is no file");
    if (static_cast<uint64_t>(there.st_size) != p.bytes)
      damaged(out.back(), fmt::format("it has {} bytes, and the manifest says {}", there.st_size, p.bytes));
  }
  return out;
}

std::string hash_of_file(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    throw error(error_kind::missing_input, fmt::format("can't read {}: {}", path, errno_text(errno)), "");
  std::unique_ptr<XXH3_state_t, void (*)(XXH3_state_t*)> state(XXH3_createState(),
                                                               [](XXH3_state_t* s) { XXH3_freeState(s); });
  XXH3_64bits_reset(state.get());
  std::vector<char> buffer(1 * MiB);
  ssize_t got = 0;
  while ((got = ::read(descriptor, buffer.data(), buffer.size())) > 0 || (got < 0 && errno == EINTR))
    if (got > 0) XXH3_64bits_update(state.get(), buffer.data(), static_cast<size_t>(got));
  const int cause = errno;
  ::close(descriptor);
  if (got < 0) throw error(error_kind::io, fmt::format("can't read {}: {}", path, errno_text(cause)), "");
  return fmt::format("{:016x}", XXH3_64bits_digest(state.get()));
}

}  // namespace flowrun::cluster
