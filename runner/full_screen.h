// The whole terminal, for a command that draws on it again and again: the alternate screen without cursor, keys as they
// are pressed. It is given back as it was, however the command ends; Ctrl-Z gives it back for as long as that lasts.
#pragma once

#include <termios.h>

#include <chrono>
#include <csignal>
#include <string>
#include <vector>

namespace flowrun::runner {

// What has come from the terminal or by a signal.
enum class screen_event { none, resized, leave, ended_by_signal };

// One at a time in a process, and before its threads are made: they leave all signals to it.
class full_screen {
 public:
  full_screen();
  ~full_screen();
  full_screen(const full_screen&) = delete;
  full_screen& operator=(const full_screen&) = delete;

  // Waits for at most so long. q and Ctrl-C mean leave.
  screen_event wait(std::chrono::milliseconds most);
  // After ended_by_signal: which.
  int signal() const { return signal_; }
  size_t width() const;
  size_t height() const;
  void draw(const std::vector<std::string>& lines) const;

 private:
  void take();
  void give_back() const;

  sigset_t before_{};
  int signals_ = -1;  // a signalfd
  termios keys_{};    // as they were; in front of the next, which reads them
  bool has_keys_;     // standard input is the terminal
  int signal_ = 0;
};

}  // namespace flowrun::runner
