// What `flowrun top` shows: the state of a job, and how it differs from one a few seconds before, as lines of text.
// Pure.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "engine/exec/report.pb.h"

namespace flowrun::runner {

// The states of the last seconds, from which speeds and shares come. Of a single one, and of a job that has ended: its
// whole time.
class recent_states {
 public:
  void add(exec::RunReport state);
  bool empty() const { return states_.empty(); }
  const exec::RunReport& now() const { return states_.back(); }
  // Null: speeds are those of the whole time.
  const exec::RunReport* before() const { return states_.size() > 1 ? &states_.front() : nullptr; }
  double seconds() const;  // between the two

 private:
  std::deque<exec::RunReport> states_;
};

struct screen_style {
  size_t width = 0;   // columns; 0: as many as it takes
  size_t height = 0;  // lines; 0: as many as it takes
  bool unicode = false;
  bool colors = false;
};

// `notice`: one line more, of what is wrong; may be empty. No line is wider than the screen.
std::vector<std::string> top_screen(const recent_states& states, const std::string& notice, const screen_style& style);

}  // namespace flowrun::runner
