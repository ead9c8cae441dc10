// Who runs the tasks of a stage: processes of this machine, or an engine for clusters that its users have already.
//
// A task is `flowrun worker DIRECTORY STAGE TASK`. It may be run more than once, at the same time, too: the first that
// is done counts. Retries, heartbeats and membership are the engine's.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace flowrun::cluster {

class scheduler {
 public:
  virtual ~scheduler() = default;
  // How many tasks can run at once.
  virtual size_t width() const = 0;
  // Returns when every task is done, and calls `finished` as they are. Throws what ended the first task that couldn't
  // be finished, and error(cancelled) once `stop` is true; no task runs any more then.
  virtual void run(size_t stage, const std::vector<size_t>& tasks, const std::function<void(size_t task)>& finished,
                   const std::atomic<bool>& stop) = 0;
};

// Processes of this machine, `width` at once. `program`: the command that a task begins with, up to its DIRECTORY;
// `options` stand behind the task.
std::unique_ptr<scheduler> local_pool(size_t width, std::vector<std::string> program, std::string directory,
                                      std::vector<std::string> options);

// "local:3". Throws error(usage).
struct place {
  size_t local_width = 0;
};
place place_of(const std::string& text);

}  // namespace flowrun::cluster
