// flowrun plan: what a run would do and cost, without running.
#include "engine/plan/explain.h"
#include "engine/plan/plan_message.h"
#include "runner/cluster_run.h"
#include "runner/commands.h"
#include "runner/disk_room.h"
#include "runner/document.h"
#include "runner/job_loading.h"
#include "runner/resuming.h"

namespace flowrun::runner {

int show_plan(const plan_arguments& arguments, terminal& screen) {
  const loaded_job loaded = load(arguments.job, arguments.resources, screen);
  try_scratch(loaded.machine, false);
  for (const std::string& path : loaded.missing_inputs) screen.warn("input " + path + ": no such file");
  check_scratch_room(loaded.plan, loaded.machine, true, screen);
  check_output_room(*loaded.graph, true, screen);
  std::string text;
  if (arguments.format == "json") {
    plan::PhysicalPlan message = plan::to_proto(*loaded.graph, loaded.plan);
    if (!arguments.cluster.empty())
      *message.mutable_stages() = describe_stages(loaded, arguments.cluster, arguments.tasks).stages;
    screen.mask().mask(message);
    text = plan::explain_json(message);
  } else {
    text = screen.mask().masked(arguments.format == "dot" ? plan::explain_dot(*loaded.graph, loaded.plan)
                                                          : plan::explain_text(*loaded.graph, loaded.plan));
  }
  if (!text.ends_with('\n')) text += '\n';
  if (arguments.resume && arguments.format == "text") text += screen.mask().masked(describe_resume(loaded, arguments));
  if (!arguments.cluster.empty() && arguments.format == "text")
    text += "\n" + screen.mask().masked(describe_stages(loaded, arguments.cluster, arguments.tasks).text);
  arguments.format == "text" ? print_lines(text) : print(text);
  return 0;
}

}  // namespace flowrun::runner
