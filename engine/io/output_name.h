// The name of an output: what has it, and how content takes it over so that it can be put back.
//
//   look_at_directory() exists()     take() ─▶ settle()       the content has the name
//                                           ╰▶ undo()         all is as it was before
//
// Until then the content has a hidden name, in this directory (output_target.h) or another one of the same file system
// (output_set.h). What is done to names is done in the directory that was opened, whatever its path has come to name
// since.
#pragma once

#include <sys/types.h>

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace flowrun::io {

// Makes a directory and its parents, and takes what it made away again, as long as nothing lies there, unless keep()
// was called.
class new_directories {
 public:
  new_directories() = default;
  ~new_directories();
  new_directories(const new_directories&) = delete;
  new_directories& operator=(const new_directories&) = delete;
  // 0, or the errno of what is in the way.
  int make(const std::string& directory);
  void keep() { kept_ = true; }
  // The directories that have got a new entry by it.
  std::vector<std::string> parents() const;

 private:
  std::vector<std::string> made_;  // parents first
  bool kept_ = false;
};

// What to do about an errno of an output.
std::string hint_for_output(int cause);

// Makes what was named in a directory durable. `path`: of the output, for messages. `done`: directories that need no
// sync any more; adds to it. Throws error(io).
void sync_directory(const std::string& directory, const std::string& path, std::set<std::string>& done);

class output_name {
 public:
  // Another hidden name for what was replaced: the nth from 0, as long as those before are taken.
  using spare_names = std::function<std::string(int)>;

  // `path`: links followed. Throws error(output) when it names a directory.
  explicit output_name(std::string path);
  ~output_name();
  output_name(const output_name&) = delete;
  output_name& operator=(const output_name&) = delete;

  const std::string& path() const { return path_; }
  std::string directory() const;
  std::string_view name() const;
  int directory_descriptor() const { return descriptor_; }
  void keep_directories() { made_.keep(); }

  // All of these throw error(output).
  [[noreturn]] void fail(const char* what, int cause) const;
  void make_directory();
  void open_directory();
  // The same on the way back, where there may be no memory left. False, with errno set, where it can't be opened.
  bool try_open_directory() noexcept;
  void close_directory() noexcept;
  // The directory must still be the one that was opened. Only where it is gone (an abandoned output of another job may
  // have taken it away: unnamed files don't count) another one of the same owner will do.
  void look_at_directory();
  // Whether something has the name. Throws where it can't be replaced.
  bool exists() const;

  // The owner, group and mode of an existing file outlive it: a private result stays private, and what root writes
  // stays its user's. Others than root may at most keep the group.
  void take_over_permissions(int content) const;
  // Which file the content is, for telling it from others.
  void remember_content(int content);
  bool is_content(int directory, const char* name) const noexcept;

  // The content has no name yet and was given this one.
  void note_made() { state_ = state::made; }
  // The content, which is called `hidden` in that directory, gets the name. `exists`: what exists() said. With
  // `keep_old` what it replaces is kept there, where the file system can.
  void take(int directory, std::string& hidden, bool exists, bool keep_old, const spare_names& spare);
  // What take() did is as it was before. False where that can't be done, and the new content stays. Takes no memory, of
  // which there may be none left.
  bool undo(int directory, std::string& hidden) noexcept;
  // The same where nothing may be replaced, not even a link: throws error(output) when something has the name.
  void take_new(int directory, std::string& hidden);
  // For outputs that may not replace anything.
  [[noreturn]] void refuse_existing() const;
  // The content stays: what it replaced goes.
  void settle(int directory) noexcept;
  // The hidden name of what was replaced, while it is kept; else empty.
  const std::string& old() const { return old_; }
  // The name is on the disk. Throws error(io).
  void sync_directories(std::set<std::string>& done) const;

 private:
  // What has become of the name.
  enum class state { as_before, made, exchanged, set_aside, replaced };

  const char* name_text() const { return path_.c_str() + name_at_; }
  bool take_free(int directory, std::string& hidden);
  bool set_aside(int directory, const spare_names& spare);
  void replace(int directory, std::string& hidden, bool keep_old, const spare_names& spare);

  std::string path_;  // final, links followed
  size_t name_at_ = 0;
  int descriptor_ = -1;  // of the directory
  new_directories made_;
  dev_t device_ = 0;  // of the content
  ino_t number_ = 0;
  std::string old_;
  state state_ = state::as_before;
};

}  // namespace flowrun::io
