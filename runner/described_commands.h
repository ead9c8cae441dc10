// The commands and their options as data, for what is made of them: completions of shells and manual pages.
#pragma once

#include <string>
#include <vector>

namespace flowrun::runner {

struct described_option {
  std::vector<std::string> names;  // -m, --memory
  std::string value;               // BYTES; empty: it takes none; [ADDRESS]: it may be left out
  std::string help;
  std::string group;
  std::vector<std::string> choices;  // the words that it takes; none: others, or any

  // Then the word behind it may be a job.
  bool value_may_be_left_out() const { return value.starts_with('['); }
};

struct described_argument {
  std::string name;  // FILE
  std::string help;
  std::vector<std::string> choices;  // as above
};

struct described_command {
  std::string name;  // empty: the program, whose options may stand in front of every command
  std::vector<std::string> aliases;
  std::string help;
  std::string notes;  // examples, exit codes
  std::vector<described_argument> arguments;
  std::vector<described_option> options;
};

// The program, then the commands as --help lists them. sort, whose grammar is GNU's, has no options here.
std::vector<described_command> described_commands();

// "bash", "zsh", "fish". Throws error(usage) for another.
std::string completion_script(const std::string& shell);

// In roff. `command`: empty for the program's. Throws error(usage) where there is none of that name.
std::string manual_page(const std::string& command);

}  // namespace flowrun::runner
