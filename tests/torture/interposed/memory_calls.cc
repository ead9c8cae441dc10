// Allocation, mappings and threads; and main(), around which nothing fails.
#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "tests/torture/interposed/damage.h"
#include "tests/torture/interposed/journal.h"
#include "tests/torture/interposed/own_files.h"
#include "tests/torture/interposed/rules.h"

using namespace interposed;  // NOLINT: the functions below have the names of the C library

extern "C" int __cxa_atexit(void (*)(void*), void*, void*);

namespace {

template <class Function>
Function* original(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

bool refuses_allocation() {
  if (!is_running()) return false;
  const fault found = next(call::allocation);
  return fails(found);
}

bool is_in_c_library(const void* caller) {
  static const void* const library = [] {
    Dl_info found{};
    return dladdr(reinterpret_cast<const void*>(&__cxa_atexit), &found) != 0 ? found.dli_fbase : nullptr;
  }();
  Dl_info found{};
  return dladdr(caller, &found) != 0 && found.dli_fbase == library;
}

// The C library ends the process where it has no memory to note the destructor of a thread's variable
// (__cxa_thread_atexit_impl, which asks for four words).
bool is_of_tls_destructor(const void* caller, size_t count, size_t length) {
  return count == 1 && length == 4 * sizeof(void*) && is_in_c_library(caller);
}

// It crashes where the constructor of a library that dlopen() loads looks for a symbol in vain, and there is no memory
// to note that (_dlerror_run, which asks for three words): dlopen() itself then takes the mark for that as an address.
// oneTBB loads its allocator so.
bool is_of_loading_error(const void* caller, size_t length) {
  return length == 3 * sizeof(void*) && is_in_c_library(caller);
}

void* mapped(void* where, size_t length, int protection, int flags, int descriptor, off_t offset) {
  return reinterpret_cast<void*>(syscall(SYS_mmap, where, length, protection, flags, descriptor, offset));
}

// A mapping that is read: a copy of the pages, which only this process sees.
void* damaged_pages(const fault& found, size_t length, int descriptor, off_t offset) {
  void* const made = mapped(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE, descriptor, offset);
  if (made != MAP_FAILED) damage(found, descriptor, static_cast<uint64_t>(offset), made, length);
  after(found);
  return made;
}

int (*real_main)(int, char**, char**) = nullptr;

int counted_main(int argc, char** argv, char** environment) {
  set_running(true);
  const int code = real_main(argc, argv, environment);
  set_running(false);
  return code;
}

}  // namespace

extern "C" {

void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

void* malloc(size_t length) noexcept {
  const bool refused = refuses_allocation() && !is_of_loading_error(__builtin_return_address(0), length);
  return refused ? nullptr : __libc_malloc(length);
}

void* calloc(size_t count, size_t length) noexcept {
  if (is_of_tls_destructor(__builtin_return_address(0), count, length)) return __libc_calloc(count, length);
  return refuses_allocation() ? nullptr : __libc_calloc(count, length);
}

void* realloc(void* before, size_t length) noexcept {
  return refuses_allocation() ? nullptr : __libc_realloc(before, length);
}

void* memalign(size_t alignment, size_t length) noexcept {
  return refuses_allocation() ? nullptr : __libc_memalign(alignment, length);
}

void* aligned_alloc(size_t alignment, size_t length) noexcept { return memalign(alignment, length); }

int posix_memalign(void** out, size_t alignment, size_t length) noexcept {
  void* const made = memalign(alignment, length);
  if (made == nullptr) return ENOMEM;
  *out = made;
  return 0;
}

// What is mapped from no file is the program's own, too.
void* mmap(void* where, size_t length, int protection, int flags, int descriptor, off_t offset) noexcept {
  const bool counts = (flags & MAP_ANONYMOUS) != 0 || owner_of(descriptor) != owner::foreign;
  const fault found = counts ? next(call::map) : fault{};
  if (fails(found)) return MAP_FAILED;
  const bool of_file = (flags & MAP_ANONYMOUS) == 0 && (flags & MAP_SHARED) != 0;
  const bool writes = (protection & PROT_WRITE) != 0;
  const bool of_scratch = of_file && owner_of(descriptor) == owner::scratch;
  if (of_scratch && writes) remember_before_write(descriptor, static_cast<uint64_t>(offset), length);
  if (const fault damaged = of_scratch && !writes ? next(call::scratch_read) : fault{})
    return damaged_pages(damaged, length, descriptor, offset);
  void* const made = mapped(where, length, protection, flags, descriptor, offset);
  if (of_file && writes) journal::changed(descriptor);
  after(found);
  return made;
}

int madvise(void* where, size_t length, int advice) noexcept {
  const bool populates = advice == 22 || advice == 23;  // MADV_POPULATE_READ and _WRITE, which old headers lack
  const fault found = populates ? next(call::populate) : fault{};
  if (fails(found)) return -1;
  return static_cast<int>(syscall(SYS_madvise, where, length, advice));
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*), void* given) noexcept {
  const fault found = next(call::thread);
  if (found.what == effect::fail) return found.cause;
  static const auto real = original<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>("pthread_create");
  const int done = real(thread, attributes, body, given);
  after(found);
  return done;
}

int __libc_start_main(int (*entry)(int, char**, char**), int argc, char** argv, void (*begin)(), void (*end)(),
                      void (*unload)(), void* stack_end) {
  real_main = entry;
  using start = int(int (*)(int, char**, char**), int, char**, void (*)(), void (*)(), void (*)(), void*);
  return original<start>("__libc_start_main")(counted_main, argc, argv, begin, end, unload, stack_end);
}

}  // extern "C"
