#include "runner/test_preparation.h"

#include <fmt/format.h>

#include "engine/io/path_pattern.h"
#include "runner/home_paths.h"
#include "runner/job_loading.h"
#include "runner/path_patterns.h"
#include "specs/parameters.h"
#include "specs/yaml_reader.h"

namespace flowrun::runner {

namespace {

using parameter_values = std::map<std::string, std::string>;

// No file lies there.
constexpr std::string_view unset_directory = "/nonexistent/flowrun-test/";

// Any value of the type, within its range.
std::string stand_in(const specs::Param& param, const specs::value_range& range) {
  if (!range.min.empty()) return range.min;
  if (!range.max.empty()) return range.max;
  switch (param.type()) {
    case specs::PARAM_INT:
    case specs::PARAM_FLOAT: return "1";
    case specs::PARAM_BOOL: return "false";
    case specs::PARAM_DATE:
    case specs::PARAM_TIMESTAMP: return "2026-01-01";
    case specs::PARAM_BYTES: return "64MiB";
    case specs::PARAM_PATH: return std::string(unset_directory) + param.name();
    case specs::PARAM_ENUM: return param.values_size() > 0 ? param.values(0) : "";
    default: return param.name();
  }
}

// Paths that have to be given and aren't; with `all`, every parameter without a value.
void fill_in(const specs::read_result& read, bool all, parameter_values& values) {
  for (const specs::Param& param : read.job.params())
    if (!param.has_value() && !values.contains(param.name()) &&
        (all || (param.required() && param.type() == specs::PARAM_PATH)))
      values[param.name()] = stand_in(param, read.ranges.at(param.name()));
}

// The values that a test gives; what is wrong with them stands where the test says it.
parameter_values given_values(const test_case& test, const specs::read_result& read, specs::fault_sink& faults) {
  const specs::JobSpec& job = read.job;
  parameter_values out;
  std::map<std::string, const specs::Param*> declared;
  std::vector<std::string> names;
  for (const specs::Param& param : job.params()) {
    declared[param.name()] = &param;
    names.push_back(param.name());
  }
  for (const auto& [name, text] : test.parameters) {
    const specs::Position& at = test.parameter_positions.at(name);
    const auto found = declared.find(name);
    if (found == declared.end()) {
      faults.add_unknown(at, fmt::format("the job has no parameter '{}'", specs::quotable(name)), name, names);
    } else if (const std::string expected = specs::misfit(*found->second, text, read.ranges.at(name));
               !expected.empty()) {
      faults.add(at, specs::misfit_message(*found->second, text), expected);
    } else {
      out[name] = text;
    }
  }
  for (const specs::Param& param : job.params())
    if (param.required() && param.type() != specs::PARAM_PATH && !test.parameters.contains(param.name()))
      faults.add(test.position,
                 fmt::format("'{}' gives no value for the parameter '{}'", specs::quotable(test.name), param.name()),
                 fmt::format("params: {{{}: …}}", param.name()));
  return out;
}

// Files that a test wants to be read as they are.
std::vector<std::string> named_paths(const test_case& test, const specs::JobSpec& job) {
  std::vector<std::string> out;
  for (const specs::Param& param : job.params())
    if (const auto found = test.parameters.find(param.name());
        param.type() == specs::PARAM_PATH && found != test.parameters.end() && !found->second.empty()) {
      out.push_back(found->second);
      if (!io::is_path_pattern(found->second)) continue;
      for (std::string& path : io::match_paths(found->second).paths) out.push_back(std::move(path));
    }
  return out;
}

}  // namespace

spec_tests find_tests(const spec_file& spec) {
  specs::read_result read = specs::read_job(spec.text, spec.path);
  parameter_values values;
  fill_in(read, true, values);
  if (!values.empty()) read = specs::read_job(spec.text, spec.path, values);
  spec_tests out;
  specs::fault_sink ignored(spec.path);  // found again by prepare_test
  for (int i = 0; i < read.job.tests_size(); ++i)
    out.names.push_back(read_test_case(read.job.tests(i), static_cast<size_t>(i) + 1, ignored).name);
  out.faults = std::move(read.faults);
  out.text = std::move(read.text);
  out.environment = std::move(read.environment);
  return out;
}

preparation prepare_test(const spec_file& spec, size_t index) {
  preparation out;
  const auto number = static_cast<int>(index);
  specs::fault_sink faults(spec.path);
  parameter_values values;
  {
    const specs::read_result first = specs::read_job(spec.text, spec.path);
    specs::fault_sink ignored(spec.path);
    values = given_values(read_test_case(first.job.tests(number), index + 1, ignored), first, faults);
    fill_in(first, false, values);
  }
  out.faults = faults.take();
  specs::read_result read = specs::read_job(spec.text, spec.path, values);
  expand_home(read.job);
  std::vector<fault> none;
  expand_path_patterns(read.job, false, none, none);  // a test has rows of its own for files that are missing
  out.text = std::move(read.text);
  out.environment = std::move(read.environment);
  test_case& test = out.prepared.test;
  test = read_test_case(read.job.tests(number), index + 1, faults);
  if (out.faults.empty()) out.faults = faults.take();
  if (!out.faults.empty()) return out;
  out.job_faults = std::move(read.faults);
  if (!out.job_faults.empty()) return out;
  out.prepared.job = std::make_shared<const specs::JobSpec>(std::move(read.job));
  std::vector<std::string> missing;
  plan::check_result checked = check_job(out.prepared.job, missing);
  out.job_faults = std::move(checked.faults);
  if (!out.job_faults.empty()) return out;
  out.prepared.fitted = fit(test, checked.checked, named_paths(test, *out.prepared.job), faults);
  out.faults = faults.take();
  return out;
}

}  // namespace flowrun::runner
