#include "tests/engine/io/failing_names.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>

namespace flowrun::io {

namespace {

struct failure {
  std::atomic<int> left{0};  // calls until it fails; 0: it doesn't
  std::atomic<int> cause{0};
  std::atomic<bool> from_then_on{false};
  std::atomic<int> num_calls{0};
};

std::array<failure, 4>& failures() {
  static std::array<failure, 4> all;
  return all;
}

failure& failure_of(name_call what) { return failures()[static_cast<size_t>(what)]; }

// True, with errno, when this call is to fail.
bool fails(name_call what) {
  failure& f = failure_of(what);
  ++f.num_calls;
  if (f.left == 0) return false;
  if (f.left > 1) {
    --f.left;
    return false;
  }
  if (!f.from_then_on) f.left = 0;
  errno = f.cause;
  return true;
}

}  // namespace

failing_name_call::failing_name_call(name_call what, int nth, int cause, bool from_then_on) : what_(what) {
  failure& f = failure_of(what);
  f.cause = cause;
  f.from_then_on = from_then_on;
  f.num_calls = 0;
  f.left = nth;
}

failing_name_call::~failing_name_call() { failure_of(what_).left = 0; }

int failing_name_call::num_calls() const { return failure_of(what_).num_calls; }

}  // namespace flowrun::io

extern "C" {

int fsync(int descriptor) {
  if (flowrun::io::fails(flowrun::io::name_call::sync)) return -1;
  return static_cast<int>(syscall(SYS_fsync, descriptor));
}

int linkat(int from_directory, const char* from, int to_directory, const char* to, int flags) noexcept {
  if (flowrun::io::fails(flowrun::io::name_call::link)) return -1;
  return static_cast<int>(syscall(SYS_linkat, from_directory, from, to_directory, to, flags));
}

int renameat(int from_directory, const char* from, int to_directory, const char* to) noexcept {
  if (flowrun::io::fails(flowrun::io::name_call::rename)) return -1;
  return static_cast<int>(syscall(SYS_renameat2, from_directory, from, to_directory, to, 0));
}

int renameat2(int from_directory, const char* from, int to_directory, const char* to, unsigned flags) noexcept {
  if ((flags & RENAME_EXCHANGE) != 0 && flowrun::io::fails(flowrun::io::name_call::exchange)) return -1;
  return static_cast<int>(syscall(SYS_renameat2, from_directory, from, to_directory, to, flags));
}
}
