#include "cluster/kept_state.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <optional>
#include <string_view>
#include <system_error>

#include "cluster/cluster.pb.h"
#include "cluster/output_manifest.h"
#include "engine/base/error.h"

namespace flowrun::cluster {

namespace {

namespace fs = std::filesystem;

// By name, so that messages are the same each time.
std::vector<std::string> files_in(const std::string& path, std::string_view beginning) {
  std::vector<std::string> out;
  std::error_code problem;
  for (fs::directory_iterator at(path, problem), end; !problem && at != end; at.increment(problem)) {
    const std::string name = at->path().filename().string();
    // Behind a point stand the letters of a name under which a message was written before it was whole.
    if (name.starts_with(beginning) && name.find('.') == std::string::npos) out.push_back(at->path().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

template <class Message>
void read_all(const std::vector<std::string>& paths, std::vector<std::string>& faults,
              const std::function<void(const Message&)>& look) {
  for (const std::string& path : paths) {
    Message message;
    try {
      if (read_message(path, message)) look(message);
    } catch (const error& problem) {
      faults.emplace_back(problem.what());
    }
  }
}

// Whether the driver of the run has given the part the name that it has in the folder, or the folder its name, before
// it was stopped (output_folder::finish() and place()).
bool has_got_on(const fs::path& part, const std::string& id) {
  const std::string name = part.filename().string(), folder = part.parent_path().filename().string(),
                    ending = fmt::format(".flowrun-{}.tmp", id);
  const size_t number_end = std::min(name.find('.'), name.size()), attempt_end = name.find('.', number_end + 1);
  const std::string renamed =
      name.substr(0, number_end) + (attempt_end == std::string::npos ? "" : name.substr(attempt_end));
  std::error_code ignored;
  if (renamed != name && fs::exists(part.parent_path() / renamed, ignored)) return true;
  if (!folder.starts_with('.') || !folder.ends_with(ending) || folder.size() <= ending.size() + 1) return false;
  const std::string output = folder.substr(1, folder.size() - ending.size() - 1);
  try {
    const std::optional<output_manifest> manifest = read_manifest((part.parent_path().parent_path() / output).string());
    return manifest && manifest->run == id;
  } catch (const error&) {
    return false;
  }
}

// Empty: the part is as its task has left it.
std::string fault_of(const Done::Output& part, const std::string& id) {
  if (part.modified_ns() == 0) return {};  // of a path that names columns, where there were no rows
  struct stat found {};
  if (::stat(part.path().c_str(), &found) != 0) {
    const int cause = errno;
    return has_got_on(part.path(), id) ? std::string() : fmt::format("{}: {}", part.path(), errno_text(cause));
  }
  const bool is_same =
      !S_ISREG(found.st_mode) || (static_cast<uint64_t>(found.st_size) == part.bytes() &&
                                  found.st_mtim.tv_sec * 1'000'000'000 + found.st_mtim.tv_nsec == part.modified_ns());
  return is_same ? std::string() : fmt::format("{} has changed", part.path());
}

}  // namespace

std::vector<std::string> faults_of_kept(const shared_directory& directory) {
  std::vector<std::string> out;
  if (std::error_code ignored; !fs::is_directory(directory.path(), ignored))
    return {directory.path() + " is not there"};
  const std::vector<std::string> plans = files_in(directory.path(), "plan"),
                                 stages = files_in(directory.path(), "stage-"),
                                 done_files = files_in(directory.path(), "done-");
  if (plans.empty() && (!stages.empty() || !done_files.empty()))
    out.push_back(fmt::format("{} is not there", directory.plan()));
  std::string id;
  read_all<Plan>(plans, out, [&](const Plan& plan) { id = plan.id(); });
  read_all<StageTasks>(stages, out, [](const StageTasks&) {});
  read_all<Done>(done_files, out, [&](const Done& done) {
    for (const Done::Output& part : done.outputs())
      if (std::string fault = fault_of(part, id); !fault.empty()) out.push_back(std::move(fault));
  });
  return out;
}

std::set<std::string> hidden_outputs_of(const shared_directory& directory) {
  std::set<std::string> out;
  std::vector<std::string> ignored;
  Plan plan;
  read_all<Plan>({directory.plan()}, ignored, [&](const Plan& found) { plan = found; });
  const std::string ending = fmt::format(".flowrun-{}.tmp", plan.id());
  if (plan.id().empty()) return out;
  read_all<Done>(files_in(directory.path(), "done-"), ignored, [&](const Done& done) {
    for (const Done::Output& part : done.outputs())
      for (fs::path at = part.path(); at.has_relative_path(); at = at.parent_path())
        if (at.filename().string().ends_with(ending)) out.insert(at.string());
  });
  return out;
}

}  // namespace flowrun::cluster
