// What stands behind options on a command line, looked at before it is parsed: the parser takes any word for the value
// of the option in front of it, another option and an empty word, too.
#pragma once

#include <string>
#include <vector>

#include "runner/declared_command.h"

namespace flowrun::runner {

struct looked_at_words {
  std::vector<std::string> words;  // --ui is one of them with its address
  std::string behind_ui;           // the word behind --ui that doesn't look like an address; may be the job
};

// `given` has the command's own word at `command_at`. Throws error(usage) for a value that is empty or the name of an
// option; written as --option=value a name is taken.
looked_at_words look_at_values(std::vector<std::string> given, size_t command_at, const declared_command& program,
                               const declared_command& chosen);

}  // namespace flowrun::runner
