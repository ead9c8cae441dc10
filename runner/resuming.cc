#include "runner/resuming.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "engine/base/counted.h"
#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/io/followed_path.h"
#include "engine/plan/file_rules.h"
#include "engine/resume/resume_directory.h"
#include "runner/shown_text.h"
#include "runner/version.h"
#include "runner/words.h"

namespace flowrun::runner {

namespace {

// What is written twice of an output where a process ends; a sync for each.
constexpr uint64_t least_between_marks = 1 * MiB;
constexpr uint64_t most_between_marks = 1 * GiB;

// Without the name of its file, which may be spelled in several ways.
std::string serialized(specs::JobSpec job) {
  const google::protobuf::LogSilencer silence;  // names of files may be any bytes
  job.clear_file();
  std::string out;
  google::protobuf::io::StringOutputStream bytes(&out);
  google::protobuf::io::CodedOutputStream coded(&bytes);
  coded.SetSerializationDeterministic(true);
  job.SerializeToCodedStream(&coded);
  coded.Trim();
  return out;
}

struct job_files {
  std::set<std::string> inputs;
  std::map<std::string, std::string> outputs;  // by who writes them
};

job_files files_of_job(const plan::graph& g) {
  job_files out;
  for (const plan::file_use& file : plan::files_within(g)) {
    if (file.writes) {
      out.outputs[file.who] = file.path;
      continue;
    }
    if (file.path == "-")
      throw error(error_kind::usage,
                  fmt::format("--resume: {} reads standard input, which can't be read again", file.who),
                  "write it to a file first, or leave out --resume");
    out.inputs.insert(file.path);
  }
  return out;
}

std::string absolute(const std::string& path) {
  std::error_code problem;
  const std::filesystem::path real =
      std::filesystem::weakly_canonical(std::filesystem::absolute(path, problem), problem);  // scratch may not be there
  return problem ? path : real.string();
}

// A pipe or a device keeps nothing of what a run before has written to it.
std::string described_place(const std::string& path) {
  if (path == "-") return path;
  const std::string place = absolute(io::followed_output(path));
  std::error_code problem;
  const std::filesystem::file_status there = std::filesystem::status(place, problem);
  return std::filesystem::exists(there) && std::filesystem::is_other(there) ? place + " (not a file)" : place;
}

// The same command has the same directory; one with other parameters is another job.
uint64_t key_of(const job_arguments& job) {
  std::string command = absolute(job.file);
  for (const auto& [name, value] : job.parameters) command += fmt::format("\n-p {}={}", name, value);
  for (const auto& [path, value] : job.overrides) command += fmt::format("\n--set {}={}", path, value);
  return resume::hash_of(command);
}

}  // namespace

resume::job_identity identity_of(const loaded_job& loaded, const job_arguments& job, std::optional<bool> verify) {
  resume::job_identity out;
  out.job = absolute(job.file);
  out.key = key_of(job);
  for (const block::disk_config& disk : loaded.machine.scratch) out.scratch.push_back(absolute(disk.path));
  out.facts = {{"the job", fmt::format("{:016x}", resume::hash_of(serialized(*loaded.graph->job))), true},
               {"flowrun's version", std::string(version)},
               {"the memory budget", format_bytes(loaded.machine.memory_bytes)},
               {"the size of blocks",
                loaded.machine.block_bytes == 0 ? "the planner's choice" : format_bytes(loaded.machine.block_bytes)},
               {"the list of scratch directories", fmt::format("{}", fmt::join(out.scratch, ", "))},
               {"the option --verify or --no-verify", !verify   ? "none"
                                                      : *verify ? "--verify"
                                                                : "--no-verify"}};
  job_files files = files_of_job(*loaded.graph);
  for (const auto& [who, path] : files.outputs)
    out.facts.push_back({fmt::format("where {} is written", who), described_place(path)});
  out.bytes_between_marks = std::clamp(loaded.machine.memory_bytes / 8, least_between_marks, most_between_marks);
  for (const auto& plugin : loaded_plugins()) files.inputs.insert(plugin->file.path);
  for (const std::string& path : files.inputs) {
    std::error_code problem;
    if (std::filesystem::exists(absolute(path), problem) || problem)
      out.inputs.push_back(resume::look_at_input(absolute(path)));
    else  // of a branch or graph that may never run: loading the job has refused all others
      out.facts.push_back({path, "not there"});
  }
  return out;
}

namespace {

std::vector<std::string> scratch_of(const loaded_job& loaded) {
  std::vector<std::string> out;
  std::map<std::string, std::string> spellings;
  for (const block::disk_config& disk : loaded.machine.scratch) {
    const auto [other, is_new] = spellings.emplace(absolute(disk.path), disk.path);
    if (!is_new)
      throw error(error_kind::usage,
                  fmt::format("--resume: two scratch directories are one: {} and {}", other->second, disk.path),
                  "name each once");
    out.push_back(disk.path);
  }
  return out;
}

std::string described(const std::string& node, const resume::sort_progress& sort) {
  if (sort.is_released) return fmt::format("'{}' is done", node);
  uint64_t num_bytes = 0;
  for (const runs::run& r : sort.runs) num_bytes += r.stored_bytes();
  return fmt::format("'{}' has {} in {}, {}{}", node, counted(sort.rows_taken, "row"), counted(sort.runs.size(), "run"),
                     format_bytes(num_bytes), sort.is_complete ? ", which is all of it" : "");
}

std::string described(const std::string& node, const resume::output_progress& output) {
  return fmt::format("'{}' has written {}", node, format_bytes(output.num_bytes));
}

std::string described(const std::string& node, const resume::loop_progress& loop) {
  return fmt::format("'{}' has done {} iterations", node, format_count(loop.iteration));
}

// A kill leaves such bytes where it meets the write of a record, which is seldom.
std::string cut_off(uint64_t num_bytes) {
  constexpr const char* text =
      "the manifest's last {} are damaged, or were not written to their end: what they told of is done again";
  return fmt::format(text, counted(num_bytes, "byte"));
}

std::vector<std::string> described(const resume::manifest_summary& there) {
  std::vector<std::string> out;
  for (const auto& [node, sort] : there.sorts) out.push_back(described(node, sort));
  for (const auto& [node, output] : there.outputs) out.push_back(described(node, output));
  for (const auto& [node, loop] : there.loops) out.push_back(described(node, loop));
  return out;
}

}  // namespace

std::shared_ptr<resume::manifest> open_manifest(const loaded_job& loaded, const run_arguments& arguments,
                                                terminal& screen) {
  if (arguments.backend == io::backend_kind::memory)
    throw error(error_kind::usage, "--resume needs scratch on disks, and --backend memory has none",
                "leave out one of them");
  const resume::job_identity identity = identity_of(loaded, arguments.job, arguments.verify);
  auto out = std::make_shared<resume::manifest>(scratch_of(loaded), identity);
  if (!out->reasons_to_start_over().empty())
    screen.warn(fmt::format("starts over: {}", fmt::join(out->reasons_to_start_over(), "; ")));
  const resume::manifest_summary there = out->found();
  if (there.cut_bytes > 0) screen.warn(cut_off(there.cut_bytes));
  for (const std::string& one : described(there)) screen.say(fmt::format("flowrun: goes on: {}\n", one));
  return out;
}

std::string what_stays(const std::vector<block::disk_config>& scratch) {
  std::string places;
  for (const block::disk_config& disk : scratch) places += " " + shell_word(disk.path);
  return fmt::format("flowrun: what is finished stays: the same command goes on there (flowrun clean{} removes it)\n",
                     places);
}

std::string describe_resume(const loaded_job& loaded, const plan_arguments& arguments) {
  const std::vector<std::string> scratch = scratch_of(loaded);
  const resume::job_identity identity = identity_of(loaded, arguments.job, arguments.verify);
  const bool at_work = std::any_of(scratch.begin(), scratch.end(),
                                   [&](const std::string& one) { return resume::is_at_work(one, identity.key); });
  std::string out = at_work ? "resume: another run of this job works there now, and has got so far\n" : "";
  const resume::manifest_summary there = resume::summary_for(scratch, identity);
  if (!there.reasons_to_start_over.empty())
    return out + fmt::format("resume: a run would start over: {}\n", fmt::join(there.reasons_to_start_over, "; "));
  if (there.job.empty()) return out + "resume: nothing is there; a run with --resume starts at the beginning\n";
  if (there.cut_bytes > 0 && !at_work) out += fmt::format("resume: {}\n", cut_off(there.cut_bytes));
  for (const std::string& one : described(there)) out += fmt::format("resume: {}\n", one);
  return there.has_progress() ? out : out + "resume: nothing is finished yet\n";
}

}  // namespace flowrun::runner
