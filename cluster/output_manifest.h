// The manifest of a folder of parts (output_folder.h): what is in it, and in which order.
//
//   {"format": 1, "run": "5f0c…", "job": "visits", "sorted_by": ["user"],
//    "parts": [{"name": "part-00000.csv", "rows": 10, "bytes": 96, "hash": "0f1e…", "first": [1], "last": [7]}],
//    "rows": 10, "bytes": 96}
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace flowrun::cluster {

struct output_manifest {
  static constexpr const char* name = "manifest.json";

  struct part {
    std::string name;
    uint64_t rows = 0, bytes = 0;
    std::string hash;  // hexadecimal XXH3 of its bytes
    // Keys of its first and its last row: JSON, a list with a value for each of `sorted_by`. What is no text of JSON,
    // or longer than 200 bytes, is {"hex": "00ff", "bytes": 2}, of its front. Empty: it has no rows, or nobody knows
    // their order.
    std::string first, last;
  };
  std::string run;  // that has written it
  std::string job;
  std::vector<std::string> sorted_by;  // sort keys, as jobs name them, of all parts one behind the other
  std::vector<part> parts;
};

// Throws error(output).
void write(const output_manifest& manifest, const std::string& folder);
// Nothing: it is no folder, or has no manifest. Throws error(bad_data) where that is none.
std::optional<output_manifest> read_manifest(const std::string& folder);
// The parts' paths, in order. Throws error(bad_data) unless each is there and has the size that the manifest says.
std::vector<std::string> paths_of_parts(const std::string& folder, const output_manifest& manifest);

// The name of what the folder has beside its manifest and the parts that this names, and so was put there by somebody
// else; empty: nothing. Throws error(missing_input).
std::string stranger_in(const std::string& folder, const output_manifest& manifest);

// Hexadecimal XXH3 of a file's bytes. Throws error(missing_input), error(io).
std::string hash_of_file(const std::string& path);

}  // namespace flowrun::cluster
