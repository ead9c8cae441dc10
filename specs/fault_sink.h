// Where the readers put what they find wrong in one file.
//
// Nothing is thrown: a reader reports and goes on, so that one run shows every fault. At most `max_faults` are kept (a
// hostile file could have a hundred thousand); the last one then says that there are more.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/base/fault.h"
#include "specs/value.h"

namespace flowrun::specs {

class source_text;

class fault_sink {
 public:
  static constexpr size_t max_faults = 100;

  explicit fault_sink(std::string file) : file_(std::move(file)) {}

  const std::string& file() const { return file_; }
  // The text that is read, for advice that repeats pieces of it; null where there is none. Not owned.
  void reads(const source_text* source) { source_ = source; }
  const source_text* source() const { return source_; }
  bool empty() const { return faults_.empty(); }
  bool full() const { return faults_.size() >= max_faults; }
  size_t num_faults() const { return faults_.size(); }

  void add(const Position& position, std::string message, std::string expected = {}, std::string hint = {});
  void add(source_position where, std::string message, std::string expected = {}, std::string hint = {});
  // A word that is none of `candidates`: adds "did you mean", or else lists them as what was expected while they are
  // few.
  void add_unknown(const Position& position, std::string message, std::string_view word,
                   const std::vector<std::string>& candidates);
  void add_unknown(source_position where, std::string message, std::string_view word,
                   const std::vector<std::string>& candidates);

  // Everything reported, by position; empties the sink.
  std::vector<fault> take();

 private:
  std::string file_;
  const source_text* source_ = nullptr;
  std::vector<fault> faults_;
  bool dropped_ = false;
};

// Text from a file as it may stand in a message: cut to 60 bytes, one line.
std::string quotable(std::string_view text);

}  // namespace flowrun::specs
