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

// Other than get<uint64_t>(), which takes -1 and 0.5, too.
uint64_t count_at(const nlohmann::json& of, const char* name) {
  return of.at(name).get_ref<const nlohmann::json::number_unsigned_t&>();
}

// Of a part; empty: it isn't told.
std::string key_at(const nlohmann::json& of, const char* name) {
  return of.contains(name) ? nlohmann::json(of[name].get_ref<const nlohmann::json::array_t&>()).dump() : "";
}

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
  return nlohmann::json::parse(in, nullptr, false);
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
  const nlohmann::json& all = *read;
  output_manifest out;
  uint64_t rows = 0, bytes = 0;
  std::set<std::string> names = {output_manifest::name};
  try {
    if (count_at(all, "format") > manifest_format)
      damaged(path, "it was written by a later version, which this one doesn't know");
    out.run = all.at("run").get<std::string>();
    out.job = all.at("job").get<std::string>();
    if (all.contains("sorted_by")) out.sorted_by = all["sorted_by"].get<std::vector<std::string>>();
    for (const nlohmann::json& p : all.at("parts")) {
      out.parts.push_back({p.at("name").get<std::string>(), count_at(p, "rows"), count_at(p, "bytes"),
                           p.at("hash").get<std::string>(), key_at(p, "first"), key_at(p, "last")});
      const std::string& name = out.parts.back().name;
      if (!is_name(name)) damaged(path, fmt::format("a part of it lies elsewhere: {}", name));
      for (const char* key : {"first", "last"})
        if (p.contains(key) && p[key].size() != out.sorted_by.size())
          damaged(path, fmt::format("a key of {} is not what it is sorted by", name));
      if (!names.insert(name).second) damaged(path, fmt::format("it names {} twice, or as a part of itself", name));
      rows += out.parts.back().rows;
      bytes += out.parts.back().bytes;
    }
    if (count_at(all, "rows") != rows || count_at(all, "bytes") != bytes)
      damaged(path, "its sums of rows and bytes are not those of its parts");
  } catch (const nlohmann::json::exception&) {
    damaged(path, "it is no manifest of parts");
  }
  return out;
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
