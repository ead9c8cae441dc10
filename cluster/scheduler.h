// Who runs the tasks of a stage: processes of this machine, or an engine for clusters that its users have already.
//
// A task is `flowrun worker DIRECTORY STAGE TASK`. It may be run more than once, at the same time, too: the first that
// is done counts. Retries, heartbeats and membership are the engine's.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace flowrun::cluster {

// What is called on the thread that runs a stage.
struct stage_listener {
  std::function<void(size_t task)> finished;
  std::function<void()> waiting;  // several times a second
};

class scheduler {
 public:
  virtual ~scheduler() = default;
  // Returns when every task is done, which the listener hears as they are. Throws what ended the first task that
  // couldn't be finished, and error(cancelled) once `stop` is true; no task runs any more then.
  virtual void run(size_t stage, const std::vector<size_t>& tasks, const stage_listener& listener,
                   const std::atomic<bool>& stop) = 0;
};

// Processes of this machine, `width` at once. `program`: the command that a task begins with, up to its DIRECTORY;
// `options` stand behind the task.
std::unique_ptr<scheduler> local_pool(size_t width, std::vector<std::string> program, std::string directory,
                                      std::vector<std::string> options);

// Processes of Spark's executors. `master`: spark://HOST:PORT. The program and the directory have to be there under the
// same paths on all machines. Throws error(missing_input) where Spark, or the jar that runs tasks on it, isn't there.
std::unique_ptr<scheduler> tasks_on_spark(const std::string& master, const std::vector<std::string>& program,
                                          const std::string& directory, const std::vector<std::string>& options);

// What has fewer bytes to read inside of loops isn't divided: for as many a core works about as long as it takes to
// start the tasks of some stages.
constexpr uint64_t usual_least_divided_bytes = uint64_t{64} << 20;

// Where tasks run.
struct place {
  size_t local_width = 0;  // processes of this machine at once; 0: Spark …
  std::string spark;       // … at this master
};
// "local:3", "spark://HOST:7077". Throws error(usage).
place place_of(const std::string& text);

}  // namespace flowrun::cluster
