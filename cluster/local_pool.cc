#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <deque>
#include <fstream>
#include <map>
#include <optional>

#include "cluster/scheduler.h"
#include "cluster/shared_directory.h"
#include "cluster/task_failure.h"
#include "engine/base/error.h"

extern char** environ;

namespace flowrun::cluster {

namespace {

constexpr int poll_ms = 50;

class worker_process {
 public:
  // `said`: a file for what it has to say, which is told where it ends without a message of its own.
  worker_process(std::vector<std::string> words, size_t task, const std::string& said) : task_(task) {
    ::clock_gettime(CLOCK_REALTIME, &started_);
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) refuse(errno);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    // It ends when this process does, which is when the pipe ends.
    posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, said.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
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
    if (cause != 0) {
      ::close(pipe_);
      if (::access(words[0].c_str(), X_OK) != 0)
        throw error(error_kind::missing_input, fmt::format("can't start {}: {}", words[0], errno_text(cause)),
                    "the program was moved or replaced while the job ran: run it again");
      refuse(cause);
    }
    end_ = static_cast<int>(::syscall(SYS_pidfd_open, process_, 0));
  }
  ~worker_process() {
    ::close(pipe_);
    if (end_ >= 0) ::close(end_);
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  worker_process(const worker_process&) = delete;
  worker_process& operator=(const worker_process&) = delete;

  size_t task() const { return task_; }
  int process() const { return process_; }
  // Can be read once it has ended; negative where the system has no such descriptors.
  int end() const { return end_; }
  bool is_frozen() const { return is_frozen_; }
  void set_frozen() { is_frozen_ = true; }
  // Whether it has written nothing to this file for so long.
  bool is_silent(const std::string& alive, double seconds) const {
    struct stat there {};
    struct timespec now {};
    ::clock_gettime(CLOCK_REALTIME, &now);
    const bool wrote = ::stat(alive.c_str(), &there) == 0;
    const struct timespec& last = wrote ? there.st_mtim : started_;
    return static_cast<double>(now.tv_sec - last.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec - last.tv_nsec) >
           seconds;
  }
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
  struct timespec started_ {};
  bool is_frozen_ = false;
  pid_t process_ = -1;
  int pipe_ = -1;
  int end_ = -1;
};

// A worker that is killed, by a lack of memory say, may do better when others are gone.
constexpr unsigned most_attempts = 4;
// A worker writes how far it is once a second. One that hasn't for so long is frozen: another one is started beside it,
// and whichever is done first counts.
constexpr double seconds_of_silence = 10;

class pool final : public scheduler {
 public:
  pool(size_t width, std::vector<std::string> program, std::string directory, std::vector<std::string> options)
      : width_(width), program_(std::move(program)), directory_(std::move(directory)), options_(std::move(options)) {}

  void run(size_t stage, const std::vector<size_t>& tasks, const stage_listener& listener,
           const std::atomic<bool>& stop) override {
    waiting_.assign(tasks.begin(), tasks.end());
    num_attempts_.clear();
    failed_.reset();
    try {
      while (any_left()) {
        for (; !waiting_.empty() && num_awake() < width_; waiting_.pop_front()) begin(stage, waiting_.front());
        if (stop.load()) throw error(error_kind::cancelled, "the job was stopped", "");
        if (!take_ended(listener.finished)) wait();
        look_for_frozen(stage);
        listener.waiting();
      }
      if (failed_) fail(stage, failed_->task, failed_->status);
    } catch (...) {
      stop_all();
      throw;
    }
  }

 private:
  size_t num_awake() const {
    return static_cast<size_t>(
        std::count_if(running_.begin(), running_.end(), [](const auto& worker) { return !worker->is_frozen(); }));
  }

  void begin(size_t stage, size_t task) {
    std::vector<std::string> words = program_;
    words.insert(words.end(), {directory_.path(), std::to_string(stage), std::to_string(task)});
    words.insert(words.end(), options_.begin(), options_.end());
    running_.push_back(std::make_unique<worker_process>(std::move(words), task, directory_.said(stage, task)));
    ++num_attempts_[task];
  }

