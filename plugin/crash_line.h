// Names the plugin in whose code the process crashed, so that nobody takes it for flowrun's.
#pragma once

#include <string>

namespace flowrun::plugins {

// While it lives, this thread runs code of the plugin. `who` outlives it.
class inside {
 public:
  explicit inside(const std::string& who);
  ~inside();
  inside(const inside&) = delete;
  inside& operator=(const inside&) = delete;

 private:
  const std::string* before_;
};

// From now on a crash inside of a plugin, also one of a stack that is used up, ends with a line on standard error, and
// then as it would have. So does exit(), which then ends the process with 70, whatever it was called with. To be called
// before a plugin is loaded, and again after that, since what is registered last comes first in exit(): else the static
// objects of the plugin would be destroyed while other threads use them.
void name_plugins_in_crashes();

}  // namespace flowrun::plugins
