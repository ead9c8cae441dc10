// Paths with wildcards, as a shell has them: * and ? and [a-z] within a name, and ** for any directories, also none;
// at the end, ** is all files of any directories.
//
// A name that begins with a point is matched only by a pattern that says the point. Directories are no matches, and
// ** follows no links, so that it comes to an end.
#pragma once

#include <string>
#include <vector>

namespace flowrun::io {

// Has a wildcard, and names nothing that is there: a file whose name holds such characters is that file.
bool is_path_pattern(const std::string& path);

struct path_matches {
  std::vector<std::string> paths;  // by name, byte for byte
  // Where nothing matches: the directory that was searched, as far as the pattern has no wildcard, and what it has.
  std::string directory;
  std::vector<std::string> names;  // sorted; at most a few thousand
  std::string problem;             // a directory that couldn't be read, and why; else empty
};
path_matches match_paths(const std::string& pattern);

}  // namespace flowrun::io
