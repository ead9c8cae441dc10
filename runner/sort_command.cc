#include "runner/sort_command.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <new>

#include "engine/base/broken_pipe.h"
#include "engine/block/scratch_directory.h"
#include "operators/parts/order/row_out_of_order.h"
#include "runner/commands.h"
#include "runner/document.h"
#include "runner/job_loading.h"
#include "runner/machine_configuration.h"
#include "runner/run.h"
#include "runner/shown_text.h"
#include "runner/sort_command_job.h"
#include "runner/sort_command_line.h"
#include "runner/sort_help_text.h"
#include "specs/yaml_reader.h"
#include "specs/yaml_writer.h"

namespace flowrun::runner {

namespace {

constexpr int exit_disorder = 1;
constexpr int exit_unknown_word = 1;
constexpr int exit_trouble = 2;

void tell(const std::string& text) {
  try {
    write_fully(STDERR_FILENO, text, "standard error");
  } catch (const error&) {  // there is nowhere else to say it
  }
}

int fail(const std::string& what, const std::string& hint) {
  if (!what.empty()) tell("flowrun sort: " + without_controls(what) + "\n");
  if (!hint.empty()) tell("  help: " + without_controls(hint) + "\n");
  return exit_trouble;
}

// Hints of the engine name the options of flowrun run.
std::string in_our_options(std::string hint) {
  using text = std::string_view;
  for (const auto& [theirs, ours] : {std::pair<text, text>{"(-m)", "(-S)"},
                                     {"with -m", "with -S"},
                                     {"the job more memory (-m, or memory: under resources:)", "it more memory (-S)"},
                                     {"(-T DIR, or resources: scratch)", "(-T DIR)"},
                                     {"(-j)", "(--parallel)"}}) {
    const size_t at = hint.find(theirs);
    if (at != std::string::npos) hint.replace(at, theirs.size(), ours);
  }
  // Nodes of the job have no names for whoever sorts lines.
  constexpr text begin = ", so that '", end = "' has more";
  if (const size_t at = hint.find(begin); at != std::string::npos)
    if (const size_t last = hint.find(end, at); last != std::string::npos) hint.erase(at, last + end.size() - at);
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

// A job may not write what it reads; flowrun sort may, since the output takes its name when all has been read.
void print_job(const sort_request& request, const specs::Value& job) {
  struct stat output {};
  struct stat input {};
  const bool exists = request.output != "-" && ::stat(request.output.c_str(), &output) == 0;
  for (const std::string& path : request.files)
    if (exists && path != "-" && ::stat(path.c_str(), &input) == 0 && output.st_dev == input.st_dev &&
        output.st_ino == input.st_ino)
      throw error(error_kind::bad_spec, request.output + ": a job may not write what it reads", "another -o");
  print(specs::write_yaml(job, specs::dollars::doubled));
}

// What -c says, and -m when a file isn't sorted: FILE:LINE: disorder: TEXT.
std::string disorder_text(const sort_request& request, const operators::row_out_of_order& problem) {
  const std::string number = problem.node().substr(std::string_view(sort_check_node).size());
  const auto file = static_cast<size_t>(std::strtoul(number.c_str(), nullptr, 10)) - 1;
  const auto line = problem.texts().find(sort_line_column);
  return fmt::format("{}:{}: disorder: {}", file < request.files.size() ? request.files[file] : "-", problem.row() + 1,
                     line != problem.texts().end() ? line->second : "");
}

// A service has a home directory that isn't there.
bool can_be_used(const std::string& directory) {
  if (directory.empty()) return false;
  try {
    block::try_scratch_directory(directory);
    return true;
  } catch (const error& problem) {
    return problem.kind() != error_kind::output;  // a full disk is told
  }
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
  else if (!read_machine_configuration().resources.scratch_size() &&
           !can_be_used(user_directory("XDG_CACHE_HOME", ".cache")))
    request.scratch.emplace_back("/tmp");
}

void tell_job(const specs::Value& job) {
  try {
    tell(specs::write_yaml(job, specs::dollars::doubled));
  } catch (const error& problem) {
    tell(fmt::format("flowrun sort: the job can't be shown: {}\n", problem.what()));
  }
}

int carry_out(sort_request& request) {
  for (const std::string& path : request.files) check_input(path);
  choose_scratch(request);
  if (!request.print_spec && request.task != sort_task::check) check_output(request.output);
  const specs::Value tree = sort_job(request);
  if (request.print_spec) {
    print_job(request, tree);
    return 0;
  }
  terminal screen(request.debug ? verbosity::verbose : verbosity::quiet, color_choice::automatic);
  run_arguments arguments;
  arguments.engine.sync_outputs = false;  // as GNU sort
  arguments.progress = request.debug ? progress_mode::automatic : progress_mode::none;
  if (request.debug) tell_job(tree);
  run_metrics nobody_asks("sort", screen);
  report_file no_report("");
  return run_loaded(planned_or_shown(specs::read_tree(tree, "sort"), {}, screen, {}, true), arguments, nobody_asks,
                    no_report, screen);
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
    return request.version ? show_version({.only_number = true}) : carry_out(request);
  } catch (const faults_shown&) {
    return exit_trouble;
  } catch (const unknown_word& problem) {
    fail(problem.what(), problem.hint());
    return exit_unknown_word;
  } catch (const operators::row_out_of_order& problem) {
    const std::string text = disorder_text(request, problem);
    if (request.task != sort_task::check)
      return fail(text, "-m merges files that are sorted already, by these options; without -m they are sorted");
    // Byte for byte as GNU sort, whose output programs read.
    if (!request.silent_check) tell("sort: " + text + (request.zero_terminated ? '\0' : '\n'));
    return exit_disorder;
  } catch (const broken_pipe&) {
    if (may_be_piped_away) {
      std::signal(SIGPIPE, SIG_DFL);
      std::raise(SIGPIPE);
    }
    return fail("write failed: 'standard output': " + errno_text(EPIPE), "");
  } catch (const error& problem) {
    return fail(problem.what(), in_our_options(problem.hint()));
  } catch (const std::bad_alloc&) {
    return fail("memory exhausted", "the machine has less memory than the budget: lower it with -S");
  } catch (const std::exception& problem) {
    return fail(std::string("internal error: ") + problem.what(), "this is a bug in flowrun; please report it");
  }
}

}  // namespace flowrun::runner
