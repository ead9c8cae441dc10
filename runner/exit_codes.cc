#include "runner/exit_codes.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "engine/base/error.h"
#include "runner/job_loading.h"

namespace flowrun::runner {

namespace {

constexpr int number_of(error_kind kind) { return static_cast<int>(kind); }

}  // namespace

const std::vector<exit_code>& exit_codes() {
  static const std::vector<exit_code> all = {
      {0, "done", "The command has done what it was asked for. All outputs of the job are in place.",
       "Nothing. Warnings on standard error may be worth a look."},
      {1, "a test has failed",
       "flowrun test: rows differ from those that a test expects. flowrun plugins check: not all operators were tried. "
       "flowrun sort -c: the lines are out of order.",
       "Read the lines marked - (expected) and + (what came) above; flowrun test -v shows each test."},
      {2, "flowrun sort has failed",
       "As of GNU sort: wrong options, an input or an output that can't be used, too little memory.",
       "The message says it. Other commands have codes of their own for each of these."},
      {number_of(error_kind::usage), "the command line is wrong",
       "An option or a command that doesn't exist, a value that isn't one, a FILE that is missing.",
       "Follow the help line of the message; flowrun COMMAND --help lists the options with examples."},
      {number_of(error_kind::bad_data), "the content of an input is wrong",
       "A malformed line, a file that is cut off, a wrong delimiter or type, rows that are not sorted as the job says, "
       "a value that doesn't fit its type.",
       "The message has the file and the line or byte. Mend the file, or the type or delimiter in the job "
       "(flowrun infer FILE shows what fits), or let the source drop such rows: on_error: {to: PORT, max_ratio: "
       "0.01}."},
      {number_of(error_kind::missing_input), "a job or an input is not there, or can't be read",
       "A path that is misspelled or relative to another directory, a pattern that no file matches, permissions. "
       "flowrun top: no job serves its page at the address.",
       "Relative paths begin at the working directory. flowrun check says what is missing before the run."},
      {number_of(error_kind::internal), "a bug in flowrun",
       "A promise inside of flowrun, or of a plugin, was broken. It stops rather than write wrong data.",
       "Nothing was written. Report the message with the job. If it names a plugin: flowrun plugins check PLUGIN."},
      {number_of(error_kind::output), "an output can't be made, or its disk is full",
       "The directory is missing or may not be written, a directory has the output's name, the disk or a quota is "
       "full. A scratch directory can't be made or may not be written.",
       "Free some space, or choose another place for the output (for scratch: -T DIR). Nothing is left behind by the "
       "run that failed."},
      {number_of(error_kind::io), "reading or writing failed",
       "The system reported an error of a disk or of the network behind it, or what was read back is not what was "
       "written (a checksum).",
       "Look at the system's log (dmesg) for the disk that the message names; choose other scratch directories with "
       "-T."},
      {number_of(error_kind::resources), "out of scratch or memory: try again with more",
       "Scratch is full or at its limit, a row is too long for the memory budget, the machine has no more memory.",
       "Give more scratch (-T DIR, as often as you like, or a higher limit) or more memory (-m). flowrun plan shows "
       "how much a job needs. With --resume the same command goes on where it stopped."},
      {number_of(error_kind::bad_spec), "the job is wrong",
       "The YAML, a parameter, a type, an expression or the order of rows is not as the operators need it; or the "
       "machine's configuration is wrong.",
       "Each fault says where it is, what was expected and what to do. flowrun check shows all of them without "
       "running; flowrun explain WORD says more about a word or a message."},
      {129, "stopped by a hangup", "The terminal was closed (SIGHUP).",
       "Run it under tmux, nohup or systemd. No output was touched; with --resume the same command goes on."},
      {number_of(error_kind::cancelled), "stopped by Ctrl-C", "SIGINT came.",
       "No output was touched. With --resume the same command goes on where it stopped."},
      {141, "the reader of standard output went away",
       "Usual in flowrun -q job.yaml | head: the process ends by SIGPIPE, as others do.",
       "Nothing, if that was meant. Outputs of such a run are not put in place."},
      {143, "stopped by SIGTERM", "kill, systemctl stop, or a limit of a scheduler.",
       "No output was touched. With --resume the same command goes on where it stopped."}};
  return all;
}

const exit_code* find_exit_code(int number) {
  const auto found =
      std::find_if(exit_codes().begin(), exit_codes().end(), [&](const exit_code& c) { return c.number == number; });
  return found == exit_codes().end() ? nullptr : &*found;
}

int exit_code_of(const std::exception& problem) {
  if (const auto* shown = dynamic_cast<const faults_shown*>(&problem)) return shown->exit_code();
  if (const auto* known = dynamic_cast<const error*>(&problem)) return known->exit_code();
  return number_of(dynamic_cast<const std::bad_alloc*>(&problem) != nullptr ? error_kind::resources
                                                                            : error_kind::internal);
}

std::string exit_code_list() {
  std::string out;
  for (const exit_code& code : exit_codes()) out += fmt::format("{:>3}  {}\n", code.number, code.meaning);
  return out;
}

std::string exit_codes_of_help() {
  constexpr size_t width = 116;
  std::string out = "Exit codes:", line = out;
  out.clear();
  for (const exit_code& code : exit_codes()) {
    const std::string word =
        fmt::format(" {} {}{}", code.number, code.meaning, &code == &exit_codes().back() ? "." : ",");
    if (line.size() + word.size() > width) {
      out += line + "\n";
      line = word.substr(1);
    } else {
      line += word;
    }
  }
  return out + line;
}

}  // namespace flowrun::runner
