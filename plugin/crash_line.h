// Names the plugin in whose code the process crashed, so that nobody takes it for flowrun's.
#pragma once

#include <string>

namespace flowrun::plugins {

// Of this thread: whose code it runs, null where it is flowrun's own; and whether it has a stack for what handles
// crashes.
extern constinit thread_local const std::string* plugin_inside;
extern constinit thread_local bool has_handler_stack;
void make_handler_stack();

// While it lives, this thread runs code of the plugin. `who` outlives it. (There is one for each chunk of 1,024 rows
// that goes through a function.)
class inside {
 public:
  explicit inside(const std::string& who) : before_(plugin_inside) {
    if (!has_handler_stack) make_handler_stack();
    plugin_inside = &who;
  }
  ~inside() { plugin_inside = before_; }
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
