// How the program ends where it can't be taken down any more: there is no memory even for the error that says so.
#pragma once

#include "engine/base/error.h"

namespace flowrun::runner {

struct last_words_style {
  const char* beginning;
  const char *memory_option, *threads_option;
  int exit_code;
};
inline constexpr last_words_style words_of_jobs = {"flowrun: error: ", "-m", "-j",
                                                   static_cast<int>(error_kind::resources)};

// An std::bad_alloc that nobody can catch, because it leaves a function that must not throw or the handler of another
// error, ends the process at once, with exit code and message instead of a core dump; and so does oneTBB where it can't
// start a thread. Outputs have no names by then, and scratch files never have any, so nothing half-done is left.
// `chosen` must live as long as the program.
void set_last_words(const last_words_style& chosen);

}  // namespace flowrun::runner
