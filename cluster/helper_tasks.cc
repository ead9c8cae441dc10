#include "cluster/helper_tasks.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "cluster/shared_directory.h"
#include "cluster/task_failure.h"
#include "engine/base/error.h"
#include "specs/value.h"

extern char** environ;

namespace flowrun::cluster {

namespace {

using clock = std::chrono::steady_clock;

constexpr int poll_ms = 200;
// Until the tasks of a job that is stopped have ended, and until the helper itself has.
constexpr std::chrono::milliseconds most_to_end_tasks{5000}, most_to_end{500};
// Then it is told that an engine which is there has begun no task.
constexpr std::chrono::seconds longest_silence{20};

std::string take_word(std::string_view& line) {
  const size_t end = std::min(line.find(' '), line.size());
  std::string out(line.substr(0, end));
  line.remove_prefix(std::min(end + 1, line.size()));
  return out;
}

std::string behind_words(std::string_view line, size_t num_words) {
  for (; num_words > 0; --num_words) take_word(line);
  return std::string(line);
}

// As they were said, with their ends of lines.
std::string words_of(std::string_view line) {
  std::string out(line);
  std::replace(out.begin(), out.end(), '\r', '\n');
  return out;
}

class helper_tasks final : public scheduler {
 public:
  helper_tasks(helper by, const std::string& directory) : helper_(std::move(by)), directory_(directory) {}
  ~helper_tasks() override { end(); }

  void run(size_t stage, const std::vector<size_t>& tasks, const stage_listener& listener,
           const std::atomic<bool>& stop) override {
    if (tasks.empty()) return;
    heard_of_.clear();
    try {
      if (process_ < 0) start();
      std::string line = std::to_string(stage);
      for (const size_t task : tasks) line += fmt::format(" {}", task);
      say(line + "\n");
      until_done(stage, tasks, listener, stop);
    } catch (...) {
      end();
      throw;
    }
  }

 private:
  void until_done(size_t stage, std::vector<size_t> missing, const stage_listener& listener,
                  const std::atomic<bool>& stop) {
    const size_t num_tasks = missing.size();
    for (bool is_over = false; !is_over;) {
      if (stop.load()) throw error(error_kind::cancelled, "the job was stopped", "");
      const std::string answer = next_line();
      is_ready_ = is_ready_ || answer == "ready";
      if (!is_ready_) look_for_refusal();
      if (answer.starts_with("tried ")) hear_of_attempt(stage, answer);
      if (answer.starts_with("ended ")) hear_of_end(stage, answer);
      std::erase_if(missing, [&](size_t task) {
        const bool done = ::access(directory_.done(stage, task).c_str(), F_OK) == 0;
        if (done) listener.finished(task);
        return done;
      });
      listener.waiting();
      look_for_silence(stage, missing.size(), num_tasks, listener);
      if (answer.starts_with("missing "))
        throw error(error_kind::missing_input, behind_words(answer, 1), helper_.when_missing);
      if (answer.starts_with("lost")) lost(behind_words(answer, 1));
      if (answer.starts_with("failed ") && !missing.empty()) fail(stage, missing, behind_words(answer, 2));
      is_over = answer.starts_with("end ") || answer.starts_with("failed ");
    }
    if (!missing.empty()) fail(stage, missing.front());
    warn(listener);
  }

  // Of an attempt that has failed, "tried STAGE TASK HOST WORDS".
  void hear_of_attempt(size_t stage, std::string_view answer) {
    take_word(answer);
    if (take_word(answer) != std::to_string(stage)) return;
    const auto task = specs::to_uint(take_word(answer));
    const std::string host = take_word(answer);
    other_words words = words_of_worker(words_of(answer));
    words.host = host;
    failed_on_.emplace(host, words.message);
    if (task) heard_of_[static_cast<size_t>(*task)] = std::move(words);
  }

  // Of a worker that no other attempt is begun for, "ended STAGE TASK CODE HOST WORDS".
  void hear_of_end(size_t stage, std::string_view answer) {
    take_word(answer);
    if (take_word(answer) != std::to_string(stage)) return;
    const auto task = specs::to_uint(take_word(answer)), code = specs::to_uint(take_word(answer));
    const std::string host = take_word(answer);
    if (!task || !code) return;
    other_words words = words_of_worker(words_of(answer));
    words.host = host;
    words.kind = static_cast<error_kind>(*code);
    heard_of_[static_cast<size_t>(*task)] = std::move(words);
  }

  // The stage is done, and not everywhere at the first try.
  void warn(const stage_listener& listener) {
    for (const auto& [host, message] : failed_on_)
      listener.warning(fmt::format("a task failed on {}, and was tried again: {}", host, message));
    failed_on_.clear();
  }

  [[noreturn]] void fail(size_t stage, size_t task) const {
    const auto heard = heard_of_.find(task);
    fail_task(directory_, stage, task,
              heard != heard_of_.end()
                  ? heard->second
                  : other_words{.kind = error_kind::resources,
                                .host = {},
                                .message = "it isn't done",
                                .hint = fmt::format("is {} on storage that all machines share?", directory_.path())});
  }

  // The task that the engine gave up on need not be the first one that isn't done.
  [[noreturn]] void fail(size_t stage, const std::vector<size_t>& missing, const std::string& why) const {
    const auto told = std::find_if(missing.begin(), missing.end(), [&](size_t task) {
      return heard_of_.contains(task) || ::access(directory_.failed(stage, task).c_str(), F_OK) == 0;
    });
    if (told != missing.end()) fail(stage, *told);
    throw error(error_kind::resources, fmt::format("{} gives up on stage {}: {}", helper_.engine, stage + 1, why),
                fmt::format("what {}'s workers have logged may say more", helper_.engine));
  }

