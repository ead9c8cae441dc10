// The options of `flowrun run` that no other command has: the words of the command line, and what they mean.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "runner/declared_command.h"
#include "runner/options.h"

namespace flowrun::runner {

struct run_words {
  run_arguments plain;  // what is taken as it is given
  std::string progress = "auto";
  std::string backend = "auto";
  std::string tasks;
  std::string divide_from;
  bool no_direct = false;
  bool no_sync = false;

  void declare(declared_command& of);
  // Of them those that say how the engine works, which tasks on a cluster have, too.
  void declare_engine(declared_command& of);
};

// --verify or --no-verify. Throws error(usage): the other one was there before.
void choose_verify(std::optional<bool>& to, bool value);

// As --backend has it.
std::string name_of(io::backend_kind backend);

// What --tasks says; 0 where it isn't there. Throws error(usage).
size_t tasks_of(const std::string& given, const std::string& cluster);

// All but the job and the resources. Throws error(usage).
run_arguments values_of(const run_words& given);

}  // namespace flowrun::runner
