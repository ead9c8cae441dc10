// flowrun graph: a picture of a job as it would run.
#include "engine/plan/drawing.h"
#include "runner/commands.h"
#include "runner/document.h"
#include "runner/job_loading.h"

namespace flowrun::runner {

namespace {

// Before the texts are quoted, after which a value of the environment might look otherwise.
void hide_values(const environment_mask& mask, plan::drawing& in) {
  const auto hide = [&mask](std::vector<plan::drawn_box>& boxes) {
    for (plan::drawn_box& box : boxes)
      for (std::string& line : box.lines) line = mask.masked(line);
  };
  in.label = mask.masked(in.label);
  for (plan::drawn_phase& phase : in.phases) hide(phase.boxes);
  hide(in.boxes);
  for (plan::drawn_edge& edge : in.edges)
    for (std::string& line : edge.lines) line = mask.masked(line);
  for (plan::drawing& inside : in.inside) hide_values(mask, inside);
}

}  // namespace

int show_graph(const graph_arguments& arguments, terminal& screen) {
  refuse_to_replace(arguments.output, arguments.job.file, "the job", "job.svg");
  const std::string file = arguments.output == "-" ? "" : arguments.output;
  const loaded_job loaded =
      load(read_job(arguments.job, screen), arguments.job, arguments.resources, screen, {{"-o", file}});
  plan::drawing drawn = plan::draw(*loaded.graph, loaded.plan);
  hide_values(screen.mask(), drawn);
  const std::string text = arguments.format == "svg"       ? plan::svg_text(drawn)
                           : arguments.format == "mermaid" ? plan::mermaid_text(drawn)
                                                           : plan::dot_text(drawn);
  pending_document(arguments.output).write(text);
  return 0;
}

}  // namespace flowrun::runner