  void start() {
    int to[2], from[2];
    if (::pipe2(to, O_CLOEXEC) != 0 || ::pipe2(from, O_CLOEXEC) != 0)
      throw error(error_kind::resources, fmt::format("no process can be started: {}", errno_text(errno)), "");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, helper_.log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setpgroup(&attributes, 0);
    std::vector<char*> argv;
    for (std::string& word : helper_.words) argv.push_back(word.data());
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
      throw error(error_kind::resources, fmt::format("{} can't be started: {}", helper_.words[0], errno_text(cause)),
                  "");
    }
  }

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

  // An engine that doesn't take it may be asked again and again, for minutes.
  void look_for_refusal() const {
    if (helper_.refusals.empty()) return;
    std::ifstream in(helper_.log);
    for (std::string line; std::getline(in, line);)
      for (const helper::refusal& r : helper_.refusals)
        if (line.find(r.logged) != std::string::npos)
          throw error(error_kind::resources,
                      fmt::format("{} at {} can't be used: {}", helper_.engine, helper_.address, r.message), r.hint);
  }

  // Engines wait, without a word, for machines that may come.
  void look_for_silence(size_t stage, size_t num_missing, size_t num_tasks, const stage_listener& listener) {
    if (!is_ready_ || is_begun_ || num_missing < num_tasks) return;
    const auto now = clock::now();
    if (!silent_since_) silent_since_ = now;
    if (now - *silent_since_ < longest_silence) return;
    is_begun_ = true;  // or it was told
    if (directory_.all_alive(stage).empty() && heard_of_.empty())
      listener.warning(fmt::format("{} at {} has begun no task for {} s: has it a machine with a free core?",
                                   helper_.engine, helper_.address, longest_silence.count()));
  }

  // Where it doesn't say why, what it has logged last does.
  [[noreturn]] void lost(std::string why = {}) {
    if (!is_begun_) look_for_refusal();
    std::ifstream in(why.empty() ? helper_.log : std::string());
    for (std::string line; std::getline(in, line);)
      if (line.find("ERROR") != std::string::npos || line.find("Exception") != std::string::npos ||
          line.find("rror:") != std::string::npos)
        why = line;
    throw error(error_kind::resources,
                fmt::format("{} at {} {}{}", helper_.engine, helper_.address, is_ready_ ? "has ended" : "can't be used",
                            why.empty() ? "" : ": " + why),
                helper_.when_lost);
  }

  // Its input ends, and it ends all that it still runs, which the driver waits for: it removes folders that nobody may
  // write into any more. The helper itself once hung when it should have ended, so that isn't waited for for long.
  void end() noexcept {
    if (process_ < 0) return;
    ::close(to_);
    if (is_ready_) wait_until_over(clock::now() + most_to_end_tasks);
    ::close(from_);
    ::kill(-process_, SIGTERM);
    for (const auto latest = clock::now() + most_to_end; clock::now() < latest; ::poll(nullptr, 0, 20)) {
      if (::waitpid(process_, nullptr, WNOHANG) != 0) {
        process_ = -1;
        return;
      }
    }
    ::kill(-process_, SIGKILL);
    while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
    process_ = -1;
  }

  void wait_until_over(clock::time_point latest) noexcept {
    heard_.insert(0, "\n");
    while (heard_.find("\nover\n") == std::string::npos && clock::now() < latest) {
      pollfd waiting{from_, POLLIN, 0};
      if (::poll(&waiting, 1, poll_ms) <= 0) continue;
      char buffer[4096];
      const ssize_t got = ::read(from_, buffer, sizeof buffer);
      if (got <= 0) return;
      heard_.append(buffer, static_cast<size_t>(got));
    }
  }

  helper helper_;
  const shared_directory directory_;
  bool is_ready_ = false, is_begun_ = false;
  std::optional<clock::time_point> silent_since_;
  pid_t process_ = -1;
  int to_ = -1, from_ = -1;
  std::string heard_;
  std::map<size_t, other_words> heard_of_;                   // by task of the stage: what its last attempt said
  std::set<std::pair<std::string, std::string>> failed_on_;  // hosts, and what was said there
};

}  // namespace

std::string lasting_exit_codes() {
  std::string out;
  // Not error_kind::usage: the driver makes the command line, so a worker that doesn't know it is of another version.
  for (const error_kind kind :
       {error_kind::bad_data, error_kind::missing_input, error_kind::output, error_kind::bad_spec})
    out += fmt::format("{}{}", out.empty() ? "" : ",", static_cast<int>(kind));
  return out;
}

std::string file_of_helper(const std::string& program, const std::string& name, const std::string& hint) {
  const std::filesystem::path directory = std::filesystem::path(program).parent_path();
  for (const std::filesystem::path& place : {directory / name, directory / "../share/flowrun" / name})
    if (std::filesystem::exists(place)) return place.lexically_normal().string();
  throw error(error_kind::missing_input, fmt::format("there is no {} beside {}", name, program), hint);
}

std::string program_in_path(const std::string& name) {
  const char* const path = std::getenv("PATH");
  std::string rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(':'), rest.size());
    const std::string place = rest.substr(0, end) + "/" + name;
    if (end > 0 && ::access(place.c_str(), X_OK) == 0) return place;
    rest.erase(0, end + 1);
  }
  return {};
}

std::unique_ptr<scheduler> tasks_of_helper(helper by, const std::string& directory) {
  return std::make_unique<helper_tasks>(std::move(by), directory);
}

}  // namespace flowrun::cluster
