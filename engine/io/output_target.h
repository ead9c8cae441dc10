// Where an output's bytes go until it is whole, and how it gets its name.
//
// The bytes go to an unnamed file (O_TMPFILE) in the output's own directory, which vanishes with the process, also
// after kill -9. A commit makes them durable and gives them the name in one step: by linkat() where nothing has that
// name yet. Since linkat() can't replace, it otherwise links to a sibling ".NAME.flowrun-N.tmp" and renames that. Where
// the file system has no unnamed files, the sibling exists from the start, and the destructor removes it. A process
// that is killed meanwhile leaves its sibling, and the next output of that name takes it away: living processes hold a
// lock on theirs (flock).
// An output of which a later process may go on with what is there (keep()) has a hidden name of its own instead, which
// stays when the process ends.
// Directories that had to be made for an output go with it when it is abandoned, as long as nothing lies in them.
//
//   sync() prepare() place() settle() sync_directory()       one output: commit()
//                    place() undo()                          where another one, placed with it, failed (joint_commit.h)
//
// What is done to names between prepare() and the end is done in the directory that was opened first, whatever its path
// has come to name since: prepare() refuses a directory that was exchanged.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "engine/io/file.h"

namespace flowrun::io {

class output_target {
 public:
  // True when `path` exists and is no regular file (/dev/null, a FIFO), or names a descriptor: written straight to, as
  // a stream. Throws error(output) when it is a directory.
  static bool is_stream(const std::string& path);

  // Follows a symbolic link to what it names; creates missing directories. `kept`: the name that keep() gave in another
  // process; empty: it is a new file. Throws error(output).
  output_target(const std::string& path, bool direct, const std::string& kept = {});
  ~output_target();
  output_target(const output_target&) = delete;
  output_target& operator=(const output_target&) = delete;

  // The bytes; its path() is the final one, for messages.
  file& content() { return *content_; }
  // Gives the content the name ".NAME.SUFFIX", which stays until a commit, also when this is gone; returns its path.
  // What had the name goes. Throws error(output).
  std::string keep(const std::string& suffix);
  // The path that keep() would give. What has the name is removed.
  std::string clear_kept(const std::string& suffix) const;
  // Blocks for the disk, unless `durable` is false: then a power cut may still lose the content. Throws error(io)
  // or error(output); the name is then as it was before.
  void commit(bool durable = true);

  // The steps of a commit, once each. They throw error(io) or error(output).
  // The content is on the disk.
  void sync();
  // Looks whether the name can be had, and does before it all that may fail.
  void prepare();
  // Gives the content its name. With `keep_old` the file that it replaces is kept beside it, where the file system can.
  void place(bool keep_old);
  // After place(true): the name is as it was before. False where that can't be done, and the new content stays.
  bool undo() noexcept;
  // The path of what was replaced, while it is kept; else empty.
  std::string kept_old() const { return old_.empty() ? old_ : directory_ + "/" + old_; }
  // It stays: what it replaced goes.
  void settle() noexcept;
  // The name is on the disk. `done`: directories that need no sync any more; adds to it.
  void sync_directory(std::set<std::string>& done) const;

 private:
  void make_directory();
  void open_directory();
  void look_at_directory();
  bool look_at_target() const;
  void open(bool direct);
  void open_kept(const std::string& kept, bool direct);
  void open_sibling(bool direct);
  void remove_leftovers() const;
  std::string sibling_name(int number) const;
  std::string kept_name(const std::string& suffix) const;
  std::string path_of(const std::string& name) const;
  void take_over_permissions() const;
  bool link_to(const std::string& name) const;
  void link_sibling();
  bool take_free_name();
  void replace(bool keep_old);
  bool keep_beside();
  bool is_ours(const std::string& name) const;
  [[noreturn]] void fail(const char* what, int cause) const;

  // Makes a directory and its parents, and takes what it made away again unless keep() was called.
  class new_directories {
   public:
    new_directories() = default;
    ~new_directories();
    new_directories(const new_directories&) = delete;
    new_directories& operator=(const new_directories&) = delete;
    // 0, or the errno of what is in the way.
    int make(const std::string& directory);
    void keep() { kept_ = true; }
    const std::vector<std::string>& made() const { return made_; }

   private:
    std::vector<std::string> made_;  // parents first
    bool kept_ = false;
  };

  // What has become of the name.
  enum class state { as_before, made, exchanged, set_aside, replaced };

  std::string path_;  // final, links followed
  std::string directory_;
  std::string name_;     // in the directory
  int descriptor_ = -1;  // of the directory
  new_directories made_;
  std::string temporary_;  // the name of the sibling, while it exists
  bool is_kept_ = false;   // it stays
  std::string old_;        // the name of what was replaced, while it is kept
  state state_ = state::as_before;
  std::unique_ptr<file> content_;
};

}  // namespace flowrun::io
