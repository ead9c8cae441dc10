// A plain thread for I/O: outside every TBB arena, with a name, and deaf to signals, which belong to the main thread.
// (So a broken pipe or a file size limit shows as EPIPE or EFBIG here, not as a signal.)
#pragma once

#include <pthread.h>

#include <csignal>
#include <thread>
#include <utility>

namespace flowrun::io {

// `name` has at most 15 characters. Throws std::system_error when the system has no thread to give.
template <class Body>
std::thread start_io_thread(const char* name, Body&& body) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // inherited by the new thread
  std::thread started;
  try {
    started = std::thread(std::forward<Body>(body));
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_setname_np(started.native_handle(), name);
  return started;
}

}  // namespace flowrun::io
