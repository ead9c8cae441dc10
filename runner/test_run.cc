#include "runner/test_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/exec/job.h"
#include "engine/exec/job_report.h"
#include "runner/job_loading.h"
#include "runner/temporary_directory.h"

namespace flowrun::runner {

namespace {

constexpr uint64_t tiny_block_bytes = 4 * KiB;
constexpr uint64_t tiny_batch_bytes = 512;
constexpr uint64_t tiny_memory_bytes = 24 * MiB;

// A job that can't do with little memory gets its own.
planned_job plan_test(const specs::JobSpec& job, test_variant variant, const resource_arguments& given,
                      const std::string& directory) {
  const auto spec = std::make_shared<const specs::JobSpec>(job);
  resource_arguments resources = given;
  resources.scratch = {{directory + "/scratch", 0}};
  if (variant == test_variant::as_is) return plan_job(spec, resources);
  resources.scratch.push_back({directory + "/scratch2", 0});
  resources.block_bytes = tiny_block_bytes;
  resources.batch_bytes = tiny_batch_bytes;
  resource_arguments little = resources;
  little.memory_percent.reset();
  little.memory_bytes = std::min(tiny_memory_bytes, given.memory_bytes.value_or(tiny_memory_bytes));
  planned_job planned = plan_job(spec, little);
  return planned.faults.empty() ? std::move(planned) : plan_job(spec, resources);
}

// What lies in the directory of a test is gone when its messages are read.
std::string without_directory(std::string text, const std::string& directory) {
  const std::string prefix = directory + "/";
  for (size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix, at))
    text.erase(at, prefix.size());
  return text;
}

}  // namespace

std::vector<std::string> words_of(const std::vector<fault>& faults) {
  std::vector<std::string> out;
  for (const fault& f : faults)
    out.push_back(fmt::format("{}:{}:{}: {}{}", f.where.file, f.where.line, f.where.column, f.message,
                              f.expected.empty() ? "" : "; expected: " + f.expected));
  return out;
}

test_result judge_failure(const test_case& test, const std::vector<std::string>& words) {
  test_result result;
  result.passed = !test.fails.empty() && std::any_of(words.begin(), words.end(), [&test](const std::string& line) {
    return line.find(test.fails) != std::string::npos;
  });
  if (result.passed) return result;
  if (test.fails.empty())
    result.lines.push_back("it failed:");
  else
    result.lines.push_back(fmt::format("it failed, but not with '{}':", test.fails));
  for (const std::string& line : words) result.lines.push_back("  " + line);
  return result;
}

test_result run_test(const prepared_test& prepared, test_variant variant, const resource_arguments& given,
                     const std::atomic<bool>& stop) {
  const temporary_directory directory;
  planned_job planned =
      plan_test(redirected(*prepared.job, prepared.fitted, directory.path()), variant, given, directory.path());
  if (!planned.faults.empty()) return judge_failure(prepared.test, words_of(planned.faults));
  run_arguments arguments;
  arguments.engine.force_spill = variant == test_variant::tiny_blocks;
  arguments.engine.sync_outputs = false;
  exec::job job(settings_of(planned.job, arguments));
  test_result result;
  try {
    if (arguments.engine.force_spill) job.open_scratch();
    job.run({}, stop);
  } catch (const error& problem) {
    if (problem.kind() == error_kind::cancelled) {
      result.stopped = true;
      return result;
    }
    std::vector<std::string> words = {without_directory(problem.what(), directory.path())};
    if (!problem.hint().empty()) words.push_back("help: " + without_directory(problem.hint(), directory.path()));
    if (problem.kind() != error_kind::internal) return judge_failure(prepared.test, words);
    result.lines = {fmt::format("this is a bug in flowrun: {}", problem.what())};
    return result;
  } catch (const std::exception& problem) {
    result.lines = {fmt::format("this is a bug in flowrun: {}", problem.what())};
    return result;
  }
  if (!prepared.test.fails.empty())
    result.lines = {fmt::format("it succeeded, and should have failed with '{}'", prepared.test.fails)};
  else
    result.differing = mismatches(prepared.fitted, directory.path(), job.report(nullptr));
  for (const mismatch& one : result.differing)
    result.lines.insert(result.lines.end(), one.lines.begin(), one.lines.end());
  result.passed = result.lines.empty();
  return result;
}

}  // namespace flowrun::runner
