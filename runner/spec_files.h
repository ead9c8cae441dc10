// Which files `flowrun test PATH…` looks at.
#pragma once

#include <string>
#include <vector>

#include "runner/document.h"

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

// A spec that gets another text. Until commit() its file is as it was; from then on it has all of the new text.
class spec_replacement {
 public:
  // Does all that may fail but for the last step. Throws error(output) where the file can't be written, may not be, or
  // doesn't hold `before.text` any more.
  spec_replacement(const spec_file& before, const std::string& text);
  // A symbolic link stays one, and permissions are kept. Throws error(output), error(io).
  void commit() { document_.commit(true); }
  // Hard links: they keep the text of before, since a file is replaced and not written into.
  bool has_other_names() const { return has_other_names_; }

 private:
  const bool has_other_names_;
  pending_document document_;
};

}  // namespace flowrun::runner
