#include "plugin/crash_line.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <string_view>

namespace flowrun::plugins {

constinit thread_local const std::string* plugin_inside = nullptr;
constinit thread_local bool has_handler_stack = false;

namespace {

std::atomic<pid_t> first_to_crash = 0;  // a thread
static_assert(std::atomic<pid_t>::is_always_lock_free);

// Nothing but what a signal handler may call.
void say(std::string_view text) { static_cast<void>(!::write(STDERR_FILENO, text.data(), text.size())); }

// A stack for the handler, of each thread that runs plugins: where a plugin has used up the thread's own, nothing is
// left there to say so.
class handler_stack {
 public:
  handler_stack() {
    stack_t now{};
    // A sanitizer has one already.
    if (::sigaltstack(nullptr, &now) != 0 || (now.ss_flags & SS_DISABLE) == 0) return;
    size_ = std::max<size_t>(static_cast<size_t>(::sysconf(_SC_SIGSTKSZ)), size_t{64} << 10);
    memory_ = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory_ == MAP_FAILED) return;  // then a crash has no line
    stack_t own{};
    own.ss_sp = memory_;
    own.ss_size = size_;
    ::sigaltstack(&own, nullptr);
  }
  ~handler_stack() {
    if (memory_ == MAP_FAILED) return;
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    ::sigaltstack(&none, nullptr);
    ::munmap(memory_, size_);
  }
  handler_stack(const handler_stack&) = delete;
  handler_stack& operator=(const handler_stack&) = delete;

 private:
  void* memory_ = MAP_FAILED;
  size_t size_ = 0;
};

// An access just below the top of the stack: there was no room for another call.
bool is_stack_overflow(int signal, const siginfo_t& what, const void* context) {
#if defined(__x86_64__)
  constexpr uint64_t near = 64 * 1024;
  const auto top = static_cast<uint64_t>(static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RSP]);
  const auto at = reinterpret_cast<uint64_t>(what.si_addr);
  return signal == SIGSEGV && at + near > top && at < top + near;
#else
  static_cast<void>(signal), static_cast<void>(what), static_cast<void>(context);
  return false;
#endif
}

// Threads may crash together: one of them says its line, and then ends the process as it would have ended.
void on_crash(int signal, siginfo_t* what, void* context) {
  const pid_t self = ::gettid();
  pid_t first = 0;
  if (first_to_crash.compare_exchange_strong(first, self)) {
    if (plugin_inside != nullptr) {
      say("\nflowrun: a crash inside of ");
      say(*plugin_inside);
      say(signal == SIGABRT                           ? " (abort)\n"
          : signal == SIGFPE                          ? " (arithmetic)\n"
          : is_stack_overflow(signal, *what, context) ? " (stack overflow)\n"
                                                      : " (memory)\n");
      say("  nothing of the job's outputs appears; tell the author of the plugin\n");
    }
  } else {
    while (first != self) ::pause();
  }
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  ::sigaction(signal, &action, nullptr);
  static_cast<void>(std::raise(signal));
}

// Runs in the thread that called exit().
void on_exit() {
  if (plugin_inside == nullptr) return;
  say("\nflowrun: ");
  say(*plugin_inside);
  say(" ended the process with exit()\n  nothing of the job's outputs appears; tell the author of the plugin\n");
  constexpr int internal_error = 70;
  ::_exit(internal_error);
}

}  // namespace

void make_handler_stack() {
  thread_local const handler_stack stack;
  static_cast<void>(stack);
  has_handler_stack = true;
}

void name_plugins_in_crashes() {
  struct sigaction action = {};
  action.sa_sigaction = on_crash;
  action.sa_flags = static_cast<int>(SA_NODEFER | SA_ONSTACK | SA_SIGINFO);
  for (const int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL}) ::sigaction(signal, &action, nullptr);
  // Several threads of a plugin may call exit() at once. Each then takes the function that was registered last, and
  // those that come too late would destroy what the others still use. So there is one for each of them.
  constexpr int threads_at_once = 64;
  for (int i = 0; i < threads_at_once; ++i) static_cast<void>(std::atexit(on_exit));
}

}  // namespace flowrun::plugins
