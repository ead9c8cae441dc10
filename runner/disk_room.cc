#include "runner/disk_room.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "engine/base/counted.h"
#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/io/followed_path.h"
#include "engine/io/identify.h"
#include "engine/plan/file_rules.h"
#include "engine/plan/prediction.h"

namespace flowrun::runner {

namespace {

constexpr uint64_t unknown = UINT64_MAX;

struct free_space {
  uint64_t file_system = 0;
  uint64_t num_bytes = 0;
};

// Of the directory, or of the nearest one above that exists. What a file system keeps for root is free for root.
std::optional<free_space> free_space_of(const std::string& directory) {
  std::error_code problem;
  std::filesystem::path path = std::filesystem::absolute(directory, problem);
  if (problem) return std::nullopt;
  while (!std::filesystem::exists(path, problem) && path.has_relative_path()) path = path.parent_path();
  struct ::stat what {};
  struct ::statvfs space {};
  if (::stat(path.c_str(), &what) != 0 || ::statvfs(path.c_str(), &space) != 0) return std::nullopt;
  if (space.f_blocks == 0) return std::nullopt;  // a file system in memory, or one that does not say
  return free_space{what.st_dev, uint64_t{geteuid() == 0 ? space.f_bfree : space.f_bavail} * space.f_frsize};
}

// Of the disk on which an output will lie. nullopt: it is no file on a disk, or not known.
std::optional<free_space> room_of_output(const plan::file_use& output) {
  if (output.path == "-" || output.partitioned) return std::nullopt;
  const std::filesystem::path path = io::resolved_path(io::follow_links(output.path).path);
  std::error_code problem;
  const auto there = std::filesystem::status(path, problem).type();
  if (there != std::filesystem::file_type::not_found && there != std::filesystem::file_type::regular)
    return std::nullopt;
  return free_space_of(path.parent_path().string());
}

// Two sizes of which one is too small: byte by byte where they would read the same.
std::pair<std::string, std::string> told_apart(uint64_t a, uint64_t b) {
  std::pair<std::string, std::string> out{format_bytes(a), format_bytes(b)};
  if (out.first == out.second) out = {counted(a, "byte"), counted(b, "byte")};
  return out;
}

}  // namespace

scratch_room room_for_scratch(const resources& machine) {
  // Directories of one file system share its free room. Each takes no more than its limit.
  struct shared_space {
    uint64_t free_bytes = 0;
    uint64_t allowed = 0;
  };
  std::map<uint64_t, shared_space> file_systems;
  scratch_room out{0, "the scratch directories have free or may take"};
  bool known = true;
  for (const block::disk_config& dir : machine.scratch) {
    const std::optional<free_space> space = free_space_of(dir.path);
    known = known && space.has_value();
    if (!space) continue;
    shared_space& there = file_systems[space->file_system];
    there.free_bytes = space->num_bytes;
    const uint64_t allowed = dir.limit > 0 ? dir.limit : unknown;
    there.allowed = allowed > unknown - there.allowed ? unknown : there.allowed + allowed;
  }
  for (const auto& [id, there] : file_systems) out.num_bytes += std::min(there.free_bytes, there.allowed);
  if (!known || file_systems.empty()) out.num_bytes = unknown;
  if (machine.scratch_limit > 0 && machine.scratch_limit <= out.num_bytes)
    out = {machine.scratch_limit, "the scratch limit allows"};
  return out;
}

scratch_verdict judge_scratch(const plan::physical_plan& plan, uint64_t room_bytes) {
  if (plan.certain_peak_scratch > room_bytes) return scratch_verdict::too_little;
  return plan.predicted_peak_scratch > room_bytes ? scratch_verdict::maybe_too_little : scratch_verdict::enough;
}

void check_scratch_room(const plan::physical_plan& plan, const resources& machine, bool only_warn, terminal& screen) {
  const scratch_room room = room_for_scratch(machine);
  const scratch_verdict verdict = judge_scratch(plan, room.num_bytes);
  if (verdict == scratch_verdict::enough) return;
  const bool certain = verdict == scratch_verdict::too_little;
  const std::string predicted = fmt::format("the job may need {}{}", plan.prediction_bounds ? "up to " : "about ",
                                            format_bytes(plan.predicted_peak_scratch));
  const auto [least, there] = told_apart(plan.certain_peak_scratch, room.num_bytes);
  const std::string message =
      certain ? fmt::format("the job needs at least {} of scratch, and {} {}", least, room.from, there)
              : fmt::format("{} of scratch, and {} {}", predicted, room.from, format_bytes(room.num_bytes));
  const std::string way_out =
      (certain ? predicted + "; " : "") +
      "name directories with more room (-T DIR, several for several disks), raise their limits or --scratch-limit, or "
      "give the job more memory (-m); flowrun plan shows which sort takes how much";
  if (certain && !only_warn) throw error(error_kind::resources, message, way_out);
  screen.warn(message + ": " + way_out);
}

void check_output_room(const plan::graph& graph, bool only_warn, terminal& screen) {
  struct outputs {
    std::string first;  // of their paths
    size_t count = 0;
    uint64_t num_bytes = 0;
    uint64_t free_bytes = 0;
  };
  std::map<uint64_t, outputs> file_systems;
  for (const plan::node& n : graph.nodes) {
    if (n.role() != plan::operator_role::sink) continue;
    const std::optional<uint64_t> num_bytes = plan::certain_output_bytes(graph, n);
    if (!num_bytes) continue;
    for (const plan::file_use& use : plan::files_of(n)) {
      const std::optional<free_space> space = room_of_output(use);
      if (!space) continue;
      outputs& there = file_systems[space->file_system];
      if (there.count++ == 0) there.first = use.path;
      there.num_bytes = plan::bound_plus(there.num_bytes, *num_bytes);
      there.free_bytes = space->num_bytes;
    }
  }
  for (const auto& [id, there] : file_systems) {
    if (there.num_bytes <= there.free_bytes) continue;
    const std::string message =
        fmt::format("{}{} will have {}, and its disk has {} free", there.first,
                    there.count == 1 ? "" : fmt::format(" and {}", counted(there.count - 1, "other output")),
                    format_bytes(there.num_bytes), format_bytes(there.free_bytes));
    const std::string way_out = "free space on that disk, or write to another one";
    if (!only_warn) throw error(error_kind::output, message, way_out);
    screen.warn(message + ": " + way_out);
  }
}

}  // namespace flowrun::runner
