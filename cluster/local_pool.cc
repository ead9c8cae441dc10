#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <deque>

#include "cluster/cluster.pb.h"
#include "cluster/scheduler.h"
#include "cluster/shared_directory.h"
#include "engine/base/error.h"
#include "specs/value.h"

extern char** environ;

namespace flowrun::cluster {

namespace {

constexpr int poll_ms = 50;

class worker_process {
 public:
  worker_process(std::vector<std::string> words, size_t task) : task_(task) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) refuse(errno);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    // It ends when this process does, which is when the pipe ends.
    posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    // Ctrl-C in the terminal is for the driver, which then ends its tasks.
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setpgroup(&attributes, 0);
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    const int cause = ::posix_spawn(&process_, argv[0], &actions, &attributes, argv.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    ::close(ends[0]);
    pipe_ = ends[1];
    if (cause == 0) return;
    ::close(pipe_);
    refuse(cause);
  }
  ~worker_process() {
    ::close(pipe_);
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  worker_process(const worker_process&) = delete;
  worker_process& operator=(const worker_process&) = delete;

  size_t task() const { return task_; }
  void stop() { ::kill(process_, SIGTERM); }
  // Whether it has ended; `status` is as waitpid() has it.
  bool ended(int& status) {
    const pid_t got = ::waitpid(process_, &status, WNOHANG);
    if (got != process_) return false;
    process_ = -1;
    return true;
  }

 private:
  [[noreturn]] static void refuse(int cause) {
    throw error(error_kind::resources, fmt::format("no process can be started: {}", errno_text(cause)),
                "fewer tasks at once: --cluster local:N");
  }

  size_t task_;
  pid_t process_ = -1;
  int pipe_ = -1;
};

class pool final : public scheduler {
 public:
  pool(size_t width, std::vector<std::string> program, std::string directory, std::vector<std::string> options)
      : width_(width), program_(std::move(program)), directory_(std::move(directory)), options_(std::move(options)) {}

  size_t width() const override { return width_; }

  void run(size_t stage, const std::vector<size_t>& tasks, const std::function<void(size_t)>& finished,
           const std::atomic<bool>& stop) override {
    std::deque<size_t> waiting(tasks.begin(), tasks.end());
    std::deque<std::unique_ptr<worker_process>> running;
    while (!waiting.empty() || !running.empty()) {
      for (; !waiting.empty() && running.size() < width_; waiting.pop_front())
        running.push_back(begin(stage, waiting.front()));
      bool any = false;
      for (size_t i = 0; i < running.size();) {
        int status = 0;
        if (!running[i]->ended(status)) {
          ++i;
          continue;
        }
        any = true;
        const size_t task = running[i]->task();
        running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
        if (status != 0) {
          stop_all(running);
          fail(stage, task, status);
        }
        finished(task);
      }
      if (stop.load()) {
        stop_all(running);
        throw error(error_kind::cancelled, "the job was stopped", "");
      }
      if (!any) ::poll(nullptr, 0, poll_ms);
    }
  }

 private:
  std::unique_ptr<worker_process> begin(size_t stage, size_t task) const {
    std::vector<std::string> words = program_;
    words.insert(words.end(), {directory_.path(), std::to_string(stage), std::to_string(task)});
    words.insert(words.end(), options_.begin(), options_.end());
    return std::make_unique<worker_process>(std::move(words), task);
  }

  // They take down what they have; those that don't within some seconds are killed.
  static void stop_all(std::deque<std::unique_ptr<worker_process>>& running) {
    for (const auto& worker : running) worker->stop();
    for (int waited = 0; !running.empty() && waited < 5000; waited += poll_ms) {
      ::poll(nullptr, 0, poll_ms);
      int status = 0;
      std::erase_if(running, [&](const std::unique_ptr<worker_process>& w) { return w->ended(status); });
    }
    running.clear();
  }

  [[noreturn]] void fail(size_t stage, size_t task, int status) const {
    const std::string who = fmt::format("task {} of stage {}", task + 1, stage + 1);
    if (WIFSIGNALED(status))
      throw error(error_kind::resources, fmt::format("{} was killed by signal {}", who, WTERMSIG(status)),
                  WTERMSIG(status) == SIGKILL ? "does the machine have memory for all tasks at once? -m is for all of "
                                                "them together"
                                              : "");
    Failure why;
    if (read_message(directory_.failed(stage, task), why))
      throw error(static_cast<error_kind>(why.code()), fmt::format("{}: {}", who, why.message()), why.hint());
    throw error(error_kind::internal, fmt::format("{} ended with {} and didn't say why", who, WEXITSTATUS(status)), "");
  }

  const size_t width_;
  const std::vector<std::string> program_;
  const shared_directory directory_;
  const std::vector<std::string> options_;
};

}  // namespace

std::unique_ptr<scheduler> local_pool(size_t width, std::vector<std::string> program, std::string directory,
                                      std::vector<std::string> options) {
  return std::make_unique<pool>(width, std::move(program), std::move(directory), std::move(options));
}

place place_of(const std::string& text) {
  constexpr std::string_view local = "local:";
  if (text.starts_with(local)) {
    const auto width = specs::to_uint(std::string_view(text).substr(local.size()));
    if (width && *width >= 1 && *width <= 1000) return {static_cast<size_t>(*width)};
  }
  throw error(error_kind::usage, fmt::format("--cluster '{}' is no cluster", text),
              "local:N, with N tasks at once on this machine, from 1 to 1000");
}

}  // namespace flowrun::cluster
