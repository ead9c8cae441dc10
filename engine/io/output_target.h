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
// prepare() refuses a directory that was exchanged since it was opened.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "engine/io/file.h"
#include "engine/io/output_name.h"

namespace flowrun::io {

// What becomes of a file that has the output's name. `refused`: nothing is replaced, whenever it came there, and a link
// is such a file itself, wherever it leads.
enum class what_is_there { replaced, refused };

class output_target {
 public:
  // True when `path` exists and is no regular file (/dev/null, a FIFO), or names a descriptor: written straight to, as
  // a stream. Throws error(output) when it is a directory.
  static bool is_stream(const std::string& path);

  // Follows a symbolic link to what it names; creates missing directories. `kept`: the name that keep() gave in another
  // process; empty: it is a new file. With `refused` links aren't followed. Throws error(output).
  output_target(const std::string& path, bool direct, const std::string& kept = {},
                what_is_there there = what_is_there::replaced);
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
  std::string kept_old() const { return name_.old().empty() ? std::string() : name_.directory() + "/" + name_.old(); }
  // It stays: what it replaced goes.
  void settle() noexcept;
  // The name is on the disk. `done`: directories that need no sync any more; adds to it.
  void sync_directory(std::set<std::string>& done) const { name_.sync_directories(done); }

 private:
  void open(bool direct);
  void open_kept(const std::string& kept, bool direct);
  void open_sibling(bool direct);
  void remove_leftovers() const;
  std::string sibling_name(int number) const;
  std::string kept_name(const std::string& suffix) const;
  std::string path_of(const std::string& name) const;
  bool link_to(const std::string& name) const;
  void link_sibling();

  output_name name_;
  what_is_there there_;
  std::string temporary_;  // the name of the sibling, while it exists
  bool is_kept_ = false;   // it stays
  std::unique_ptr<file> content_;
};

}  // namespace flowrun::io
