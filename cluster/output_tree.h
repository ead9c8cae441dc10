// What a sink whose path names columns writes: a file for each of their values, as on one machine. One task writes them
// all, into a hidden directory of the one that they will lie in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace flowrun::cluster {

class output_tree {
 public:
  // `directory`: plan::path_template::directory(). `id`: of the run. Makes the hidden directory, by which tasks find
  // out that they see the same storage, and holds its lock; those that nobody holds go. Where the run has another
  // output in that directory (is_in), `beside` is it, and they have the hidden directory together. Throws
  // error(output).
  output_tree(std::string directory, const std::string& id, const output_tree* beside);
  // Removes what was not placed, unless keep() was called.
  ~output_tree();
  output_tree(const output_tree&) = delete;
  output_tree& operator=(const output_tree&) = delete;

  bool is_in(const std::string& directory) const;
  void keep() { keeps_ = true; }
  static std::string hidden_directory(const std::string& directory, const std::string& id);
  // Where an attempt writes its files.
  static std::string attempt_directory(const std::string& directory, const std::string& id, const std::string& attempt);

  // The files of the attempt that counts take their names, in place of what has them, of which a second name stays in
  // the hidden directory. Says how many. Throws error(output).
  uint64_t place(const std::string& of_attempt);
  // Where another output of the job, or one of these, can't be placed: what had the names has them again. False: not
  // all.
  bool take_back() noexcept;

 private:
  void remove_left_over() const;
  std::optional<std::string> keep_replaced(const std::string& path);
  const std::string directory_, hidden_;
  const bool was_there_;
  // A file that was given its name.
  struct placed_file {
    std::string from, to;
    std::optional<std::string> replaced;  // keep_replaced()
  };
  int lock_ = -1;
  bool placed_ = false, keeps_ = false;
  std::vector<placed_file> files_;
  size_t num_replaced_ = 0;
};

}  // namespace flowrun::cluster
