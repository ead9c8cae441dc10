#include "cluster/output_lock.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "cluster/locked_directory.h"
#include "engine/base/error.h"
#include "engine/base/machine.h"

namespace flowrun::cluster {

namespace {

std::string owner_of(const std::string& hidden) { return hidden + "/driver"; }

}  // namespace

int lock_output(const std::string& hidden, const std::string& path) {
  std::error_code problem;
  if (const std::filesystem::path parent = std::filesystem::path(hidden).parent_path(); !parent.empty())
    std::filesystem::create_directories(parent, problem);
  const int lock = problem ? -2 : made_and_locked_directory(hidden, 0777);
  if (lock == -2)
    throw error(error_kind::output,
                fmt::format("can't write {}: {}", path, problem ? problem.message() : errno_text(errno)),
                "give a path in a directory that exists and is writable");
  if (lock < 0 && (errno == EWOULDBLOCK || errno == ENOENT)) refuse_beside(hidden, path);
  if (lock < 0)
    refuse_unlocked(hidden, "remove it, or write the output into a directory of yours",
                    "outputs of a job on a cluster");
  std::ofstream(owner_of(hidden)) << fmt::format("process {} of {}", ::getpid(), host_name());
  return lock;
}

void refuse_beside(const std::string& hidden, const std::string& path) {
  std::string owner;
  std::ifstream in(owner_of(hidden));
  std::getline(in, owner);
  throw error(error_kind::output,
              fmt::format("can't write {}: another job writes it now, in {}{}{}", path, hidden,
                          owner.empty() ? "" : ": ", owner),
              "wait until it has ended, or give another path");
}

}  // namespace flowrun::cluster
