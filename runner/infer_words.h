// The options of `flowrun infer`: the words of the command line, and what they mean.
#pragma once

#include <string>
#include <vector>

#include "runner/declared_command.h"
#include "runner/options.h"

namespace flowrun::runner {

struct infer_words {
  std::string rows, bytes, format, delimiter, header, descriptors, message, node, output;
  bool all = false;
  bool as_json = false;

  void declare(declared_command& of);
};

// Throws error(usage).
infer_arguments values_of(const infer_words& given, const std::vector<std::string>& files);

}  // namespace flowrun::runner
