// Makes a benchmark's input: N little-endian u64, a function of the seed and the position (splitmix64).
//
//   make_u64 OUTPUT NUM_VALUES [SEED]
//
// Ends with fsync and drops the file from the page cache, so that the first reader starts cold.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <vector>

namespace {

uint64_t splitmix64(uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

bool write_all(int fd, const char* data, size_t num_bytes) {
  while (num_bytes > 0) {
    const ssize_t done = write(fd, data, num_bytes);
    if (done <= 0) return false;
    data += done;
    num_bytes -= static_cast<size_t>(done);
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || argc > 4) {
    std::cerr << "usage: make_u64 OUTPUT NUM_VALUES [SEED]\n";
    return 64;
  }
  const uint64_t num_values = std::strtoull(argv[2], nullptr, 10);
  const uint64_t seed = splitmix64(argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1);
  const int fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0644);
  bool good = fd >= 0;
  std::vector<uint64_t> chunk(1U << 20);
  for (uint64_t first = 0; good && first < num_values; first += chunk.size()) {
    const size_t count = static_cast<size_t>(std::min<uint64_t>(chunk.size(), num_values - first));
    for (size_t i = 0; i < count; ++i) chunk[i] = splitmix64(seed ^ (first + i));
    good = write_all(fd, reinterpret_cast<const char*>(chunk.data()), count * sizeof(uint64_t));
  }
  good = good && fsync(fd) == 0;
  if (!good) {
    std::perror("make_u64");
    return 1;
  }
  posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  close(fd);
  return 0;
}
