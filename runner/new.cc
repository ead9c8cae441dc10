// flowrun new: begins a job.
#include <fmt/format.h>
#include <sys/stat.h>

#include "engine/base/error.h"
#include "runner/commands.h"
#include "runner/document.h"
#include "runner/job_loading.h"
#include "runner/new_job.h"
#include "runner/words.h"
#include "specs/yaml_reader.h"

namespace flowrun::runner {

int begin_job(const document_arguments& arguments, terminal& screen) {
  // A job that somebody has worked on is not replaced.
  struct stat there {};
  if (arguments.output != "-" && ::lstat(arguments.output.c_str(), &there) == 0 && S_ISREG(there.st_mode))
    throw error(error_kind::output, fmt::format("{} is there already", arguments.output), "another -o, or remove it");
  // It need not be where its files are: sizes and contents are not looked at.
  const plan::vocabulary catalog = known_vocabulary();
  const auto check = [&catalog](const std::string& text) -> plan::check_result {
    specs::read_result read = specs::read_job(text, "job");
    if (!read.faults.empty()) return {{}, std::move(read.faults)};
    return plan::check(std::make_shared<const specs::JobSpec>(std::move(read.job)), catalog, {});
  };
  pending_document(arguments.output).write(new_job(arguments.name, catalog, check));
  if (arguments.output != "-")
    screen.say(
        fmt::format("{}: put your files and columns in; flowrun check {} looks\n", arguments.output, arguments.output));
  return 0;
}

}  // namespace flowrun::runner
