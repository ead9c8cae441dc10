// io_uring: what a ring is asked to transfer counts as reads and writes when it is submitted, and fails when its
// completion is looked at.
//
// A request that is to fail becomes a NOP before the kernel sees it: nothing is transferred. One that is to be short
// gets half of its length. The rings' functions are called from one thread each.
#include <dlfcn.h>
#include <fcntl.h>
#include <liburing.h>

#include <algorithm>
#include <array>
#include <atomic>

#include "tests/torture/interposed/damage.h"
#include "tests/torture/interposed/journal.h"
#include "tests/torture/interposed/own_files.h"
#include "tests/torture/interposed/rules.h"

namespace interposed {

namespace {

struct transfer {
  uint64_t user_data = 0;  // 0: this entry is free
  fault found;
  int descriptor = -1;
  uint64_t offset = 0;
  void* data = nullptr;
  size_t length = 0;
  bool is_read = false;
};

constexpr size_t max_transfers = 4096;
constexpr size_t smallest_direct = 512;  // what a direct transfer may be cut to

class transfers {
 public:
  void add(const transfer& one) {
    const lock held(busy_);
    for (transfer& place : all_)
      if (place.user_data == 0) {
        place = one;
        return;
      }
  }
  transfer take(uint64_t user_data) {
    const lock held(busy_);
    for (transfer& place : all_)
      if (place.user_data == user_data) {
        const transfer found = place;
        place.user_data = 0;
        return found;
      }
    return {};
  }

 private:
  struct lock {
    explicit lock(std::atomic_flag& flag) : held(flag) {
      while (held.test_and_set(std::memory_order_acquire)) {
      }
    }
    ~lock() { held.clear(std::memory_order_release); }
    std::atomic_flag& held;
  };
  std::atomic_flag busy_;
  std::array<transfer, max_transfers> all_;
};
transfers under_way;

template <class Function>
Function* original(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

void shorten(io_uring_sqe& entry) {
  const bool direct = (fcntl(entry.fd, F_GETFL) & O_DIRECT) != 0;
  const unsigned half = direct ? entry.len / 2 / smallest_direct * smallest_direct : entry.len / 2;
  if (half > 0) entry.len = half;
}

void look_at(io_uring_sqe& entry) {
  const bool is_read = entry.opcode == IORING_OP_READ;
  const owner found = owner_of(entry.fd);
  if ((!is_read && entry.opcode != IORING_OP_WRITE) || (found != owner::job && found != owner::scratch)) return;
  transfer one{entry.user_data, next(is_read ? call::read : call::write), entry.fd,
               entry.off,       reinterpret_cast<void*>(entry.addr),      entry.len,
               is_read};
  if (is_read && found == owner::scratch)
    if (const fault damaged = next(call::scratch_read); !one.found) one.found = damaged;
  if (!is_read && found == owner::scratch) remember_before_write(entry.fd, entry.off, entry.len);
  if (one.found.what == effect::shorten) shorten(entry);
  if (one.found.what == effect::fail) {
    entry.opcode = IORING_OP_NOP;
    entry.fd = -1;
    entry.rw_flags = 0;
  }
  under_way.add(one);
}

// Those that the kernel has not been told of yet.
void look_at_new(io_uring* ring) {
  io_uring_sq& queue = ring->sq;
  for (unsigned i = queue.sqe_head; i != queue.sqe_tail; ++i) look_at(queue.sqes[i & *queue.kring_mask]);
}

void end(io_uring_cqe& ended) {
  const transfer one = under_way.take(ended.user_data);
  if (one.user_data == 0) return;
  if (one.found.what == effect::fail) ended.res = -one.found.cause;
  if (!one.is_read) journal::changed(one.descriptor);
  after(one.found);
  if (one.is_read && ended.res == static_cast<int>(one.length))
    damage(one.found, one.descriptor, one.offset, one.data, one.length);
}

using submit_call = int(io_uring*);
using wait_call = int(io_uring*, unsigned);
using peek_call = unsigned(io_uring*, io_uring_cqe**, unsigned);
using init_call = int(unsigned, io_uring*, unsigned);

}  // namespace

}  // namespace interposed

using namespace interposed;  // NOLINT: the functions below have the names of liburing

extern "C" {

int io_uring_queue_init(unsigned entries, io_uring* ring, unsigned flags) {
  const fault found = next(call::ring);
  if (found.what == effect::fail) return -found.cause;
  static init_call* const real = original<init_call>("io_uring_queue_init");
  return real(entries, ring, flags);
}

int io_uring_submit(io_uring* ring) {
  const fault found = next(call::submit);
  if (found.what == effect::fail) return -found.cause;
  look_at_new(ring);
  static submit_call* const real = original<submit_call>("io_uring_submit");
  return real(ring);
}

int io_uring_submit_and_wait(io_uring* ring, unsigned count) {
  const fault found = next(call::submit);
  if (found.what == effect::fail) return -found.cause;
  look_at_new(ring);
  static wait_call* const real = original<wait_call>("io_uring_submit_and_wait");
  return real(ring, count);
}

unsigned io_uring_peek_batch_cqe(io_uring* ring, io_uring_cqe** ended, unsigned count) {
  static peek_call* const real = original<peek_call>("io_uring_peek_batch_cqe");
  const unsigned found = real(ring, ended, count);
  for (unsigned i = 0; i < found; ++i) end(*ended[i]);
  return found;
}

}  // extern "C"
