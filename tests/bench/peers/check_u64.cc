// Is a sorted file what it should be? One scan: in order (unless --any-order), how many values, and a hash that doesn't
// depend on their order, to be compared with that of the input.
//
//   check_u64 [--any-order] FILE       prints "COUNT HASH"; exit 1 when it is out of order
//
// The hash is the sum modulo 2^64 of a strong mix of each value: equal multisets have equal sums, and unequal ones
// differ but for one in 2^64.
#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <string_view>
#include <vector>

namespace {

uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 32) ^ 0x9e3779b97f4a7c15U) * 0xd6e8feb86659fd93U;
  x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93U;
  return x ^ (x >> 32);
}

// Fills the buffer unless the file ends; returns the bytes read, -1 on error.
ssize_t read_full(int fd, char* data, size_t num_bytes) {
  size_t done = 0;
  while (done < num_bytes) {
    const ssize_t got = read(fd, data + done, num_bytes - done);
    if (got < 0) return -1;
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  return static_cast<ssize_t>(done);
}

}  // namespace

int main(int argc, char** argv) {
  const bool any_order = argc == 3 && std::string_view(argv[1]) == "--any-order";
  if (argc != (any_order ? 3 : 2)) {
    std::cerr << "usage: check_u64 [--any-order] FILE\n";
    return 64;
  }
  const int fd = open(argv[argc - 1], O_RDONLY);
  uint64_t count = 0;
  uint64_t hash = 0;
  uint64_t previous = 0;
  std::vector<uint64_t> chunk(1U << 19);
  for (;;) {
    const ssize_t num_bytes =
        fd < 0 ? -1 : read_full(fd, reinterpret_cast<char*>(chunk.data()), chunk.size() * sizeof(uint64_t));
    if (num_bytes < 0) {
      std::perror(argv[argc - 1]);
      return 1;
    }
    if (num_bytes % sizeof(uint64_t) != 0) {
      std::cerr << argv[argc - 1] << ": the last value is cut short\n";
      return 1;
    }
    const size_t num_values = static_cast<size_t>(num_bytes) / sizeof(uint64_t);
    for (size_t i = 0; i < num_values; ++i) {
      if (!any_order && chunk[i] < previous) {
        std::cerr << argv[argc - 1] << ": value " << count + i << " is less than the one before it\n";
        return 1;
      }
      previous = chunk[i];
      hash += mix(chunk[i]);
    }
    count += num_values;
    if (num_values < chunk.size()) break;
  }
  close(fd);
  std::printf("%llu %016llx\n", static_cast<unsigned long long>(count), static_cast<unsigned long long>(hash));
  return 0;
}