  // Tasks in front of one that has failed are waited for. What they may find comes first in the input, and is what one
  // machine tells.
  bool is_wanted(size_t task) const { return !failed_ || task < failed_->task; }
  bool any_left() const {
    return !waiting_.empty() || std::any_of(running_.begin(), running_.end(),
                                            [this](const auto& worker) { return is_wanted(worker->task()); });
  }

  // Until a worker ends, or it is time to look around.
  void wait() const {
    std::vector<struct pollfd> ends;
    for (const auto& worker : running_) ends.push_back({worker->end(), POLLIN, 0});
    ::poll(ends.data(), ends.size(), poll_ms);
  }

  bool take_ended(const std::function<void(size_t)>& finished) {
    for (size_t i = 0; i < running_.size(); ++i) {
      int status = 0;
      if (!running_[i]->ended(status)) continue;
      const size_t task = running_[i]->task();
      running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
      if (status == 0) {
        // Others that were started for it, and have been frozen.
        std::erase_if(running_, [task](const auto& other) { return other->task() == task; });
        std::erase(waiting_, task);
        finished(task);
      } else if (WIFSIGNALED(status) && is_wanted(task) && num_attempts_[task] < most_attempts) {
        waiting_.push_back(task);
      } else if (is_wanted(task)) {
        failed_ = {task, status};
        std::erase_if(waiting_, [this](size_t other) { return !is_wanted(other); });
      }
      return true;
    }
    return false;
  }

  void look_for_frozen(size_t stage) {
    for (const auto& worker : running_) {
      if (worker->is_frozen() || !is_wanted(worker->task()) || num_attempts_[worker->task()] >= most_attempts) continue;
      if (!worker->is_silent(directory_.alive(stage, worker->task(), worker->process()), seconds_of_silence)) continue;
      worker->set_frozen();
      waiting_.push_front(worker->task());
    }
  }

  // They take down what they have; those that take longer are killed, since the driver itself has a second
  // (interrupts.h).
  void stop_all() {
    for (const auto& worker : running_) worker->stop();
    for (int waited = 0; num_awake() > 0 && waited < 500; waited += poll_ms) {
      wait();
      int status = 0;
      std::erase_if(running_, [&](const std::unique_ptr<worker_process>& w) { return w->ended(status); });
    }
    running_.clear();
    waiting_.clear();
  }

  [[noreturn]] void fail(size_t stage, size_t task, int status) const {
    std::ifstream in(directory_.said(stage, task));
    std::string line;
    std::getline(in, line);
    if (!line.empty()) line = ": " + line;
    other_words words;
    if (!WIFSIGNALED(status)) {
      words.message = fmt::format("it ended with {}{}", WEXITSTATUS(status), line);
      if (line.empty())
        words.hint = fmt::format("it could not even write why to {}: is that disk full?", directory_.path());
    } else {
      words.message = fmt::format("it was killed by signal {}, {} times{}", WTERMSIG(status), most_attempts, line);
      if (WTERMSIG(status) == SIGKILL)
        words.hint = "does the machine have memory for all tasks at once? -m is for all of them together";
    }
    fail_task(directory_, stage, task, words);
  }

  const size_t width_;
  const std::vector<std::string> program_;
  const shared_directory directory_;
  const std::vector<std::string> options_;
  std::deque<size_t> waiting_;
  std::deque<std::unique_ptr<worker_process>> running_;
  std::map<size_t, unsigned> num_attempts_;
  struct failure {
    size_t task;
    int status;
  };
  std::optional<failure> failed_;  // the first of those that have
};

}  // namespace

std::unique_ptr<scheduler> local_pool(size_t width, std::vector<std::string> program, std::string directory,
                                      std::vector<std::string> options) {
  return std::make_unique<pool>(width, std::move(program), std::move(directory), std::move(options));
}

}  // namespace flowrun::cluster
