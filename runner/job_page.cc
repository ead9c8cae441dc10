#include "runner/job_page.h"

#include <fmt/format.h>

#include "engine/base/error.h"
#include "engine/exec/job_report.h"
#include "engine/metrics/listening.h"
#include "runner/page_address.h"
#include "runner/version.h"

namespace flowrun::runner {

std::unique_ptr<page_server> open_page(const run_arguments& arguments, terminal& screen) {
  if (arguments.page_listen.empty()) return nullptr;
  metrics::listen_range range = page_addresses(arguments.page_listen);
  range.else_any = arguments.page_anywhere;
  std::unique_ptr<page_server> out;
  try {
    metrics::serve_at_first_free(range, "the page", [&out](const std::string& address) {
      try {
        out = std::make_unique<page_server>(address);
      } catch (const error&) {  // another process was faster
      }
      return out != nullptr;
    });
  } catch (const error& problem) {
    screen.warn(fmt::format("{}; the job goes on without ({})", problem.what(), problem.hint()));
    return nullptr;
  }
  screen.say("flowrun: the job can be watched at " + out->url() + "\n");
  return out;
}

std::string report_document(exec::RunReport report, const terminal& screen) {
  report.set_version(std::string(version));
  // Short values from the environment are masked only in quotes. Of a parameter that is nothing else all is masked.
  for (auto& p : *report.mutable_parameters()) p.set_value(screen.mask().masked_whole(p.value()));
  screen.mask().mask(report);
  return exec::report_json(report);
}

}  // namespace flowrun::runner
