#include "engine/base/error.h"

#include <system_error>

namespace flowrun {

std::string errno_text(int errno_value) { return std::generic_category().message(errno_value); }

void internal_error(std::string message) {
  throw error(error_kind::internal, "internal error: " + message,
              "this is a bug in flowrun: please report it with the job and this line");
}

void check_failed(const char* file, int line, const char* condition) {
  internal_error(std::string(file) + ":" + std::to_string(line) + ": " + condition);
}

}  // namespace flowrun
