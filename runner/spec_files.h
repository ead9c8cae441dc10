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

// Throws error(usage) for a path that is neither a file nor a directory, standard input say: it can't be rewritten.
void expect_files(const std::vector<std::string>& paths);

// The file has `text` then, or is as it was: a link stays one, and permissions are kept. Throws error(output) where it
// can't be written, may not be, or doesn't hold `before.text` any more.
void replace_spec(const spec_file& before, const std::string& text);

}  // namespace flowrun::runner
