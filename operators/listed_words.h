// The list of words that the build makes from the names of the files (CMakeLists.txt).
#pragma once

#include <vector>

#include "engine/exec/operator_definition.h"

namespace flowrun::operators {

struct listed_word {
  const char* file;  // without ".cc"
  exec::operator_definition (*define)();
};

std::vector<listed_word> listed_words();

}  // namespace flowrun::operators
