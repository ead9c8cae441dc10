// Where an output's bytes go until it is whole, and how it gets its name.
//
// The bytes go to an unnamed file (O_TMPFILE) in the output's own directory, which vanishes with the process, also
// after kill -9. commit() makes them durable and gives them the name in one step: by linkat() where nothing has that
// name yet. Since linkat() can't replace, it otherwise links to a sibling ".NAME.flowrun-N.tmp" and renames that. Where
// the file system has no unnamed files, the sibling exists from the start, and the destructor removes it. A process
// that is killed meanwhile leaves its sibling, and the next output of that name takes it away: living processes hold a
// lock on theirs (flock).
// Directories that had to be made for an output go with it when it is abandoned, as long as nothing lies in them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/io/file.h"

namespace flowrun::io {

class output_target {
 public:
  // True when `path` exists and is no regular file (/dev/null, a FIFO), or names a descriptor: written straight to, as
  // a stream. Throws error(output) when it is a directory.
  static bool is_stream(const std::string& path);

  // Follows a symbolic link to what it names; creates missing directories. Throws error(output).
  output_target(const std::string& path, bool direct);
  ~output_target();
  output_target(const output_target&) = delete;
  output_target& operator=(const output_target&) = delete;

  // The bytes; its path() is the final one, for messages.
  file& content() { return *content_; }
  // Blocks for the disk, unless `durable` is false: then a power cut may still lose the content. Throws error(io)
  // or error(output); the name is then as it was before.
  void commit(bool durable = true);

 private:
  void make_directory();
  void open(bool direct);
  void open_sibling(bool direct);
  void remove_leftovers() const;
  std::string sibling_name(int number) const;
  void take_over_permissions() const;
  bool link_to(const std::string& name) const;
  void rename_into_place();
  void sync_directory() const;
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
    void keep() { made_.clear(); }

   private:
    std::vector<std::string> made_;  // parents first
  };

  std::string path_;  // final, links followed
  std::string directory_;
  new_directories made_;
  std::string temporary_;  // the sibling, while it exists
  std::unique_ptr<file> content_;
};

}  // namespace flowrun::io
