#include "specs/job_name.h"

#include <filesystem>

#include "specs/yaml_reader.h"

namespace flowrun::specs {

std::string job_name(const JobSpec& job) { return job.name().empty() ? job_name(job.file()) : job.name(); }

std::string job_name(const std::string& file) {
  const std::string name = std::filesystem::path(file).stem().string();
  return name.empty() || file == "-" || file == standard_input_name ? "job" : name;
}

}  // namespace flowrun::specs
