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
  std::function<void(const std::string&)> warning;
};

class scheduler {
 public:
  virtual ~scheduler() = default;
  // Returns when every task is done, which the listener hears as they are. Throws what ended the first task that
  // couldn't be finished, and error(cancelled) once `stop` is true; no task runs any more then. An engine may take some
  // seconds for that (seconds_to_stop()).
  virtual void run(size_t stage, const std::vector<size_t>& tasks, const stage_listener& listener,
                   const std::atomic<bool>& stop) = 0;
};

// Processes of this machine, `width` at once. `program`: the command that a task begins with, up to its DIRECTORY;
// `options` stand behind the task.
std::unique_ptr<scheduler> local_pool(size_t width, std::vector<std::string> program, std::string directory,
                                      std::vector<std::string> options);

// Processes of Spark's executors, and of Dask's workers. The address: spark://HOST:PORT, dask://HOST:PORT. The program
// and the directory have to be there under the same paths on all machines. Throw error(missing_input) where the engine,
// or what runs tasks on it, isn't there.
std::unique_ptr<scheduler> tasks_on_spark(const std::string& address, const std::vector<std::string>& program,
                                          const std::string& directory, const std::vector<std::string>& options);
std::unique_ptr<scheduler> tasks_on_dask(const std::string& address, const std::vector<std::string>& program,
                                         const std::string& directory, const std::vector<std::string>& options);

enum class engine_kind { local, spark, dask };

// What has fewer bytes to read inside of loops isn't divided: for as many a core works about as long as it takes to
// start the tasks of some stages.
constexpr uint64_t usual_least_divided_bytes = uint64_t{64} << 20;

// Where tasks run.
struct place {
  engine_kind engine = engine_kind::local;
  size_t local_width = 0;  // processes of this machine at once
  std::string address;     // of Spark's master, or Dask's scheduler
};
// "local:3", "spark://HOST:7077", "dask://HOST:8786". Throws error(usage).
place place_of(const std::string& text);
// How long tasks may take to end when the job is stopped.
double seconds_to_stop(const place& where);
std::unique_ptr<scheduler> tasks_at(const place& where, const std::vector<std::string>& program,
                                    const std::string& directory, const std::vector<std::string>& options);

}  // namespace flowrun::cluster
