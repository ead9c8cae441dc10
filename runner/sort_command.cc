#include "runner/sort_command.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <new>

#include "engine/base/error.h"
#include "operators/parts/order/row_out_of_order.h"
#include "runner/commands.h"
#include "runner/document.h"
#include "runner/job_loading.h"
#include "runner/sort_command_job.h"
#include "runner/sort_command_line.h"
#include "runner/sort_help_text.h"
#include "specs/source_text.h"

namespace flowrun::runner {

namespace {

constexpr int exit_disorder = 1;
constexpr int exit_trouble = 2;

void tell(const std::string& text) {
  try {
    write_fully(STDERR_FILENO, text, "standard error");
  } catch (const error&) {  // nobody can be told
  }
}

int fail(const std::string& what, const std::string& hint) {
  if (!what.empty()) tell("flowrun sort: " + what + "\n");
  if (!hint.empty()) tell("  help: " + hint + "\n");
  return exit_trouble;
}

// Hints of the engine name the options of flowrun run.
std::string in_our_options(std::string hint) {
  for (const auto& [theirs, ours] :
       {std::pair<std::string_view, std::string_view>{"(-m)", "(-S)"}, {"with -m", "with -S"}}) {
    const size_t at = hint.find(theirs);
    if (at != std::string::npos) hint.replace(at, theirs.size(), ours);
  }
  return hint;
}

// A standard descriptor that was closed is open the wrong way round (main.cc).
void check_descriptor(int descriptor, int wrong_way, const char* name) {
  const int flags = ::fcntl(descriptor, F_GETFL);
  if (flags < 0 || (flags & O_ACCMODE) == wrong_way)
    throw error(error_kind::missing_input, name + (": " + errno_text(EBADF)), "it is closed");
}

void check_input(const std::string& path) {
  if (path == "-") return check_descriptor(STDIN_FILENO, O_WRONLY, "-");
  struct stat there {};
  if (::stat(path.c_str(), &there) != 0 || ::access(path.c_str(), R_OK) != 0)
    throw error(error_kind::missing_input, path + ": " + errno_text(errno));
  if (S_ISDIR(there.st_mode)) throw error(error_kind::missing_input, path + ": " + errno_text(EISDIR));
}

// GNU sort makes no directories either.
void check_output(const std::string& path) {
  if (path == "-") return check_descriptor(STDOUT_FILENO, O_RDONLY, "standard output");
  struct stat there {};
  if (::stat(path.c_str(), &there) == 0) {
    if (S_ISDIR(there.st_mode)) throw error(error_kind::output, path + ": " + errno_text(EISDIR));
    if (::access(path.c_str(), W_OK) != 0) throw error(error_kind::output, path + ": " + errno_text(errno));
    return;
  }
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  if (path.empty() || path.ends_with('/') || ::access(parent.empty() ? "." : parent.c_str(), W_OK | X_OK) != 0)
    throw error(error_kind::output, path + ": " + errno_text(path.empty() || path.ends_with('/') ? ENOENT : errno));
}

// A job is text in UTF-8; a file with another name is opened here and goes by its number.
std::string nameable(const std::string& path) {
  if (specs::is_utf8(path)) return path;
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) throw error(error_kind::missing_input, path + ": " + errno_text(errno));
  return "/dev/fd/" + std::to_string(descriptor);  // open until the program ends
}

// Standard output is a pipe that nobody reads any more.
bool reader_is_gone(const sort_request& request) {
  pollfd out{STDOUT_FILENO, POLLOUT, 0};
  return request.output == "-" && ::poll(&out, 1, 0) == 1 && (out.revents & POLLERR) != 0;
}

// What -c says, and -m when a file isn't sorted: FILE:LINE: disorder: TEXT.
std::string disorder_text(const sort_request& request, const operators::row_out_of_order& problem) {
  const std::string number = problem.node().substr(std::string_view(sort_check_node).size());
  const auto file = static_cast<size_t>(std::strtoul(number.c_str(), nullptr, 10)) - 1;
  const auto line = problem.texts().find(sort_line_column);
  return fmt::format("{}:{}: disorder: {}", file < request.files.size() ? request.files[file] : "-", problem.row() + 1,
                     line != problem.texts().end() ? line->second : "");
}

void choose_scratch(sort_request& request) {
  if (!request.scratch.empty()) return;
  const auto value_of = [](const char* variable) {
    const char* const value = std::getenv(variable);
    return std::string(value == nullptr ? "" : value);
  };
  const std::string temporary = value_of("TMPDIR");
  if (!temporary.empty() && ::access(temporary.c_str(), W_OK | X_OK) == 0)
    request.scratch.push_back(temporary);
  else if (value_of("HOME").empty() && value_of("XDG_CACHE_HOME").empty())
    request.scratch.emplace_back("/tmp");
}

int carry_out(sort_request& request) {
  for (const std::string& path : request.files) check_input(path);
  choose_scratch(request);
  sort_request named = request;
  if (!request.print_spec) {
    if (request.task != sort_task::check) check_output(request.output);
    for (std::string& path : named.files) path = nameable(path);
  }
  for (const std::string& path : named.scratch)
    if (!specs::is_utf8(path)) throw error(error_kind::usage, path + ": is not UTF-8", "-T with another name");
  if (!specs::is_utf8(named.output))
    throw error(error_kind::usage, request.output + ": is not UTF-8", "write to standard output");
  run_arguments job;
  job.job.file = "sort";
  job.job.text = sort_job_text(named);
  job.job.may_replace_inputs = true;  // -o FILE may be an input, which has been read by then
  if (request.print_spec) {
    print(job.job.text);
    return 0;
  }
  job.engine.sync_outputs = false;  // as GNU sort
  job.progress = request.debug ? progress_mode::automatic : progress_mode::none;
  terminal screen(request.debug ? verbosity::verbose : verbosity::quiet, color_choice::automatic);
  if (request.debug) tell(job.job.text);
  return run(job, screen);
}

}  // namespace

int sort_lines(const std::vector<std::string>& arguments, bool may_be_piped_away) {
  sort_request request;
  try {
    request = parse_sort_command_line(arguments);
    if (request.help) {
      print(sort_help);
      return 0;
    }
    return request.version ? show_version() : carry_out(request);
  } catch (const faults_shown&) {
    return exit_trouble;
  } catch (const operators::row_out_of_order& problem) {
    const std::string text = disorder_text(request, problem);
    if (request.task != sort_task::check)
      return fail(text, "-m merges files that are sorted already, by these options; without -m they are sorted");
    if (!request.silent_check) tell("sort: " + text + (request.zero_terminated ? '\0' : '\n'));
    return exit_disorder;
  } catch (const error& problem) {
    if (reader_is_gone(request)) {
      if (may_be_piped_away) {
        std::signal(SIGPIPE, SIG_DFL);
        std::raise(SIGPIPE);
      }
      return fail("write failed: 'standard output': " + errno_text(EPIPE), "");
    }
    return fail(problem.what(), in_our_options(problem.hint()));
  } catch (const std::bad_alloc&) {
    return fail("memory exhausted", "the machine has less memory than the budget: lower it with -S");
  } catch (const std::exception& problem) {
    return fail(std::string("internal error: ") + problem.what(), "this is a bug in flowrun; please report it");
  }
}

}  // namespace flowrun::runner
