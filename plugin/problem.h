// What a plugin says when it fails, and what it is handed to say it.
#pragma once

#include <exception>
#include <memory>
#include <string>

#include "engine/base/error.h"
#include "plugin/include/flowrun/plugin.h"

// One is made for each call, so it is three words where all goes well.
struct fr_problem {
  struct words {
    std::string message, hint;
  };
  uint32_t kind = 0;  // 0: nothing was said
  std::unique_ptr<const words> said;
  // What flowrun itself threw while the plugin called it: it doesn't cross the plugin, and goes on behind it.
  std::exception_ptr raised;

  bool is_empty() const { return kind == 0 && !raised; }
};

namespace flowrun::plugins {

// What the problem says, as an error. `who`: "plugin geo 1.0.0, function encode".
error error_of(const fr_problem& problem, const std::string& who);
// Throws it, or what flowrun itself threw.
[[noreturn]] void raise(const fr_problem& problem, const std::string& who);

// fr_host::fail.
void note_failure(fr_problem* problem, uint32_t kind, fr_text message, fr_text hint);

}  // namespace flowrun::plugins
