// Memory, threads and scratch, of every command that runs or plans a job: the words of the command line, and what they
// mean.
#pragma once

#include <string>
#include <vector>

#include "runner/declared_command.h"
#include "runner/options.h"

namespace flowrun::runner {

struct resource_words {
  std::string memory, threads, scratch_limit, block, batch, depth, allocation, io_order;
  std::vector<std::string> scratch;

  void declare(declared_command& of);
};

// Throws error(usage).
resource_arguments values_of(const resource_words& given);

}  // namespace flowrun::runner
