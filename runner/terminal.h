// Everything that is said to the user goes through here, to standard error: errors, warnings, the progress line.
//
// Colours are only for people who read a terminal. --color wins over NO_COLOR (no-color.org), which wins over what the
// terminal is. What came from the environment is masked.
#pragma once

#include <string>
#include <string_view>

#include "engine/base/error.h"
#include "engine/base/fault.h"
#include "runner/environment_mask.h"
#include "runner/options.h"

namespace flowrun::runner {

// Not thread-safe: used by the main thread only.
class terminal {
 public:
  terminal(verbosity how_much, color_choice colors);

  // Whether a terminal is there that knows what moves the cursor.
  static bool can_draw(int descriptor);

  bool is_terminal() const { return is_terminal_; }
  bool quiet() const { return how_much_ == verbosity::quiet; }
  bool verbose() const { return how_much_ == verbosity::verbose; }
  bool unicode() const { return unicode_; }
  // Whether what is written to this descriptor is to be coloured.
  bool colors_at(int descriptor) const;
  // Columns of the terminal; 80 when that can't be told.
  size_t width() const;

  // "flowrun: error: message" and "  help: hint".
  void show(const error& problem);
  void show_bug(std::string_view what);
  // With -v each of them; else of those alike only the first few.
  void show_faults(const std::vector<fault>& faults, std::string_view text);
  // "flowrun: warning: text"; nothing with -q.
  void warn(std::string_view text);
  // Plain text; nothing with -q.
  void say(std::string_view text);
  // A line of progress, asked for explicitly: also with -q.
  void report_line(std::string_view line);
  // With -v only, "flowrun: text".
  void detail(std::string_view text);

  // From here on these values are shown as ${env:NAME}.
  void hide(const std::vector<specs::environment_value>& values) { mask_.add(values); }
  const environment_mask& mask() const { return mask_; }

  // A line that the next call replaces, and that everything else said erases first.
  void redraw(const std::string& line);
  void erase_line();

 private:
  void write(std::string_view text);
  // As it may be shown: values of the environment masked, and then without what a terminal would obey.
  std::string clean(std::string_view text) const;
  std::string painted(std::string_view text, std::string_view code) const;

  verbosity how_much_;
  color_choice choice_;
  bool is_terminal_ = false;
  bool colors_ = false;
  bool unicode_ = false;
  bool line_shown_ = false;
  environment_mask mask_;
};

}  // namespace flowrun::runner
