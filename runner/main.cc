// flowrun: the command. Picks the command to run and turns what is thrown into a message and an exit code.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string_view>

#include "engine/base/broken_pipe.h"
#include "runner/command_line.h"
#include "runner/commands.h"
#include "runner/document.h"
#include "runner/exit_codes.h"
#include "runner/job_loading.h"
#include "runner/last_words.h"
#include "runner/sort_command.h"
#include "runner/words.h"

namespace flowrun::runner {

namespace {

int carry_out(const invocation& asked, terminal& screen) {
  set_plugins(asked.plugins);
  switch (asked.what) {
    case command::run: return run(asked.run, screen);
    case command::worker: return work(asked.worker, screen);
    case command::check: return check(asked.check, screen);
    case command::clean: return clean(asked.clean, screen);
    case command::plan: return show_plan(asked.plan, screen);
    case command::graph: return show_graph(asked.graph, screen);
    case command::report: return draw_report(asked.report);
    case command::top: return top(asked.top, screen);
    case command::tap: return tap(asked.tap, screen);
    case command::test: return test(asked.test, screen);
    case command::infer: return infer(asked.infer, screen);
    case command::new_job: return begin_job(asked.document, screen);
    case command::gen: return generate(asked.gen, screen);
    case command::verify: return verify(asked.verify, screen);
    case command::bench_disk: return bench_disk(asked.bench_disk, screen);
    case command::plugins: return manage_plugins(asked.plugins_command, screen);
    case command::ops: return show_operators(asked.operator_name);
    case command::explain: return explain(asked.explained);
    case command::schema: return show_schema();
    case command::reference: return show_reference();
    case command::metrics: return show_metrics();
    case command::completion: return show_completion(asked.document);
    case command::man: return show_manual(asked.document);
    case command::version: return show_version(asked.version);
    case command::help: print(asked.help); return 0;
    case command::sort: break;  // main() has it
  }
  return 0;
}

// As SIGPIPE would have done it.
void end_by_broken_pipe() {
  std::signal(SIGPIPE, SIG_DFL);
  std::raise(SIGPIPE);
}

// `may_be_piped_away`: SIGPIPE had its default action when the program started.
int guarded(int argc, char** argv, bool may_be_piped_away) {
  terminal plain(verbosity::normal, color_choice::automatic);
  terminal* screen = &plain;
  terminal chosen = plain;
  try {
    const invocation asked = parse_command_line({argv + (argc > 0 ? 1 : 0), argv + argc});
    chosen = terminal(asked.how_much, asked.colors);
    screen = &chosen;
    return carry_out(asked, chosen);
  } catch (const faults_shown& shown) {
    return exit_code_of(shown);
  } catch (const broken_pipe& problem) {
    if (may_be_piped_away) end_by_broken_pipe();
    screen->show(problem);
    return exit_code_of(problem);
  } catch (const error& problem) {
    // The mistakes of plugins are of this kind, too, and say whose they are.
    if (problem.kind() == error_kind::internal && std::string_view(problem.what()).starts_with("internal error"))
      screen->show_bug(problem.what());
    else
      screen->show(problem);
    return exit_code_of(problem);
  } catch (const std::bad_alloc& problem) {
    screen->show(
        error(error_kind::resources, "out of memory", "the machine has less memory than the budget: lower it with -m"));
    return exit_code_of(problem);
  } catch (const std::exception& problem) {
    screen->show_bug(problem.what());
    return exit_code_of(problem);
  }
}

// If a standard descriptor is closed, the next file that is opened gets its number, and what is meant for standard
// output would go into that file. So it is opened here for the wrong direction: its use then fails, as that of a closed
// descriptor does.
void fill_standard_descriptors() {
  for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; ++descriptor)
    if (::fcntl(descriptor, F_GETFD) < 0)
      static_cast<void>(::open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY));
}

// The soft limit of open files is low for the sake of programs that use select(), which this one doesn't. Merges of
// many files and outputs for many values want more.
void raise_limit_of_open_files() {
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  static_cast<void>(::setrlimit(RLIMIT_NOFILE, &limit));
}

// For packages that start the program in a session of its own, where no terminal ends it: it stops as for a SIGTERM
// when the thread ends that has started it.
void end_with_parent_if_asked() {
  constexpr const char* asked = "FLOWRUN_END_WITH_PARENT";
  if (std::getenv(asked) == nullptr) return;
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  ::unsetenv(asked);  // processes that this one starts have ways of their own
}

}  // namespace

}  // namespace flowrun::runner

int main(int argc, char** argv) {
  // sort has a grammar and exit codes of its own: GNU's.
  const bool is_sort = argc > 1 && std::string_view(argv[1]) == "sort";
  flowrun::runner::set_last_words(is_sort ? flowrun::runner::words_of_sort : flowrun::runner::words_of_jobs);
  flowrun::runner::fill_standard_descriptors();
  flowrun::runner::raise_limit_of_open_files();
  flowrun::runner::end_with_parent_if_asked();
  const bool may_be_piped_away =
      std::signal(SIGPIPE, SIG_IGN) == SIG_DFL;  // a reader that goes away is an error first: the job is taken down
  std::signal(SIGXFSZ, SIG_IGN);                 // a limit on file sizes is an error like any other
  if (is_sort) return flowrun::runner::sort_lines({argv + 2, argv + argc}, may_be_piped_away);
  return flowrun::runner::guarded(argc, argv, may_be_piped_away);
}
