#include "engine/exec/file_preflight.h"

#include <algorithm>

#include "engine/exec/operator_definition.h"
#include "engine/io/file_trial.h"
#include "engine/plan/file_rules.h"
#include "specs/value.h"

namespace flowrun::exec {

namespace {

class file_preflight {
 public:
  file_preflight(const operator_set& operators, void (*try_output)(const std::string&))
      : operators_(operators), try_output_(try_output) {}

  // `only_if_runs`: file_fault.
  void look_at(const plan::graph& g, const std::string& only_if_runs) {
    for (const plan::node& n : g.nodes) {
      std::vector<plan::file_use> used = plan::files_of(n);
      for (plan::file_use& index : plan::indexes_of(n)) used.push_back(std::move(index));
      for (const plan::file_use& use : used) {
        try {
          look_at(n, use);
        } catch (const error& problem) {
          add({{specs::where(g.job->file(), use.where), problem.what(), {}, problem.hint()},
               problem.kind(),
               only_if_runs});
        }
      }
      for (const auto& body : n.bodies)
        look_at(*body, only_if_runs.empty() && !n.facts.bodies_run ? body->path : only_if_runs);
    }
  }

  std::vector<file_fault> take() { return std::move(faults_); }

 private:
  void look_at(const plan::node& n, const plan::file_use& use) const {
    if (use.writes) return try_output_(use.path);
    io::try_input(use.path);
    const auto found = operators_.find(n.declaration->name);
    if (found != operators_.end() && found->second->look_into && io::may_look_into(use.path))
      found->second->look_into(n, use.path);
  }

  // A graph that is called from several places is looked at as often; one of them may be sure to run.
  void add(file_fault fault) {
    const auto same = std::find_if(faults_.begin(), faults_.end(), [&](const file_fault& other) {
      return other.what.where == fault.what.where && other.what.message == fault.what.message;
    });
    if (same == faults_.end())
      faults_.push_back(std::move(fault));
    else if (fault.only_if_runs.empty())
      same->only_if_runs.clear();
  }

  const operator_set& operators_;
  void (*const try_output_)(const std::string&);
  std::vector<file_fault> faults_;
};

}  // namespace

std::vector<file_fault> look_at_files(const plan::graph& checked, const operator_set& operators,
                                      void (*try_output)(const std::string&)) {
  file_preflight preflight(operators, try_output == nullptr ? io::try_output : try_output);
  preflight.look_at(checked, {});
  return preflight.take();
}

}  // namespace flowrun::exec
