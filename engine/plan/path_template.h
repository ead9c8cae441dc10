// A path with names of columns in it: "out/{country}/{year}.csv". Each row goes to the file that its values name. Pure.
//
// {{ and }} stand for a brace. What the values become in a name is decided elsewhere (operators/parts/files).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "specs/job.pb.h"

namespace flowrun::plan {

class path_template {
 public:
  // What is wrong with a text, and where in it.
  struct problem {
    size_t at = 0;
    std::string message, expected, hint;
  };
  // A column and what stands in front of it.
  struct part {
    std::string literal;
    std::string column;
    size_t at = 0;  // where the column's name begins in the text
  };

  // Empty when `text` can't be a path: `why` then says so.
  static std::optional<path_template> parse(std::string_view text, problem& why) { return parse(text, {}, why); }
  // The same of what a job says. The braces of a parameter's value belong to the name.
  static std::optional<path_template> parse(const specs::Value& path, problem& why);
  // A path without columns, whatever braces are in it.
  static path_template of_file(std::string path);
  // The text of which parse() makes that path.
  static std::string escaped(std::string_view path);

  const std::vector<part>& parts() const { return parts_; }
  // Behind the last column; without columns the path.
  const std::string& tail() const { return tail_; }
  bool names_columns() const { return !parts_.empty(); }
  // The columns, each once, in the order in which they come first.
  std::vector<std::string> columns() const;
  // The directory that all of its files lie in or under, as it is spelled: up to the last '/' in front of the first
  // column, or ".".
  std::string directory() const;
  // The path as people read it: {column} stands for each column, and braces are braces.
  std::string shown() const;
  // What of it follows directory() and its '/'.
  std::string rest() const;
  // The text of which parse() makes this path, but in another directory.
  std::string text_in(const std::string& directory) const;

 private:
  using spans = google::protobuf::RepeatedPtrField<specs::Span>;
  static std::optional<path_template> parse(std::string_view text, const spans& inserted, problem& why);

  std::vector<part> parts_;
  std::string tail_;
};

// Whether both may name the same file: some values of one make a path that some values of the other make. Paths are
// compared as they are spelled, but for "./" and "//".
bool may_name_same(const path_template& a, const path_template& b);

}  // namespace flowrun::plan
