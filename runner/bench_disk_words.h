// The options of `flowrun bench-disk`: the words of the command line, and what they mean.
#pragma once

#include <string>

#include "runner/declared_command.h"
#include "runner/options.h"

namespace flowrun::runner {

struct bench_disk_words {
  bench_disk_arguments plain;  // what is taken as it is given
  std::string format = "text";
  std::string backend = "auto";
  std::string time, file_size, block_sizes, depths;

  void declare(declared_command& of);
};

// Throws error(usage).
bench_disk_arguments values_of(const bench_disk_words& given);

}  // namespace flowrun::runner
