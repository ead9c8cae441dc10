#include "tests/support/checked_job.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "engine/base/error.h"
#include "operators/registry.h"
#include "specs/yaml_reader.h"

namespace flowrun::exec {

namespace {

int64_t file_bytes(const std::string& path) {
  std::error_code problem;
  const auto num_bytes = std::filesystem::file_size(path, problem);
  return problem ? -1 : static_cast<int64_t>(num_bytes);
}

}  // namespace

plan::check_result check_text(const std::string& text, const more_operators& more) {
  specs::read_result spec = specs::read_job(text, "test.yaml");
  if (!spec.faults.empty()) return {{}, std::move(spec.faults)};
  plan::vocabulary catalog = operators::built_in_vocabulary();
  for (const operator_definition* d : more) catalog.add(&d->declaration);
  return plan::check(std::make_shared<specs::JobSpec>(std::move(spec.job)), catalog, file_bytes);
}

std::string fault_text(const fault& f) {
  std::string out = fmt::format("{}:{}: {}", f.where.line, f.where.column, f.message);
  if (!f.expected.empty()) out += fmt::format(" (expected: {})", f.expected);
  if (!f.hint.empty()) out += fmt::format(" (help: {})", f.hint);
  return out;
}

plan::graph graph_of(const std::string& text, const more_operators& more) {
  plan::check_result checked = check_text(text, more);
  for (const fault& f : checked.faults) ADD_FAILURE() << fault_text(f);
  if (!checked.faults.empty()) throw error(error_kind::bad_spec, "the test's job has faults:\n" + text);
  return std::move(checked.checked);
}

}  // namespace flowrun::exec
