// Whether files can be used, found out before the work that depends on them. Nothing is read, made or left behind: a
// pipe isn't opened, since the process at its other end would notice.
#pragma once

#include <string>

namespace flowrun::io {

// Throws error(missing_input) where `path` can't be read as an input; "-" is standard input.
void try_input(const std::string& path);

// True when an input can be looked into without taking anything from it: a regular file.
bool may_look_into(const std::string& path);

// Throws error(output) where `path` can't be made or replaced by an output; "-" is standard output. Directories that
// are missing have to be such that they can be made.
void try_output(const std::string& path);

}  // namespace flowrun::io
