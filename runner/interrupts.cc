#include "runner/interrupts.h"

#include <sys/time.h>
#include <unistd.h>

#include <csignal>
#include <ctime>

#include "engine/io/joint_commit.h"

namespace flowrun::runner {

namespace {

// A signal handler can reach nothing but statics.
std::atomic<bool> stop_requested{false};
std::atomic<int> first_signal{0};

std::atomic<int64_t> stopped_at_ms{0};

// The job has this long to wind down, a second as a rule. Some work can't be interrupted (a SIMD sort of gigabytes);
// what it would leave has no name and goes with the process. Only the files of an output of many files have names by
// then.
std::atomic<long> patience_us{0};
// `timeout` signals the process and then its group, and a terminal may do the same: that is one wish to stop.
constexpr int64_t same_wish_ms = 300;

int64_t now_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

[[noreturn]] void end_at_once(int number) {
  constexpr char text[] =
      "flowrun: error: stopped by a signal, before the job had wound down\n"
      "  help: outputs that are not in place were not written. Of an output of many files a hidden directory may be "
      "left; the next run of this job removes it\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text, sizeof text - 1);
  ::_exit(128 + number);
}

void end_after(long us) {
  itimerval timer{};
  timer.it_value.tv_sec = us / 1'000'000;
  timer.it_value.tv_usec = us % 1'000'000;
  ::setitimer(ITIMER_REAL, &timer, nullptr);
}

void handle(int number) {
  if (stop_requested.load()) {
    if (now_ms() - stopped_at_ms.load() < same_wish_ms) return;
    end_at_once(number);
  }
  first_signal = number;
  stopped_at_ms = now_ms();
  stop_requested = true;
  end_after(patience_us.load());
}

// The patience is over, but for outputs that get their names just now: all of them or none. Or it is somebody else's
// alarm, which is a wish to stop as well.
void on_alarm(int number) {
  constexpr long moment_us = 50'000;
  if (!stop_requested.load())
    handle(number);
  else if (io::names_are_changing())
    end_after(moment_us);
  else
    end_at_once(first_signal.load());
}

void install(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    ::sigaction(number, nullptr, &before);
    // nohup, and shells that start jobs in the background, let these signals be ignored on purpose.
    if (before.sa_handler != SIG_IGN) ::sigaction(number, &action, nullptr);
  }
}

}  // namespace

interrupts::interrupts(double patience_seconds) {
  patience_us = static_cast<long>(patience_seconds * 1e6);
  stop_requested = false;
  first_signal = 0;
  install(handle);
  ::signal(SIGALRM, on_alarm);
}

interrupts::~interrupts() {
  install(SIG_DFL);
  const itimerval none{};
  ::setitimer(ITIMER_REAL, &none, nullptr);
  ::signal(SIGALRM, SIG_DFL);
}

const std::atomic<bool>& interrupts::requested() const { return stop_requested; }

int interrupts::signal() const { return first_signal; }

const char* interrupts::name() const {
  const int number = signal();
  return number == SIGINT ? "Ctrl-C" : number == SIGTERM ? "SIGTERM" : number == SIGALRM ? "SIGALRM" : "SIGHUP";
}

}  // namespace flowrun::runner
