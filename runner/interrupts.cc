#include "runner/interrupts.h"

#include <sys/time.h>
#include <unistd.h>

#include <csignal>

namespace flowrun::runner {

namespace {

// A signal handler can reach nothing but statics.
std::atomic<bool> stop_requested{false};
std::atomic<int> first_signal{0};

// The job has a second to wind down. Some work can't be interrupted (a SIMD sort of gigabytes); what it would leave has
// no name and goes with the process.
constexpr long patience_us = 900'000;

void handle(int number) {
  if (stop_requested.load()) ::_exit(128 + number);
  first_signal = number;
  stop_requested = true;
  itimerval timer{};
  timer.it_value.tv_usec = patience_us;
  ::setitimer(ITIMER_REAL, &timer, nullptr);
}

void give_up(int) {
  constexpr char text[] = "flowrun: error: stopped by a signal\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text, sizeof text - 1);
  ::_exit(128 + first_signal.load());
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

interrupts::interrupts() {
  stop_requested = false;
  first_signal = 0;
  install(handle);
  ::signal(SIGALRM, give_up);
}

interrupts::~interrupts() {
  install(SIG_DFL);
  const itimerval none{};
  ::setitimer(ITIMER_REAL, &none, nullptr);
  ::signal(SIGALRM, SIG_DFL);
}

const std::atomic<bool>& interrupts::requested() const { return stop_requested; }

int interrupts::signal() const { return first_signal; }

}  // namespace flowrun::runner
