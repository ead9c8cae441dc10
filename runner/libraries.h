// The libraries that this program was built with. Made by runner/CMakeLists.txt from what pkg-config says.
#pragma once

#include <vector>

namespace flowrun::runner {

struct library {
  const char* name;
  const char* version;
};

const std::vector<library>& libraries();

}  // namespace flowrun::runner
