#include "tests/support/scarce_memory.h"

#include <atomic>
#include <cstdlib>
#include <limits>
#include <new>

namespace {

constexpr uint64_t unlimited = std::numeric_limits<uint64_t>::max();

std::atomic<uint64_t> count{0};
thread_local uint64_t num_left = unlimited;

}  // namespace

void* operator new(size_t num_bytes) {
  count.fetch_add(1, std::memory_order_relaxed);
  if (num_left == 0) throw std::bad_alloc();
  if (num_left != unlimited) --num_left;
  if (void* memory = std::malloc(num_bytes > 0 ? num_bytes : 1)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace flowrun {

uint64_t num_allocations() { return count.load(std::memory_order_relaxed); }

memory_runs_out::memory_runs_out(uint64_t num_more) { num_left = num_more; }
memory_runs_out::~memory_runs_out() { num_left = unlimited; }

}  // namespace flowrun
