// flowrun report: the page of a run that has ended, from its report.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "engine/base/error.h"
#include "engine/base/interrupted_call.h"
#include "engine/base/units.h"
#include "engine/exec/job_report.h"
#include "runner/commands.h"
#include "runner/document.h"
#include "runner/page_document.h"

namespace flowrun::runner {

namespace {

// Reports have a few hundred bytes for each node.
constexpr size_t most_bytes = 64 * MiB;

std::string content_of(const std::string& path, const std::string& name) {
  const bool standard = path == "-";
  const int descriptor =
      standard ? STDIN_FILENO : retry_interrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); });
  if (descriptor < 0)
    throw error(error_kind::missing_input, "can't read " + name + ": " + errno_text(errno),
                "give the file that flowrun run --report FILE has written");
  std::string out;
  char buffer[1 << 16];
  ssize_t got = 0;
  int cause = 0;
  while (out.size() <= most_bytes) {
    got = retry_interrupted([&] { return ::read(descriptor, buffer, sizeof buffer); });
    if (got <= 0) break;
    out.append(buffer, static_cast<size_t>(got));
  }
  if (got < 0) cause = errno;
  if (!standard) ::close(descriptor);
  if (cause == EISDIR)
    throw error(error_kind::missing_input, name + " is a directory", "give the file that --report has written");
  if (cause != 0) throw error(error_kind::io, "can't read " + name + ": " + errno_text(cause));
  if (out.size() > most_bytes)
    throw error(error_kind::bad_data,
                fmt::format("{} is no run report: it has more than {}", name, format_bytes(most_bytes)),
                "give the file that flowrun run --report FILE has written");
  return out;
}

}  // namespace

int draw_report(const report_arguments& arguments) {
  refuse_to_replace(arguments.out, arguments.file, "the report", "run.html");
  const std::string name = arguments.file == "-" ? "standard input" : arguments.file;
  const exec::RunReport report = parse_report(content_of(arguments.file, name), name);
  pending_document(arguments.out).write(page_of_report(exec::report_json(report)));
  return 0;
}

}  // namespace flowrun::runner
