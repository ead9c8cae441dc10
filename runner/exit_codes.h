// The exit codes of the command: the one declaration that --help, `flowrun explain` and docs/language.md have them
// from.
#pragma once

#include <string>
#include <vector>

namespace flowrun::runner {

struct exit_code {
  int number;
  const char* meaning;  // a few words, for a list
  const char* causes;   // what usually leads to it
  const char* remedy;   // what to do about it
};

// By number.
const std::vector<exit_code>& exit_codes();

// Null if flowrun has no such code.
const exit_code* find_exit_code(int number);
// Of a command that ends with this exception.
int exit_code_of(const std::exception& problem);

// A table for people.
std::string exit_code_list();

// All of them in one paragraph, for the help of a command: "Exit codes: 0 done, 1 …".
std::string exit_codes_of_help();

}  // namespace flowrun::runner
