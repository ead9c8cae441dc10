// Outcomes on both sides of the border.
#pragma once

#include <optional>

#include "engine/base/outcome.h"
#include "plugin/include/flowrun/plugin.h"

namespace flowrun::plugins {

inline int code_of(outcome o) {
  if (o.is_ready()) return FR_OK;
  if (o.is_done()) return FR_DONE;
  switch (o.why()) {
    case blocked_on::io: return FR_BLOCKED_IO;
    case blocked_on::memory: return FR_BLOCKED_MEMORY;
    case blocked_on::input: return FR_BLOCKED_INPUT;
    case blocked_on::output: return FR_BLOCKED_OUTPUT;
  }
  return FR_FAILED;
}

// nullopt: it failed, or there is no such code.
inline std::optional<outcome> outcome_of(int code) {
  switch (code) {
    case FR_OK: return outcome::ready();
    case FR_DONE: return outcome::done();
    case FR_BLOCKED_IO: return outcome::blocked(blocked_on::io);
    case FR_BLOCKED_MEMORY: return outcome::blocked(blocked_on::memory);
    case FR_BLOCKED_INPUT: return outcome::blocked(blocked_on::input);
    case FR_BLOCKED_OUTPUT: return outcome::blocked(blocked_on::output);
    default: return std::nullopt;
  }
}

}  // namespace flowrun::plugins
