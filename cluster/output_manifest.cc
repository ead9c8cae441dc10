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

#include "engine/base/error.h"
#include "engine/base/units.h"

namespace flowrun::cluster {

namespace {

constexpr int manifest_format = 1;

[[noreturn]] void damaged(const std::string& path, const std::string& what) {
  throw error(error_kind::bad_data, fmt::format("{}: {}", path, what),
              "a job on a cluster has written the folder: write it again");
}

// A part lies in the folder itself.
bool is_name(const std::string& text) {
  return !text.empty() && text != "." && text != ".." && text.find('/') == std::string::npos;
}

}  // namespace

void write(const output_manifest& manifest, const std::string& folder) {
  nlohmann::ordered_json out;
  out["format"] = manifest_format;
  out["run"] = manifest.run;
  out["job"] = manifest.job;
  out["parts"] = nlohmann::ordered_json::array();
  uint64_t rows = 0, bytes = 0;
  for (const output_manifest::part& p : manifest.parts) {
    out["parts"].push_back({{"name", p.name}, {"rows", p.rows}, {"bytes", p.bytes}, {"hash", p.hash}});
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
  std::ifstream in(path);
  if (!in) return std::nullopt;
  const nlohmann::json all = nlohmann::json::parse(in, nullptr, false);
  output_manifest out;
  uint64_t rows = 0, bytes = 0;
  try {
    if (all.at("format").get<int>() > manifest_format)
      damaged(path, "it was written by a later version, which this one doesn't know");
    out.run = all.at("run").get<std::string>();
    out.job = all.at("job").get<std::string>();
    for (const nlohmann::json& p : all.at("parts")) {
      out.parts.push_back({p.at("name").get<std::string>(), p.at("rows").get<uint64_t>(), p.at("bytes").get<uint64_t>(),
                           p.at("hash").get<std::string>()});
      if (!is_name(out.parts.back().name)) damaged(path, "a part of it lies elsewhere");
      rows += out.parts.back().rows;
      bytes += out.parts.back().bytes;
    }
    if (all.at("rows").get<uint64_t>() != rows || all.at("bytes").get<uint64_t>() != bytes)
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
    if (::stat(out.back().c_str(), &there) != 0)
      damaged(out.back(), fmt::format("the manifest names it, and it can't be read: {}", errno_text(errno)));
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
