// The page on which a job is seen, as one document of HTML that asks no other address for anything. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/exec/report.pb.h"

namespace flowrun::runner {

// Shows a run that has ended. `json`: its report.
std::string page_of_report(std::string_view json);

// Shows a job that runs: asks for state.json beside it.
std::string live_page_document();

// The report in `json`, of whatever format; none where it is something else.
std::optional<exec::RunReport> report_in(const std::string& json);

// The report in `json`, which came from `name`. Throws error(bad_data) where it is none, or one of another format.
exec::RunReport parse_report(const std::string& json, const std::string& name);

}  // namespace flowrun::runner
