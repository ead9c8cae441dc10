// The options of `flowrun plugins`: the words of the command line, and what they mean.
#pragma once

#include <string>
#include <vector>

#include "runner/declared_command.h"
#include "runner/options.h"

namespace flowrun::runner {

struct plugins_words {
  std::vector<std::string> action;  // and what stands behind it
  std::string limit, kind;

  void declare(declared_command& of);
};

// Throws error(usage).
plugins_arguments values_of(const plugins_words& given);

}  // namespace flowrun::runner
