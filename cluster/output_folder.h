// What a sink of a job on a cluster writes: a folder that has the sink's path, with a part for each task and a
// manifest.
//
//   out/sorted.csv/part-00000.csv, part-00001.csv, …, manifest.json
//
// The parts, laid one behind the other, are what the job writes on one machine (each with its own heading, where the
// format has one). They are written into a hidden folder beside it, which takes the name when the whole job has
// succeeded; readers trust the manifest alone. The driver holds a lock on the hidden folder, so that one that nobody
// holds is left over from a driver that was killed, and the next output of that name takes it away.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace flowrun::cluster {

struct output_part {
  std::string path;  // where the task has written it, in the hidden folder
  uint64_t rows = 0, bytes = 0;
  std::string hash;         // output_manifest::part
  std::string host;         // that has written it
  std::string first, last;  // output_manifest::part
};

class output_folder {
 public:
  // False: it is written as it is, by each task: /dev/null.
  static bool is_made_at(const std::string& path);
  // Throws error(output) where an output can't be made: a directory that isn't one of such a job, or has more in it
  // than the job has written, is not replaced.
  static void try_path(const std::string& path);
  // `id`: of the run, which may have been begun by another process. Makes the hidden folder. Throws as try_path(), and
  // error(output) where another driver makes the same output now.
  output_folder(std::string path, const std::string& id);
  // Removes the hidden folder, unless keep() was called.
  ~output_folder();
  output_folder(const output_folder&) = delete;
  output_folder& operator=(const output_folder&) = delete;

  // A name for what an attempt of a task writes; with the ending of the path.
  static std::string part_path(const std::string& path, const std::string& id, size_t task, const std::string& attempt);

  // What is there stays, for a process that goes on with the run.
  void keep() { keeps_ = true; }
  // Makes them parts, with the manifest; whatever else is in the hidden folder goes. `sorted_by`: output_manifest's.
  // Throws as try_path().
  void finish(const std::string& job, const std::vector<std::string>& sorted_by, const std::vector<output_part>& parts);
  // Gives the folder its name, in place of what has it. What had it stays in the hidden folder, until settle().
  void place();
  // Where another output of the job can't be placed: all is as it was before place(). False: it can't be undone.
  bool take_back() noexcept;
  // All outputs are in place: what had the name goes.
  void settle();

 private:
  void look_at_others() const;
  void replace_in_two_steps(const std::string& target);
  bool is_placed() const;
  const std::string path_, id_, hidden_;
  int lock_ = -1;
  bool placed_ = false, keeps_ = false;
  bool was_placed_before_ = false;  // by an earlier process
  std::string replaced_;            // where what had the name is now; empty: nothing had it
};

}  // namespace flowrun::cluster
