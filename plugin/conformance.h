// Tries the words of a plugin hard, as no single job does: what the interface promises, a plugin has to keep.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plugin/plugin_set.h"

namespace flowrun::plugins {

struct conformance {
  uint64_t num_calls = 0;             // of combinations of argument types that a function or aggregate takes
  uint64_t num_rows = 0;              // that were computed in them
  std::vector<std::string> unused;    // words that took no combination that was tried
  std::vector<std::string> breaches;  // what is wrong, a line each

  // Each line once.
  void breach(const std::string& where, const std::string& what);
};

// Functions: arguments of all types, constant and not; odd values (NaN, empty and long texts, bytes that are no UTF-8);
// a row at a time, whole chunks, several threads at once, chunks that end early, memory that is refused. Results must
// be the same bytes each time, and of their type. A plugin that crashes takes the process with it.
conformance try_functions(const loaded_plugin& plugin, uint64_t seed);

}  // namespace flowrun::plugins
