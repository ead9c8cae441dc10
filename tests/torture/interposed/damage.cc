#include "tests/torture/interposed/damage.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace interposed {

namespace {

// What was overwritten last at each place, for the blocks of one small job.
constexpr size_t max_places = 4096;
struct place {
  uint64_t inode = 0;
  uint64_t offset = 0;
  size_t length = 0;
  void* before = nullptr;
};
std::array<place, max_places> places;
size_t num_places = 0;
std::atomic<uint64_t> written_end{0};  // of the scratch files of a small job: behind it is reserved space
std::atomic_flag places_busy;

class lock_places {
 public:
  lock_places() {
    while (places_busy.test_and_set(std::memory_order_acquire)) {
    }
  }
  ~lock_places() { places_busy.clear(std::memory_order_release); }
};

// A number that differs from call to call and is the same in each run.
uint64_t mixed(uint64_t number) {
  number += 0x9e3779b97f4a7c15;
  number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9;
  number = (number ^ (number >> 27)) * 0x94d049bb133111eb;
  return number ^ (number >> 31);
}

uint64_t seed() {
  const char* const given = std::getenv("FAILING_SEED");
  return given == nullptr ? 0 : std::strtoull(given, nullptr, 10);
}

void tell(std::string_view what, uint64_t offset, size_t at) {
  const char* const path = std::getenv("FAILING_DAMAGE");
  if (path == nullptr) return;
  std::array<char, 200> line{};
  const int length = std::snprintf(line.data(), line.size(), "%.*s %llu %zu\n", static_cast<int>(what.size()),
                                   what.data(), static_cast<unsigned long long>(offset), at);
  const long log = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  (void)syscall(SYS_write, log, line.data(), static_cast<size_t>(length));
  (void)syscall(SYS_close, log);
}

// Reads without the alignment that a direct descriptor wants.
bool read_plainly(int descriptor, uint64_t offset, void* data, size_t length) {
  std::array<char, 64> link{};
  std::snprintf(link.data(), link.size(), "/proc/self/fd/%d", descriptor);
  const long from = syscall(SYS_openat, AT_FDCWD, link.data(), O_RDONLY | O_CLOEXEC, 0);
  const long got = syscall(SYS_pread64, from, data, length, offset);
  (void)syscall(SYS_close, from);
  return got == static_cast<long>(length);
}

void* pages(size_t length) {
  void* const made = reinterpret_cast<void*>(
      syscall(SYS_mmap, nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  return made == MAP_FAILED ? nullptr : made;
}

uint64_t inode_of(int descriptor) {
  struct stat info {};
  return fstat(descriptor, &info) == 0 ? info.st_ino : 0;
}

bool wants_stale() {
  static const bool wanted = [] {
    const char* const rules = std::getenv("FAILING_CALLS");
    return rules != nullptr && std::strstr(rules, "stale") != nullptr;
  }();
  return wanted;
}

std::string_view flip(const fault& found, void* data, size_t length, size_t& at) {
  const uint64_t bit = mixed(found.number * 1000003 + seed()) % (length * 8);
  at = bit / 8;
  static_cast<unsigned char*>(data)[at] ^= static_cast<unsigned char>(1U << (bit % 8));
  return "flipped";
}

// Blocks of one file have one length, so a multiple of it away there is another block. One that was never written, or
// has been released, reads as zeros: a lost write.
std::string_view put_other(const fault& found, int descriptor, uint64_t offset, void* data, size_t length, size_t& at) {
  struct stat info {};
  if (fstat(descriptor, &info) != 0) return "nothing";
  const uint64_t num_blocks = std::min<uint64_t>(static_cast<uint64_t>(info.st_size), written_end) / length;
  if (num_blocks < 2) return "nothing";
  uint64_t other = mixed(found.number + seed()) % num_blocks;
  if (other == offset / length) other = (other + 1) % num_blocks;
  void* const content = pages(length);
  if (content == nullptr || !read_plainly(descriptor, other * length, content, length)) return "nothing";
  if (std::memcmp(content, data, length) == 0) return "nothing";
  std::memcpy(data, content, length);
  at = other * length;
  return "other";
}

std::string_view put_stale(int descriptor, uint64_t offset, void* data, size_t length) {
  const uint64_t inode = inode_of(descriptor);
  const lock_places held;
  for (size_t i = 0; i < num_places; ++i) {
    const place& one = places[i];
    if (one.inode != inode || one.offset != offset || one.length != length) continue;
    if (std::memcmp(one.before, data, length) == 0) return "nothing";
    std::memcpy(data, one.before, length);
    return "stale";
  }
  return "nothing";
}

}  // namespace

void remember_before_write(int descriptor, uint64_t offset, size_t length) {
  for (uint64_t end = written_end; end < offset + length && !written_end.compare_exchange_weak(end, offset + length);) {
  }
  if (!wants_stale()) return;
  struct stat info {};
  if (fstat(descriptor, &info) != 0 || static_cast<uint64_t>(info.st_size) < offset + length) return;
  const lock_places held;
  const uint64_t inode = info.st_ino;
  place* known = std::find_if(places.begin(), places.begin() + num_places, [&](const place& one) {
    return one.inode == inode && one.offset == offset && one.length == length;
  });
  if (known == places.begin() + num_places) {
    if (num_places == max_places) return;
    void* const kept = pages(length);
    if (kept == nullptr) return;
    *known = {inode, offset, length, kept};
    ++num_places;
  }
  read_plainly(descriptor, offset, known->before, length);
}

void damage(const fault& found, int descriptor, uint64_t offset, void* data, size_t length) {
  size_t at = 0;
  std::string_view done;
  switch (found.what) {
    case effect::flip: done = flip(found, data, length, at); break;
    case effect::other: done = put_other(found, descriptor, offset, data, length, at); break;
    case effect::stale: done = put_stale(descriptor, offset, data, length); break;
    default: return;
  }
  tell(done, offset, at);
}

}  // namespace interposed
