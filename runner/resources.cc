#include "runner/resources.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "engine/base/error.h"
#include "engine/base/machine.h"
#include "engine/base/units.h"
#include "engine/block/scratch_directory.h"
#include "runner/home_paths.h"

namespace flowrun::runner {

namespace {

uint64_t share_of_memory(double percent) {
  return static_cast<uint64_t>(static_cast<double>(usable_memory()) * percent / 100);
}

void choose_memory(resources& out, const resource_arguments& given, const specs::Resources& job,
                   const machine_configuration& machine) {
  const auto from = [&out](const specs::Resources& r, const std::string& name) {
    if (r.has_memory_bytes())
      out.memory_bytes = r.memory_bytes();
    else if (r.has_memory_percent())
      out.memory_bytes = share_of_memory(r.memory_percent());
    else
      return false;
    out.memory_from = name;
    return true;
  };
  if (given.memory_bytes || given.memory_percent) {
    out.memory_bytes = given.memory_bytes ? *given.memory_bytes : share_of_memory(*given.memory_percent);
    out.memory_from = "command line";
  } else if (!from(job, "job") && !from(machine.resources, machine.path)) {
    out.memory_bytes = usable_memory() / 2;
    out.memory_from = "default";
  }
}

io::service_order order_of(specs::IoOrder order) {
  switch (order) {
    case specs::WRITES_FIRST: return io::service_order::writes_first;
    case specs::ARRIVAL: return io::service_order::arrival;
    default: return io::service_order::alternating;
  }
}

void choose_threads(resources& out, const resource_arguments& given, const specs::Resources& job,
                    const machine_configuration& machine) {
  unsigned asked = 0;
  if (given.threads) {
    asked = *given.threads;
    out.threads_from = "command line";
  } else if (job.has_threads()) {
    asked = job.threads();
    out.threads_from = "job";
  } else if (machine.resources.has_threads()) {
    asked = machine.resources.threads();
    out.threads_from = machine.path;
  } else {
    asked = usable_cores();
    out.threads_from = "default";
  }
  // A job or a configuration that was written for a larger machine runs here, too. A user who says -j 64 gets 64.
  out.threads = given.threads ? asked : std::min(asked, usable_cores());
}

// Where there is no home directory (a service, a bare container): what the system has for large temporary files.
std::string default_scratch() {
  const std::string path = user_directory("XDG_CACHE_HOME", ".cache");
  if (!path.empty()) return path;
  const char* const temporary = std::getenv("TMPDIR");
  return temporary != nullptr && *temporary == '/' ? temporary : "/var/tmp";
}

void choose_scratch(resources& out, const resource_arguments& given, const specs::Resources& job,
                    const machine_configuration& machine) {
  const auto from = [&out](const specs::Resources& r, const std::string& name) {
    for (const specs::ScratchDir& dir : r.scratch())
      out.scratch.push_back({dir.path(), dir.limit_bytes(), dir.weight()});
    out.scratch_from = name;
    return !out.scratch.empty();
  };
  if (!given.scratch.empty()) {
    out.scratch = given.scratch;
    out.scratch_from = "command line";
  } else if (!from(job, "job") && !from(machine.resources, machine.path)) {
    out.scratch.push_back({default_scratch(), 0});
    out.scratch_from = "default";
  }
}

block::allocation_strategy strategy_of(specs::Allocation allocation) {
  switch (allocation) {
    case specs::STRIPING: return block::allocation_strategy::striping;
    case specs::SIMPLE_RANDOMISED: return block::allocation_strategy::simple_randomised;
    case specs::FULLY_RANDOMISED: return block::allocation_strategy::fully_randomised;
    default: return block::allocation_strategy::randomised_cycling;
  }
}

bool is_of_command_line(const resources& chosen) { return chosen.scratch_from == "command line"; }

std::string origin_of_scratch(const resources& chosen) {
  return is_of_command_line(chosen) ? "-T" : chosen.scratch_from;
}

}  // namespace

resources decide(const resource_arguments& given, const specs::Resources& of_job,
                 const machine_configuration& of_machine) {
  resources out;
  choose_memory(out, given, of_job, of_machine);
  choose_threads(out, given, of_job, of_machine);
  choose_scratch(out, given, of_job, of_machine);
  out.block_bytes = given.block_bytes > 0      ? given.block_bytes
                    : of_job.has_block_bytes() ? of_job.block_bytes()
                                               : of_machine.resources.block_bytes();
  out.batch_bytes = given.batch_bytes;
  const specs::Resources& machine = of_machine.resources;
  out.scratch_limit = given.scratch_limit                ? *given.scratch_limit
                      : of_job.has_scratch_limit_bytes() ? of_job.scratch_limit_bytes()
                                                         : machine.scratch_limit_bytes();
  out.disk_depth = given.disk_depth ? *given.disk_depth : of_job.has_depth() ? of_job.depth() : machine.depth();
  if (given.allocation)
    out.allocation = *given.allocation;
  else if (of_job.has_allocation() || machine.has_allocation())
    out.allocation = strategy_of(of_job.has_allocation() ? of_job.allocation() : machine.allocation());
  if (given.io_order)
    out.io_order = *given.io_order;
  else if (of_job.has_io_order() || machine.has_io_order())
    out.io_order = order_of(of_job.has_io_order() ? of_job.io_order() : machine.io_order());
  return out;
}

block::disk_config parse_scratch(const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) return {expanded_home(text), 0};
  const std::string behind = text.substr(colon + 1);
  if (const auto limit = parse_bytes(behind)) {
    if (*limit == 0)
      throw error(error_kind::usage, "-T " + text + ": a limit of 0 bytes leaves nothing to write to",
                  "-T DIR:500GiB, or -T DIR without a limit");
    return {expanded_home(text.substr(0, colon)), *limit};
  }
  // A directory's name may have colons, but a number behind a colon is more likely a limit than a part of the name.
  if (!behind.empty() && behind[0] >= '0' && behind[0] <= '9' && behind.find('/') == std::string::npos)
    throw error(error_kind::usage, "-T " + text + ": '" + behind + "' is no number of bytes",
                "-T DIR:500GiB; for a directory of that very name, write a slash behind it: -T " + text + "/");
  return {expanded_home(text), 0};
}

