// Which calls of the program fail, and how.
//
// The rules come from the variable FAILING_CALLS: CALL:N:EFFECT[:ever], separated by commas. The N-th call of that kind
// (from 1) gets the effect; with "ever" each later one, too. Effects: the number of an errno; "short", half of what was
// asked for; "kill" and "killed", kill -9 before or after the call; for scratch_read also "flip" (one bit of the
// block), "other" (the content of another block of that file) and "stale" (what the place held before it was last
// written). Without rules calls are only counted; FAILING_COUNTS names the file where the counts are written at the
// end.
#pragma once

#include <cstddef>
#include <cstdint>

namespace interposed {

// File calls count only for files below FAILING_ROOT. A read of a scratch file, one below FAILING_SCRATCH, counts as
// `read` and as `scratch_read`. What a ring transfers counts as `read` and `write`, too.
enum class call : uint8_t {
  read,
  write,
  open,
  open_unnamed,  // O_TMPFILE
  fallocate,
  ftruncate,
  fsync,
  sync_range,
  rename,
  link,
  unlink,
  mkdir,
  map,         // mmap
  populate,    // madvise(MADV_POPULATE_...)
  descriptor,  // eventfd, pipe2, copies of descriptors
  thread,
  allocation,
  ring,    // io_uring_queue_init
  submit,  // io_uring_submit and io_uring_submit_and_wait
  scratch_read,
};
constexpr size_t num_calls = static_cast<size_t>(call::scratch_read) + 1;

enum class effect : uint8_t { none, fail, shorten, kill, killed, flip, other, stale };

struct fault {
  effect what = effect::none;
  int cause = 0;        // errno, of fail
  uint64_t number = 0;  // of the call
  explicit operator bool() const { return what != effect::none; }
};

// Counts the call and says what becomes of it. `kill` is carried out here.
fault next(call kind);

// Whether main() is at work: what comes before and after it can't be mended by the program.
bool is_running();
void set_running(bool running);

// As kill -9.
[[noreturn]] void die();

// For a call that returns -1 and errno: true when it is to fail.
bool fails(const fault& found);

// After the call.
inline void after(const fault& found) {
  if (found.what == effect::killed) die();
}

}  // namespace interposed
