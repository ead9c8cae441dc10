#include "specs/yaml_reader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "engine/base/error.h"
#include "engine/base/interrupted_call.h"
#include "specs/expand.h"
#include "specs/job_reader.h"
#include "specs/overrides.h"
#include "specs/parameters.h"
#include "specs/source_text.h"
#include "specs/yaml_tree.h"

namespace flowrun::specs {

namespace {

std::optional<std::string> process_environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value ? std::optional<std::string>(value) : std::nullopt;
}

// A protobuf string is UTF-8; a file name is any bytes.
std::string as_utf8(std::string name) {
  if (!is_utf8(name))
    for (char& c : name)
      if (static_cast<unsigned char>(c) >= 0x80) c = '?';
  return name;
}

void read(const source_text& source, const std::map<std::string, std::string>& parameters,
          const override_list& overrides, read_result& result, fault_sink& faults) {
  JobSpec& job = result.job;
  std::optional<Value> root = read_yaml(source, faults);
  if (!root) return;
  if (!overrides.empty()) apply_overrides(overrides, *root, faults);
  const auto environment = [&result](const std::string& name) {
    std::optional<std::string> value = process_environment(name);
    if (value) result.environment.push_back({name, *value});
    return value;
  };
  expander variables(environment, source, faults);
  read_parameters(find_entry(*root, "params"), parameters, job, variables, result.ranges, faults);
  if (!is_map(*root))
    variables.expand(*root);
  else
    for (Entry& entry : *root->mutable_map()->mutable_entries())
      if (entry.key() != "params") variables.expand(*entry.mutable_value());
  read_sections(*root, job, faults);
}

// Some jobs of a directory, for a user who gave the directory in place of one of them.
std::string jobs_in(const std::string& directory) {
  constexpr size_t most = 3;
  std::vector<std::string> found;
  std::error_code ignored;
  for (std::filesystem::directory_iterator at(directory, ignored), end; at != end && !ignored; at.increment(ignored)) {
    const std::string extension = at->path().extension().string();
    if (extension == ".yaml" || extension == ".yml") found.push_back(at->path().string());
  }
  std::sort(found.begin(), found.end());
  const bool all = found.size() <= most;
  found.resize(std::min(found.size(), most));
  return fmt::format("{}{}", fmt::join(found, ", "), all ? "" : ", …");
}

error is_a_directory(const std::string& path) {
  const std::string jobs = jobs_in(path);
  return error(error_kind::missing_input, "can't read the job " + path + ": it is a directory",
               jobs.empty() ? "give the path of a job file (YAML); there is none in it"
                            : "give one of its job files: " + jobs + " (flowrun test takes whole directories)");
}

// Reads at most one byte more than a job may have, so that /dev/zero ends too.
std::string read_file(const std::string& path) {
  const bool standard = path == "-";
  const std::string hint = standard ? "pipe a job (YAML) into it" : "give the path of a job file (YAML)";
  const int descriptor =
      standard ? STDIN_FILENO : retry_interrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); });
  const auto close = [&] {
    if (!standard) ::close(descriptor);
  };
  if (descriptor < 0)
    throw error(error_kind::missing_input, "can't open the job " + path + ": " + errno_text(errno), hint);
  std::string text;
  while (text.size() <= max_text_bytes) {
    constexpr size_t chunk_bytes = size_t{64} << 10;
    const size_t filled = text.size();
    text.resize(filled + chunk_bytes);
    const ssize_t got = retry_interrupted([&] { return ::read(descriptor, text.data() + filled, chunk_bytes); });
    const int read_errno = errno;
    text.resize(filled + static_cast<size_t>(got > 0 ? got : 0));
    if (got == 0) break;
    if (got < 0) {
      close();
      if (read_errno == EISDIR && !standard) throw is_a_directory(path);
      throw error(
          error_kind::missing_input,
          fmt::format("can't read the job {}: {}", standard ? "from standard input" : path, errno_text(read_errno)),
          hint);
    }
  }
  close();
  return text;
}

}  // namespace

read_result read_job(std::string text, std::string file_name, const std::map<std::string, std::string>& parameters,
                     const std::vector<std::pair<std::string, std::string>>& overrides) {
  read_result result;
  file_name = as_utf8(std::move(file_name));
  fault_sink faults(file_name);
  result.job.set_file(file_name);
  result.text = plain_text(std::move(text));
  if (check_text(result.text, faults)) {
    const source_text source(result.text);
    faults.reads(&source);
    read(source, parameters, overrides, result, faults);
    faults.reads(nullptr);
  }
  result.faults = faults.take();
  return result;
}

read_result read_tree(const Value& root, std::string file_name) {
  read_result result;
  file_name = as_utf8(std::move(file_name));
  fault_sink faults(file_name);
  result.job.set_file(file_name);
  read_sections(root, result.job, faults);
  result.faults = faults.take();
  return result;
}

read_result read_job_file(const std::string& path, const std::map<std::string, std::string>& parameters,
                          const std::vector<std::pair<std::string, std::string>>& overrides) {
  return read_job(read_file(path), path == "-" ? standard_input_name : path, parameters, overrides);
}

}  // namespace flowrun::specs
