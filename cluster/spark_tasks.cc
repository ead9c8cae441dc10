// Tasks on Spark, through a Java program: cluster/spark/Tasks.java. Who runs what where, retries, and beside slow tasks
// second ones, is Spark's affair.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "cluster/helper_tasks.h"
#include "engine/base/error.h"

namespace flowrun::cluster {

namespace {

// Found to matter: what finds lost machines and frozen tasks within seconds, and not minutes.
std::vector<std::string> spark_settings() {
  return {"spark.ui.enabled=false", "spark.speculation=true", "spark.speculation.quantile=0.5",
          "spark.speculation.multiplier=2", fmt::format("spark.task.maxFailures={}", most_attempts_on_engine),
          "spark.network.timeout=20s", "spark.locality.wait=0", "spark.executor.heartbeatInterval=4s",
          "spark.network.timeoutInterval=5s", "spark.executor.memory=512m",
          // An executor that can't reach the driver ends, and so do its tasks.
          "spark.executor.heartbeat.maxFailures=5",
          // A machine whose disk is full fails quickly and is free again, so it would get every attempt of a task.
          // Three are enough; of a cluster's only machine, too.
          "spark.excludeOnFailure.enabled=true", "spark.excludeOnFailure.task.maxTaskAttemptsPerExecutor=3",
          "spark.excludeOnFailure.task.maxTaskAttemptsPerNode=3",
          "spark.excludeOnFailure.stage.maxFailedTasksPerExecutor=6",
          "spark.excludeOnFailure.application.maxFailedTasksPerExecutor=12",
          // A task that no machine is left for waits as long as it takes until a lost machine is missed, and not for
          // two minutes.
          "spark.scheduler.excludeOnFailure.unschedulableTaskSetTimeout=20"};
}

std::string spark_submit() {
  if (const char* const home = std::getenv("SPARK_HOME"); home != nullptr) {
    std::string place = std::string(home) + "/bin/spark-submit";
    if (::access(place.c_str(), X_OK) == 0) return place;
  }
  std::string place = program_in_path("spark-submit");
  if (!place.empty()) return place;
  throw error(error_kind::missing_input, "there is no spark-submit",
              "set SPARK_HOME to where Spark is, or put its bin into PATH; tools/setup --cluster installs it");
}

}  // namespace

std::unique_ptr<scheduler> tasks_on_spark(const std::string& address, const std::vector<std::string>& program,
                                          const std::string& directory, const std::vector<std::string>& options) {
  helper by{"Spark", address, directory + "/spark.log", {}, {}, {}};
  by.when_lost = "is there a master at that address, with workers that have free cores?";
  const std::string secret =
      "spark.authenticate and spark.authenticate.secret in conf/spark-defaults.conf of this machine's Spark (or in "
      "SPARK_CONF_DIR) must be as they are where the master runs";
  by.refusals = {{"All masters are unresponsive", "no master answers", by.when_lost},
                 {"Expected SaslMessage", "it asks for a secret, and this machine gives none", secret},
                 {"New auth protocol failed", "it doesn't take the secret of this machine", secret}};
  by.words = {spark_submit(), "--master", address, "--name", "flowrun", "--class", "flowrun.Tasks"};
  for (const std::string& setting : spark_settings()) by.words.insert(by.words.end(), {"--conf", setting});
  by.words.push_back(file_of_helper(program.front(), "flowrun-spark.jar",
                                    "make cluster-jar builds it; it needs a JDK and Spark (tools/setup --cluster)"));
  by.words.insert(by.words.end(), {lasting_exit_codes(), std::filesystem::current_path().string()});
  by.words.insert(by.words.end(), program.begin(), program.end());
  by.words.insert(by.words.end(), {directory, "--"});
  by.words.insert(by.words.end(), options.begin(), options.end());
  return tasks_of_helper(std::move(by), directory);
}

}  // namespace flowrun::cluster
