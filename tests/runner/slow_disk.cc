// A library in front of the C library: files below SLOW_DISK take or give SLOW_DISK_RATE bytes a second, one transfer
// after another. So a test has a slow disk without being root.
#include <dlfcn.h>
#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>

namespace {

using transfer_call = ssize_t (*)(int, void*, size_t, off_t);
using write_call = ssize_t (*)(int, const void*, size_t, off_t);

template <class Call>
Call next_of(const char* name) {
  return reinterpret_cast<Call>(dlsym(RTLD_NEXT, name));
}

bool is_slow(int descriptor) {
  static const char* const below = std::getenv("SLOW_DISK");
  if (below == nullptr) return false;
  std::array<char, 4096> path{};
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  const ssize_t length = readlink(link.c_str(), path.data(), path.size() - 1);
  return length > 0 && std::strncmp(path.data(), below, std::strlen(below)) == 0;
}

void wait_for(int descriptor, ssize_t num_bytes) {
  if (num_bytes <= 0 || !is_slow(descriptor)) return;
  static const double rate = std::atof(std::getenv("SLOW_DISK_RATE"));
  static std::mutex disk;
  const std::lock_guard lock(disk);
  std::this_thread::sleep_for(std::chrono::duration<double>(static_cast<double>(num_bytes) / rate));
}

}  // namespace

extern "C" {

ssize_t pread(int descriptor, void* data, size_t num_bytes, off_t offset) {
  static const auto next = next_of<transfer_call>("pread");
  const ssize_t got = next(descriptor, data, num_bytes, offset);
  wait_for(descriptor, got);
  return got;
}

ssize_t pread64(int descriptor, void* data, size_t num_bytes, off_t offset) {
  static const auto next = next_of<transfer_call>("pread64");
  const ssize_t got = next(descriptor, data, num_bytes, offset);
  wait_for(descriptor, got);
  return got;
}

ssize_t pwrite(int descriptor, const void* data, size_t num_bytes, off_t offset) {
  static const auto next = next_of<write_call>("pwrite");
  const ssize_t put = next(descriptor, data, num_bytes, offset);
  wait_for(descriptor, put);
  return put;
}

ssize_t pwrite64(int descriptor, const void* data, size_t num_bytes, off_t offset) {
  static const auto next = next_of<write_call>("pwrite64");
  const ssize_t put = next(descriptor, data, num_bytes, offset);
  wait_for(descriptor, put);
  return put;
}

}  // extern "C"
