// flowrun check: everything that can be known before a run, all faults at once.
#include <algorithm>

#include "engine/base/counted.h"
#include "runner/commands.h"
#include "runner/disk_room.h"
#include "runner/job_loading.h"

namespace flowrun::runner {

int check(const check_arguments& arguments, terminal& screen) {
  int code = 0;
  for (const std::string& file : arguments.files) {
    job_arguments job = arguments.job;
    job.file = file;
    try {
      const loaded_job loaded = load(job, arguments.resources, screen);
      try_scratch(loaded.machine, job.look_at_files && may_use_scratch(loaded));
      check_scratch_room(loaded.plan, loaded.machine, false, screen);
      if (job.look_at_files) check_output_room(*loaded.graph, false, screen);
      screen.say(fmt::format("{}: no faults; {}, {}\n", loaded.graph->job->file(),
                             counted(loaded.graph->nodes.size(), "node"), counted(loaded.plan.phases.size(), "phase")));
    } catch (const faults_shown& shown) {
      code = std::max(code, shown.exit_code());  // a wrong job comes before a missing file
    }
  }
  return code;
}

}  // namespace flowrun::runner
