#include "tests/engine/block/counting_new.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<uint64_t> count{0};

}  // namespace

void* operator new(size_t num_bytes) {
  count.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(num_bytes > 0 ? num_bytes : 1)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace flowrun {

uint64_t num_allocations() { return count.load(std::memory_order_relaxed); }

}  // namespace flowrun
