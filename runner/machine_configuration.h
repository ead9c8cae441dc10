// The machine's configuration: a YAML file with the resources: that jobs on this machine may use, and the directories
// where plugins: lie. Read by every command, written by flowrun bench-disk --save.
#pragma once

#include <string>
#include <vector>

#include "specs/job.pb.h"

namespace flowrun::runner {

inline constexpr const char* system_configuration_path = "/etc/flowrun.yaml";

// $XDG_…_HOME/flowrun, or the same below the home directory; empty when there is neither. XDG asks to ignore relative
// paths.
std::string user_directory(const char* variable, const char* below_home);
// $XDG_CONFIG_HOME/flowrun/config.yaml; empty when there is no home.
std::string own_configuration_path();

// Of the machine's configuration; empty, with the path "", when there is none.
struct machine_configuration {
  std::string path;
  specs::Resources resources;
  std::vector<std::string> plugin_directories;
};

// The user's own, else the system's. Throws error(bad_spec) when a configuration is there and wrong, with every fault
// rendered.
machine_configuration read_machine_configuration();

// What was measured of the machine's disks.
struct measured_disks {
  struct directory {
    std::string path;  // absolute
    double weight = 0;
  };
  std::vector<directory> scratch;
  uint64_t block_bytes = 0;
  unsigned depth = 0;
};

// The text of a configuration with these disks: what `old_text` says about other things stays, and so do the limits
// that it gives to these directories. Throws error(bad_spec) when the old text is wrong; `path` is for the message.
std::string merged_configuration(const std::string& old_text, const std::string& path, const measured_disks& disks);

// Where a configuration is to be written to.
class configuration_file {
 public:
  // `path` empty: the user's own. Throws error(output) when it can't be written there, error(bad_spec) when what it
  // already says is wrong: before anything is measured.
  explicit configuration_file(const std::string& path);

  const std::string& path() const { return path_; }
  // What save() makes the file say.
  std::string text_with(const measured_disks& disks) const { return merged_configuration(text_, path_, disks); }
  // Replaces the file in one step. If it said something else before, that is kept in path() + ".bak". Returns lines
  // that tell the user about it.
  std::vector<std::string> save(const measured_disks& disks) const;

 private:
  std::string path_;  // no symbolic link any more
  std::string text_;  // what it says
  bool exists_ = false;
  std::string inherited_;  // the configuration whose settings a new one takes over; empty: none
};

}  // namespace flowrun::runner
