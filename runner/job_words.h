// What changes a job, of every command that loads one: the words of the command line, and what they mean.
#pragma once

#include <string>
#include <vector>

#include "runner/declared_command.h"
#include "runner/options.h"

namespace flowrun::runner {

struct job_words {
  std::vector<std::string> parameters, overrides;

  void declare(declared_command& of);
};

// Throws error(usage).
job_arguments values_of(const job_words& given, const std::string& file);

}  // namespace flowrun::runner
