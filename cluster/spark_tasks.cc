// Tasks on Spark: a Java program, cluster/spark/Tasks.java, that is told of a stage by a line and says when it has
// ended. It lives as long as the job, since a JVM takes seconds to start. Who runs what where, retries, and beside slow
// tasks second ones, is Spark's affair.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>

#include "cluster/scheduler.h"
#include "cluster/shared_directory.h"
#include "cluster/task_failure.h"
#include "engine/base/error.h"

extern char** environ;

namespace flowrun::cluster {

namespace {

constexpr int poll_ms = 200;

// Found to matter: what finds lost machines and frozen tasks within seconds, and not minutes.
const std::vector<std::string>& spark_settings() {
  static const std::vector<std::string> all = {
      "spark.ui.enabled=false", "spark.speculation=true", "spark.speculation.quantile=0.5",
      "spark.speculation.multiplier=2", "spark.task.maxFailures=8", "spark.network.timeout=20s",
      "spark.locality.wait=0", "spark.executor.heartbeatInterval=4s", "spark.network.timeoutInterval=5s",
      "spark.executor.memory=512m",
      // An executor that can't reach the driver ends, and so do its tasks.
      "spark.executor.heartbeat.maxFailures=5",
      // A machine whose disk is full fails quickly and is free again, so it
      // would get every attempt of a task. Three are enough; of a cluster's
      // only machine, too.
      "spark.excludeOnFailure.enabled=true", "spark.excludeOnFailure.task.maxTaskAttemptsPerExecutor=3",
      "spark.excludeOnFailure.task.maxTaskAttemptsPerNode=3",
      "spark.excludeOnFailure.stage.maxFailedTasksPerExecutor=6",
      "spark.excludeOnFailure.application.maxFailedTasksPerExecutor=12"};
  return all;
}

std::string spark_submit() {
  const char* const home = std::getenv("SPARK_HOME");
  std::vector<std::string> places;
  if (home != nullptr) places.push_back(std::string(home) + "/bin/spark-submit");
  const char* const path = std::getenv("PATH");
  std::string rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(':'), rest.size());
    if (end > 0) places.push_back(rest.substr(0, end) + "/spark-submit");
    rest.erase(0, end + 1);
  }
  for (const std::string& place : places)
    if (::access(place.c_str(), X_OK) == 0) return place;
  throw error(error_kind::missing_input, "there is no spark-submit",
              "set SPARK_HOME to where Spark is, or put its bin into PATH; tools/setup --cluster installs it");
}

// Beside the program, or where it was installed.
std::string tasks_jar(const std::string& program) {
  const std::filesystem::path directory = std::filesystem::path(program).parent_path();
  for (const std::filesystem::path& jar :
       {directory / "flowrun-spark.jar", directory / "../share/flowrun/flowrun-spark.jar"})
    if (std::filesystem::exists(jar)) return jar.lexically_normal().string();
  throw error(error_kind::missing_input, "there is no flowrun-spark.jar beside " + program,
              "make cluster-jar builds it; it needs a JDK and Spark (tools/setup --cluster)");
}

class spark_tasks final : public scheduler {
 public:
  spark_tasks(const std::string& master, const std::vector<std::string>& program, const std::string& directory,
              const std::vector<std::string>& options)
      : master_(master), directory_(directory) {
    words_ = {spark_submit(), "--master", master, "--name", "flowrun", "--class", "flowrun.Tasks"};
    for (const std::string& setting : spark_settings()) words_.insert(words_.end(), {"--conf", setting});
    words_.push_back(tasks_jar(program.front()));
    words_.push_back(std::filesystem::current_path().string());
    words_.insert(words_.end(), program.begin(), program.end());
    words_.insert(words_.end(), {directory, "--"});
    words_.insert(words_.end(), options.begin(), options.end());
  }
  ~spark_tasks() override { end(); }

