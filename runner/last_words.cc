#include "runner/last_words.h"

#include <cxxabi.h>
#include <execinfo.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <new>
#include <stdexcept>
#include <string_view>
#include <typeinfo>

namespace flowrun::runner {

namespace {

std::terminate_handler end_by_a_bug = std::abort;

// An exception that leaves a function that must not throw has no type here where the compiler calls terminate() itself.
// So it is noted when this thread was refused memory.
thread_local bool refused_memory = false;

void refuse_memory() {
  refused_memory = true;
  throw std::bad_alloc();
}

void say(std::string_view text) { static_cast<void>(!::write(STDERR_FILENO, text.data(), text.size())); }

const last_words_style* style = &words_of_jobs;

[[noreturn]] void end_for_want(std::string_view problem, std::string_view detail, std::string_view help,
                               std::string_view option) {
  say(style->beginning);
  for (const std::string_view text : {problem, detail, std::string_view("\n  help: "), help, option}) say(text);
  say("\n");
  ::_exit(style->exit_code);
}

// What oneTBB throws: "pthread_create has failed: Resource temporarily unavailable".
void end_if_without_threads() {
  try {
    throw;
  } catch (const std::runtime_error& problem) {
    const std::string_view what = problem.what();
    if (!what.starts_with("pthread_create")) return;
    end_for_want("can't start a thread: ", what,
                 "raise the limit of processes (ulimit -u), of memory (ulimit -v) or of this container, or use fewer "
                 "threads: ",
                 style->threads_option);
  } catch (...) {
  }
}

// Nothing here may allocate.
[[noreturn]] void end() {
  const std::type_info* const thrown = abi::__cxa_current_exception_type();
  const bool out_of_memory =
      thrown != nullptr ? *thrown == typeid(std::bad_alloc) : refused_memory && std::uncaught_exceptions() > 0;
  if (out_of_memory)
    end_for_want("out of memory", "", "the machine has less memory than the budget: lower it with ",
                 style->memory_option);
  if (thrown != nullptr) end_if_without_threads();
  end_by_a_bug();  // tells what was thrown, and aborts
  std::abort();
}

}  // namespace

void set_last_words(const last_words_style& chosen) {
  style = &chosen;
  // The C library loads its unwinder when an exception first goes through one of its functions, and gives up where it
  // has no memory for that. A back trace loads it now.
  void* frame = nullptr;
  backtrace(&frame, 1);
  end_by_a_bug = std::set_terminate(end);
  std::set_new_handler(refuse_memory);
}

}  // namespace flowrun::runner
