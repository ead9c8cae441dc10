#include "engine/exec/file_preflight.h"

#include "engine/io/file_trial.h"
#include "engine/plan/file_rules.h"
#include "specs/value.h"

namespace flowrun::exec {

std::vector<file_fault> look_at_files(const plan::graph& checked) {
  std::vector<file_fault> faults;
  for (const plan::node& n : checked.nodes) {
    std::vector<plan::file_use> used = plan::files_of(n);
    for (plan::file_use& index : plan::indexes_of(n)) used.push_back(std::move(index));
    for (const plan::file_use& use : used) {
      try {
        if (use.writes)
          io::try_output(use.path);
        else
          io::try_input(use.path);
      } catch (const error& problem) {
        faults.push_back(
            {{specs::where(checked.job->file(), use.where), problem.what(), {}, problem.hint()}, problem.kind()});
      }
    }
  }
  return faults;
}

}  // namespace flowrun::exec
