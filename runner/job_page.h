// The page of a run (--ui), and a run's report as the document that the page and --report show.
#pragma once

#include <memory>
#include <string>

#include "engine/exec/report.pb.h"
#include "runner/options.h"
#include "runner/page_server.h"
#include "runner/terminal.h"

namespace flowrun::runner {

// Null where no page was asked for. A job whose page can't be served goes on without, with a warning.
std::unique_ptr<page_server> open_page(const run_arguments& arguments, terminal& screen);

// As JSON, with the version of this program, and without what the environment hides.
std::string report_document(exec::RunReport report, const terminal& screen);

}  // namespace flowrun::runner
