#include "plugin/crash_line.h"

#include <unistd.h>

#include <csignal>
#include <string_view>

namespace flowrun::plugins {

namespace {

thread_local const std::string* current = nullptr;

// Nothing but what a signal handler may call.
void say(std::string_view text) { static_cast<void>(!::write(STDERR_FILENO, text.data(), text.size())); }

void on_crash(int signal) {
  if (current != nullptr) {
    say("\nflowrun: a crash inside of ");
    say(*current);
    say(signal == SIGABRT ? " (abort)\n" : signal == SIGFPE ? " (arithmetic)\n" : " (memory)\n");
    say("  nothing of the job's outputs appears; tell the author of the plugin\n");
  }
  // The action is the default one again (SA_RESETHAND): the same instruction, or this, ends the process.
  static_cast<void>(std::raise(signal));
}

}  // namespace

inside::inside(const std::string& who) : before_(current) { current = &who; }
inside::~inside() { current = before_; }

void name_plugins_in_crashes() {
  struct sigaction action = {};
  action.sa_handler = on_crash;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
  for (const int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL}) ::sigaction(signal, &action, nullptr);
}

}  // namespace flowrun::plugins
