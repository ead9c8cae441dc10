#include "runner/temporary_directory.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "engine/base/error.h"

namespace flowrun::runner {

temporary_directory::temporary_directory() {
  const char* below = std::getenv("TMPDIR");
  path_ = std::string(below != nullptr && *below == '/' ? below : "/tmp") + "/flowrun-XXXXXX";
  if (::mkdtemp(path_.data()) == nullptr)
    throw error(error_kind::output, "can't make the directory " + path_ + ": " + errno_text(errno),
                "set TMPDIR to a directory that is writable");
}

temporary_directory::~temporary_directory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace flowrun::runner
