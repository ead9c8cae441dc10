// A plain thread for I/O: outside every TBB arena, with a name, and deaf to signals, which belong to the main thread.
// (So a broken pipe or a file size limit shows as EPIPE or EFBIG here, not as a signal.)
#pragma once

#include <pthread.h>

#include <csignal>
#include <system_error>
#include <thread>
#include <utility>

#include "engine/base/error.h"

namespace flowrun::io {

// `name` has at most 15 characters. Throws error(resources) when the system has no thread to give.
template <class Body>
std::thread start_io_thread(const char* name, Body&& body) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  sigdelset(&all, SIGBUS);  // of a page that is missing while it is copied (mapped_transfer.h): it comes to this thread
  pthread_sigmask(SIG_SETMASK, &all, &before);  // inherited by the new thread
  std::thread started;
  try {
    started = std::thread(std::forward<Body>(body));
  } catch (const std::system_error& failure) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw error(error_kind::resources, fmt::format("can't start an I/O thread: {}", failure.what()),
                "raise the limit of processes (ulimit -u), of memory (ulimit -v) or of this container");
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_setname_np(started.native_handle(), name);
  return started;
}

}  // namespace flowrun::io
