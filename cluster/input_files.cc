#include "cluster/input_files.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <optional>
#include <set>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/plan/file_rules.h"

namespace flowrun::cluster {

namespace {

std::set<std::string> paths_read(const plan::graph& g) {
  std::set<std::string> out;
  for (const plan::file_use& file : plan::files_within(g))
    if (!file.writes) out.insert(file.path);
  return out;
}

std::optional<Plan::InputFile> look_at(const std::string& path) {
  struct stat found {};
  if (stat(path.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) return std::nullopt;
  Plan::InputFile out;
  out.set_path(path);
  out.set_num_bytes(static_cast<uint64_t>(found.st_size));
  out.set_modified_ns(int64_t{found.st_mtim.tv_sec} * 1'000'000'000 + found.st_mtim.tv_nsec);
  return out;
}

}  // namespace

std::vector<Plan::InputFile> look_at_input_files(const plan::graph& g) {
  std::vector<Plan::InputFile> out;
  for (const std::string& path : paths_read(g))
    if (std::optional<Plan::InputFile> file = look_at(path)) out.push_back(std::move(*file));
  return out;
}

void compare_input_files(const Plan& plan, const plan::graph& g) {
  const std::set<std::string> paths = paths_read(g);
  for (const Plan::InputFile& was : plan.inputs()) {
    if (!paths.contains(was.path())) continue;
    const std::optional<Plan::InputFile> is = look_at(was.path());
    const std::string what =
        !is ? "it isn't there any more"
        : is->num_bytes() != was.num_bytes()
            ? fmt::format("it had {} and has {}", format_bytes(was.num_bytes()), format_bytes(is->num_bytes()))
        : is->modified_ns() != was.modified_ns() ? "it was written to"
                                                 : "";
    if (!what.empty())
      throw error(error_kind::bad_data, fmt::format("{} has changed since the job began: {}", was.path(), what),
                  "run the job again, on files that nothing else changes meanwhile");
  }
}

}  // namespace flowrun::cluster
