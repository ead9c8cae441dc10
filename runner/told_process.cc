#include "runner/told_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>

#include "engine/base/error.h"
#include "runner/document.h"

namespace flowrun::runner {

namespace {

// The last line of a child whose work returned: no plugin tells it.
constexpr std::string_view returned_mark = "\x01returned ";

[[noreturn]] void be_child(int pipe, const std::function<int(const teller&)>& work) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // it goes with the command
  const teller tell = [pipe](const std::string& line) { write_fully(pipe, line + "\n", "a pipe"); };
  int code = static_cast<int>(error_kind::internal);
  try {
    code = work(tell);
    std::fflush(stdout);
    tell(std::string(returned_mark) + std::to_string(code));
  } catch (const std::exception& problem) {
    // The parent finds that it ended without the mark.
    std::fprintf(stderr, "flowrun: %s\n", problem.what());
  }
  ::_exit(code);
}

class listener {
 public:
  listener(int pipe, const std::function<void(std::string_view)>& heard, process_end& end)
      : pipe_(pipe), heard_(heard), end_(end) {}

  // Until the child is gone. False: it was silent for too long.
  bool listen(unsigned most_seconds) {
    std::array<char, 4096> buffer;
    for (;;) {
      pollfd waiting{pipe_, POLLIN, 0};
      const int found = ::poll(&waiting, 1, static_cast<int>(most_seconds * 1000));
      if (found < 0 && errno == EINTR) continue;
      if (found <= 0) return false;
      const ssize_t got = ::read(pipe_, buffer.data(), buffer.size());
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return true;
      rest_.append(buffer.data(), static_cast<size_t>(got));
      for (size_t line_end; (line_end = rest_.find('\n')) != std::string::npos; rest_.erase(0, line_end + 1))
        hear(rest_.substr(0, line_end));
    }
  }
  bool has_returned() const { return has_returned_; }

 private:
  void hear(const std::string& line) {
    if (!line.starts_with(returned_mark)) return heard_(line);
    has_returned_ = true;
    end_.number = std::stoi(line.substr(returned_mark.size()));
  }

  const int pipe_;
  const std::function<void(std::string_view)>& heard_;
  process_end& end_;
  std::string rest_;
  bool has_returned_ = false;
};

}  // namespace

process_end in_child(const std::function<int(const teller&)>& work, const std::function<void(std::string_view)>& heard,
                     unsigned most_seconds) {
  const auto refuse = [] {
    throw error(error_kind::resources, fmt::format("no process can be started: {}", errno_text(errno)),
                "a plugin is tried in processes of its own");
  };
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) refuse();
  const pid_t child = ::fork();
  if (child < 0) refuse();
  if (child == 0) {
    ::close(ends[0]);
    be_child(ends[1], work);
  }
  ::close(ends[1]);
  process_end end;
  listener from_child(ends[0], heard, end);
  const bool spoke = from_child.listen(most_seconds);
  ::close(ends[0]);
  if (!spoke) ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!spoke) {
    end.what = process_end::how::silent;
  } else if (WIFSIGNALED(status)) {
    end = {process_end::how::killed, WTERMSIG(status)};
  } else if (!from_child.has_returned()) {
    end = {process_end::how::exited, WEXITSTATUS(status)};
  }
  return end;
}

std::string to_string(const process_end& end) {
  switch (end.what) {
    case process_end::how::exited: return fmt::format("ended its process with exit({})", end.number);
    case process_end::how::killed: return fmt::format("ended its process with signal {}", end.number);
    case process_end::how::silent: return "took too long";
    default: return "returned";
  }
}

}  // namespace flowrun::runner
