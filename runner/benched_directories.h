// The directories that flowrun bench-disk measures, each with its unlinked scratch file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/io/file.h"
#include "runner/options.h"
#include "runner/terminal.h"

namespace flowrun::runner {

struct benched_directory {
  std::string path;                   // as it was given
  std::string absolute;               // without . and ..
  std::vector<size_t> same_disk;      // the other directories on this file system
  std::unique_ptr<io::file> scratch;  // has no name any more
  uint64_t file_bytes = 0;            // to fill
};

// Opens them. Throws error(missing_input) for what is no directory, error(output) for what can't be written,
// error(usage) for a directory given twice, and error(resources) when there is too little room. Warns where the numbers
// mean less: without direct I/O, on a RAM disk, or where directories share a disk.
std::vector<benched_directory> open_directories(const bench_disk_arguments& arguments, terminal& screen);

}  // namespace flowrun::runner
