// Which files `flowrun test PATH…` looks at.
#pragma once

#include <string>
#include <vector>

namespace flowrun::runner {

struct spec_file {
  std::string path;
  std::string text;
};

// A file stands for itself. A directory for all *.yaml below it, by name, that have a key `flowrun:`; what is hidden is
// left out, links are not followed. Each file once. Throws error(missing_input) for a path that isn't there or can't be
// read, and for a directory without specs.
std::vector<spec_file> find_specs(const std::vector<std::string>& paths);

}  // namespace flowrun::runner
