#include "runner/full_screen.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>

#include "engine/base/error.h"
#include "engine/base/interrupted_call.h"
#include "runner/document.h"

namespace flowrun::runner {

namespace {

// Alternate screen, no cursor, no new line of its own behind the last column; and back.
constexpr std::string_view enter = "\033[?1049h\033[?25l\033[?7l";
constexpr std::string_view leave = "\033[?7h\033[?25h\033[?1049l";

winsize size_of_terminal() {
  winsize out{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &out) != 0 || out.ws_col == 0 || out.ws_row == 0) {
    out.ws_col = 80;
    out.ws_row = 24;
  }
  return out;
}

}  // namespace

full_screen::full_screen() : has_keys_(::isatty(STDIN_FILENO) == 1 && ::tcgetattr(STDIN_FILENO, &keys_) == 0) {
  sigset_t ours;
  sigemptyset(&ours);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP}) {
    struct sigaction now {};
    ::sigaction(number, nullptr, &now);
    if (now.sa_handler != SIG_IGN) sigaddset(&ours, number);  // nohup, shells that start jobs in the background
  }
  ::pthread_sigmask(SIG_BLOCK, &ours, &before_);
  signals_ = ::signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signals_ < 0) {
    const int cause = errno;
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    throw error(error_kind::resources, "can't wait for signals: " + errno_text(cause), "--once needs none");
  }
  take();
}

full_screen::~full_screen() {
  give_back();
  ::close(signals_);
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void full_screen::take() {
  if (has_keys_) {
    termios raw = keys_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    ::tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
  }
  print(enter);
}

// A terminal that is gone can't be given back.
void full_screen::give_back() const {
  [[maybe_unused]] const auto written =
      retry_interrupted([] { return ::write(STDOUT_FILENO, leave.data(), leave.size()); });
  if (has_keys_) ::tcsetattr(STDIN_FILENO, TCSADRAIN, &keys_);
}

screen_event full_screen::wait(std::chrono::milliseconds most) {
  pollfd from[2] = {{signals_, POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
  if (::poll(from, has_keys_ ? 2 : 1, static_cast<int>(most.count())) <= 0) return screen_event::none;
  if ((from[0].revents & POLLIN) != 0) {
    signalfd_siginfo got{};
    if (::read(signals_, &got, sizeof got) != sizeof got) return screen_event::none;
    const int number = static_cast<int>(got.ssi_signo);
    if (number == SIGWINCH) return screen_event::resized;
    if (number == SIGINT) return screen_event::leave;
    if (number == SIGTSTP) {
      give_back();
      ::raise(SIGSTOP);
      if (has_keys_) ::tcgetattr(STDIN_FILENO, &keys_);
      take();
      return screen_event::resized;
    }
    signal_ = number;
    return screen_event::ended_by_signal;
  }
  if (from[1].revents != 0) {
    char keys[64];
    const ssize_t got = retry_interrupted([&] { return ::read(STDIN_FILENO, keys, sizeof keys); });
    if (got <= 0) return screen_event::leave;  // the terminal is gone
    for (ssize_t i = 0; i < got; ++i)
      if (keys[i] == 'q' || keys[i] == 'Q' || keys[i] == 3) return screen_event::leave;
  }
  return screen_event::none;
}

size_t full_screen::width() const { return size_of_terminal().ws_col; }
size_t full_screen::height() const { return size_of_terminal().ws_row; }

void full_screen::draw(const std::vector<std::string>& lines) const {
  std::string out = "\033[H";
  for (size_t i = 0; i < lines.size(); ++i) out += (i > 0 ? "\r\n" : "") + ("\033[K" + lines[i]);
  print(out + "\033[J");
}

}  // namespace flowrun::runner