plan::machine machine_of(const resources& decided) {
  plan::machine out;
  out.memory_bytes = decided.memory_bytes;
  out.threads = decided.threads;
  out.num_disks = static_cast<unsigned>(decided.scratch.size());
  if (decided.disk_depth > 0) out.disk_depth = decided.disk_depth;
  out.block_bytes = decided.block_bytes;
  out.batch_bytes = decided.batch_bytes;
  return out;
}

void check_scratch(const resources& chosen) {
  if (chosen.scratch_from == "default") return;
  for (const block::disk_config& disk : chosen.scratch) {
    std::error_code problem;
    const auto status = std::filesystem::status(disk.path, problem);
    if (!std::filesystem::exists(status) || std::filesystem::is_directory(status)) continue;
    throw error(is_of_command_line(chosen) ? error_kind::usage : error_kind::bad_spec,
                fmt::format("the scratch directory {} is no directory ({})", disk.path, origin_of_scratch(chosen)),
                "name a directory; one that isn't there is made");
  }
}

void try_scratch(const resources& chosen, bool is_needed) {
  if (chosen.scratch_from == "default" || (!is_of_command_line(chosen) && !is_needed)) return;
  for (const block::disk_config& disk : chosen.scratch) {
    try {
      block::try_scratch_directory(disk.path);
    } catch (const error& problem) {
      throw error(problem.kind(), fmt::format("{} ({})", problem.what(), origin_of_scratch(chosen)), problem.hint());
    }
  }
}

}  // namespace flowrun::runner
