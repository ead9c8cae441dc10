// Errors that say whose fault it is, what happened, and what to do next.
//
// Two families are kept apart on purpose: what the user can mend (a wrong spec, bad data, a full disk) and what only we
// can mend (error_kind::internal). The kind decides the exit code, after sysexits(3).
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace flowrun {

// Each kind carries the exit code of the command (sysexits.h).
enum class error_kind {
  usage = 64,          // a wrong command line
  bad_data = 65,       // an input whose content is wrong (malformed CSV, truncated row file, not sorted as declared)
  missing_input = 66,  // an input that is not there or can't be read
  internal = 70,       // our bug
  output = 73,         // an output that can't be created
  io = 74,             // a read or write failed
  resources = 75,      // out of scratch space or memory while running: try again with more
  bad_spec = 78,       // a job or configuration that can't be right
  cancelled = 130,     // stopped by a signal
};

// Thrown for everything that ends a job. what() is one line: the cause, with path and offset where there is one.
class error : public std::runtime_error {
 public:
  error(error_kind kind, std::string message, std::string hint = {})
      : std::runtime_error(std::move(message)), kind_(kind), hint_(std::move(hint)) {}

  error_kind kind() const { return kind_; }
  // What the user can do about it; empty when there is nothing to say.
  const std::string& hint() const { return hint_; }
  int exit_code() const { return static_cast<int>(kind_); }

 private:
  error_kind kind_;
  std::string hint_;
};

// "No such file or directory" for errno values; thread-safe.
std::string errno_text(int errno_value);

// Our own bug: a broken invariant. Never for anything that input can cause.
[[noreturn]] void internal_error(std::string message);

// "FILE:LINE: CONDITION", as an internal error.
[[noreturn]] void check_failed(const char* file, int line, const char* condition);

// Checked in every build: invariants whose breach would write wrong data.
#define FLOWRUN_CHECK(condition)                               \
  do {                                                         \
    if (!(condition)) [[unlikely]]                             \
      ::flowrun::check_failed(__FILE__, __LINE__, #condition); \
  } while (false)

}  // namespace flowrun
