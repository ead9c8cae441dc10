// A test of a job that uses a plugin, run under all trial settings, in the process that this is called in.
//
// What it finds is told line by line (told_process.h), since the plugin may end the process at any moment:
//
//   begin 3            setting 3 begins
//   steps 120          what later processes have to know
//   uses toy.repeat    an operator of the plugin that has been run
//   finding TEXT       something is wrong under the setting that has begun …
//   line TEXT          … with details …
//   means TEXT         … and what it probably means
//   unfit TEXT         the test can't be tried at all
#pragma once

#include <cstdint>
#include <string>

#include "runner/spec_files.h"
#include "runner/told_process.h"

namespace flowrun::runner {

struct plugin_trial {
  const spec_file& spec;
  size_t test = 0;
  std::string plugin;  // its name; it is loaded
  std::string directory;
  size_t first_setting = 0;  // those before it have been tried
  uint64_t num_steps = 0;    // as told
};

void try_test(const plugin_trial& trial, const teller& tell);

}  // namespace flowrun::runner
