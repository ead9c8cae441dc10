// Tasks on Dask, through a Python program: cluster/dask/tasks.py. Who runs what where is Dask's affair.
#include <fmt/format.h>

#include <filesystem>

#include "cluster/helper_tasks.h"
#include "engine/base/error.h"

namespace flowrun::cluster {

namespace {

// That of the environment which is active, as for any Python program of its user.
std::string python() {
  std::string place = program_in_path("python3");
  if (!place.empty()) return place;
  throw error(error_kind::missing_input, "there is no python3 in PATH",
              "activate the Python environment that has Dask (dask.distributed)");
}

}  // namespace

std::unique_ptr<scheduler> tasks_on_dask(const std::string& address, const std::vector<std::string>& program,
                                         const std::string& directory, const std::vector<std::string>& options) {
  helper by{"Dask", address, directory + "/dask.log", {}, {}, {}};
  by.when_lost = "is there a scheduler at that address (dask scheduler), and can this machine reach it?";
  by.when_missing =
      "activate a Python environment as Dask's workers have: the same Python, and the same version of distributed "
      "(pip install distributed)";
  by.words = {python(),
              "-B",
              file_of_helper(program.front(), "flowrun-dask.py", "it is installed with the program: install it again"),
              address.substr(address.find("//") + 2),
              std::to_string(most_attempts_on_engine),
              lasting_exit_codes(),
              std::filesystem::current_path().string()};
  by.words.insert(by.words.end(), program.begin(), program.end());
  by.words.insert(by.words.end(), {directory, "--"});
  by.words.insert(by.words.end(), options.begin(), options.end());
  return tasks_of_helper(std::move(by), directory);
}

}  // namespace flowrun::cluster
