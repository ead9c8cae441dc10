// flowrun new: begins a job.
#include <fmt/format.h>

#include "engine/io/output_target.h"
#include "runner/commands.h"
#include "runner/document.h"
#include "runner/job_loading.h"
#include "runner/new_job.h"
#include "runner/shown_text.h"
#include "runner/words.h"
#include "specs/yaml_reader.h"

namespace flowrun::runner {

int begin_job(const document_arguments& arguments, terminal& screen) {
  pending_document out(arguments.output, io::what_is_there::refused);
  // It need not be where its files are: sizes and contents are not looked at.
  const plan::vocabulary catalog = known_vocabulary();
  const auto check = [&catalog](const std::string& text) -> plan::check_result {
    specs::read_result read = specs::read_job(text, "job");
    if (!read.faults.empty()) return {{}, std::move(read.faults)};
    return plan::check(std::make_shared<const specs::JobSpec>(std::move(read.job)), catalog, {});
  };
  out.write(new_job(arguments.name, catalog, check));
  if (arguments.output != "-")
    screen.say(fmt::format("{}: put your files and columns in; flowrun check {} looks\n", arguments.output,
                           shell_word(arguments.output)));
  return 0;
}

}  // namespace flowrun::runner
