#include "specs/yaml_reader.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "engine/base/error.h"
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
          const override_list& overrides, JobSpec& job, fault_sink& faults) {
  std::optional<Value> root = read_yaml(source, faults);
  if (!root) return;
  if (!overrides.empty()) apply_overrides(overrides, *root, faults);
  expander variables(process_environment, source, faults);
  read_parameters(find_entry(*root, "params"), parameters, job, variables, faults);
  if (!is_map(*root))
    variables.expand(*root);
  else
    for (Entry& entry : *root->mutable_map()->mutable_entries())
      if (entry.key() != "params") variables.expand(*entry.mutable_value());
  read_sections(*root, job, faults);
}

// Reads at most one byte more than a job may have, so that /dev/zero ends too.
std::string read_file(const std::string& path) {
  constexpr std::string_view hint = "give the path of a job file (YAML)";
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    throw error(error_kind::missing_input, "can't open the job " + path + ": " + errno_text(errno), std::string(hint));
  std::string text;
  while (text.size() <= max_text_bytes) {
    constexpr size_t chunk_bytes = size_t{64} << 10;
    const size_t filled = text.size();
    text.resize(filled + chunk_bytes);
    const ssize_t got = ::read(descriptor, text.data() + filled, chunk_bytes);
    const int read_errno = errno;
    text.resize(filled + static_cast<size_t>(got > 0 ? got : 0));
    if (got == 0) break;
    if (got < 0 && read_errno != EINTR) {
      ::close(descriptor);
      throw error(error_kind::missing_input, "can't read the job " + path + ": " + errno_text(read_errno),
                  std::string(hint));
    }
  }
  ::close(descriptor);
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
  if (check_text(result.text, faults)) read(source_text(result.text), parameters, overrides, result.job, faults);
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
  return read_job(read_file(path), path, parameters, overrides);
}

}  // namespace flowrun::specs
