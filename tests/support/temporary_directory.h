// A directory of a test's own. It is removed with everything in it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace flowrun {

class temporary_directory {
 public:
  // Lies in `parent`; if that is empty, in the system's directory for temporary files.
  explicit temporary_directory(const std::string& parent = {});
  ~temporary_directory();
  temporary_directory(const temporary_directory&) = delete;
  temporary_directory& operator=(const temporary_directory&) = delete;

  const std::string& path() const { return path_; }
  // The path of `name` in it.
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

  // Makes or replaces a file; returns its path.
  std::string write(const std::string& name, std::string_view content) const;
  // What a file contains; the test fails if it can't be read.
  std::string read(const std::string& name) const;
  bool has(const std::string& name) const;
  size_t num_entries() const;

 private:
  std::string path_;
};

}  // namespace flowrun