  void run(size_t stage, const std::vector<size_t>& tasks, const stage_listener& listener,
           const std::atomic<bool>& stop) override {
    if (tasks.empty()) return;
    if (process_ < 0) start();
    std::string line = std::to_string(stage);
    for (const size_t task : tasks) line += fmt::format(" {}", task);
    say(line + "\n");
    std::vector<size_t> missing = tasks;
    for (std::string answer; !answer.starts_with("end ");) {
      if (stop.load()) {
        end();
        throw error(error_kind::cancelled, "the job was stopped", "");
      }
      answer = next_line();
      std::erase_if(missing, [&](size_t task) {
        const bool done = ::access(directory_.done(stage, task).c_str(), F_OK) == 0;
        if (done) listener.finished(task);
        return done;
      });
      listener.waiting();
      // It gives up on a master that doesn't answer, and on one that has lost the job.
      if (answer.starts_with("failed ") && answer.find("SparkContext") != std::string::npos) lost();
      if (answer.starts_with("failed ") && !missing.empty()) fail_task(directory_, stage, missing.front(), answer);
    }
    if (!missing.empty()) fail_task(directory_, stage, missing.front(), "it isn't done");
  }

 private:
  void start() {
    int to[2], from[2];
    if (::pipe2(to, O_CLOEXEC) != 0 || ::pipe2(from, O_CLOEXEC) != 0)
      throw error(error_kind::resources, fmt::format("no process can be started: {}", errno_text(errno)), "");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log().c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setpgroup(&attributes, 0);
    std::vector<char*> argv;
    for (std::string& word : words_) argv.push_back(word.data());
    argv.push_back(nullptr);
    const int cause = ::posix_spawn(&process_, argv[0], &actions, &attributes, argv.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    ::close(to[0]);
    ::close(from[1]);
    to_ = to[1];
    from_ = from[0];
    if (cause != 0) {
      process_ = -1;
      throw error(error_kind::resources, fmt::format("{} can't be started: {}", words_[0], errno_text(cause)), "");
    }
  }

  std::string log() const { return directory_.path() + "/spark.log"; }

  void say(const std::string& line) {
    for (size_t done = 0; done < line.size();) {
      const ssize_t got = ::write(to_, line.data() + done, line.size() - done);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) lost();
      done += static_cast<size_t>(got);
    }
  }

  // Empty: none came for a while.
  std::string next_line() {
    const size_t line_end = heard_.find('\n');
    if (line_end != std::string::npos) {
      std::string out = heard_.substr(0, line_end);
      heard_.erase(0, line_end + 1);
      return out;
    }
    pollfd waiting{from_, POLLIN, 0};
    if (::poll(&waiting, 1, poll_ms) <= 0) return {};
    char buffer[4096];
    const ssize_t got = ::read(from_, buffer, sizeof buffer);
    if (got == 0) lost();
    if (got > 0) heard_.append(buffer, static_cast<size_t>(got));
    return {};
  }

  // Spark's program has ended by itself: what it has logged last says why.
  [[noreturn]] void lost() {
    std::ifstream in(log());
    std::string line, last;
    while (std::getline(in, line))
      if (line.find("ERROR") != std::string::npos || line.find("Exception") != std::string::npos ||
          line.find("rror:") != std::string::npos)
        last = line;
    end();
    throw error(error_kind::resources, fmt::format("Spark at {} has ended{}", master_, last.empty() ? "" : ": " + last),
                "is there a master at that address, with workers that have free cores?");
  }

  // Its input ends, and it does. It once hung when it should have, so it isn't waited for.
  void end() noexcept {
    if (process_ < 0) return;
    ::close(to_);
    ::close(from_);
    ::kill(-process_, SIGTERM);
    for (int waited = 0; waited < 500; waited += 50) {
      if (::waitpid(process_, nullptr, WNOHANG) != 0) {
        process_ = -1;
        return;
      }
      ::poll(nullptr, 0, 50);
    }
    ::kill(-process_, SIGKILL);
    while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
    process_ = -1;
  }

  const std::string master_;
  const shared_directory directory_;
  std::vector<std::string> words_;
  pid_t process_ = -1;
  int to_ = -1, from_ = -1;
  std::string heard_;
};

}  // namespace

std::unique_ptr<scheduler> tasks_on_spark(const std::string& master, const std::vector<std::string>& program,
                                          const std::string& directory, const std::vector<std::string>& options) {
  return std::make_unique<spark_tasks>(master, program, directory, options);
}

}  // namespace flowrun::cluster
