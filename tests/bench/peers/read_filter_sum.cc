// The peer of benchmark scan_sum: what a C++ programmer writes by hand for read_rows -> filter -> map -> reduce.
//
//   read_filter_sum FILE       rows (a: u64, b: u64); prints the number of rows with b & 7 != 0 and their sum of 3a + b
//
// One thread, read() into 1 MiB, arithmetic modulo 2^64. The same arithmetic as the job in tests/bench/jobs.
#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <iostream>
#include <vector>

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: read_filter_sum FILE\n";
    return 64;
  }
  const int fd = open(argv[1], O_RDONLY);
  if (fd < 0) {
    std::perror(argv[1]);
    return 66;
  }
  posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
  struct row {
    uint64_t a;
    uint64_t b;
  };
  std::vector<row> rows(1U << 16);
  uint64_t count = 0;
  uint64_t sum = 0;
  size_t have = 0;  // bytes of a row that the last read cut
  for (;;) {
    const ssize_t got = read(fd, reinterpret_cast<char*>(rows.data()) + have, rows.size() * sizeof(row) - have);
    if (got < 0) {
      std::perror(argv[1]);
      return 74;
    }
    if (got == 0) break;
    have += static_cast<size_t>(got);
    const size_t num_rows = have / sizeof(row);
    for (size_t i = 0; i < num_rows; ++i) {
      if ((rows[i].b & 7) != 0) {
        ++count;
        sum += 3 * rows[i].a + rows[i].b;
      }
    }
    have -= num_rows * sizeof(row);
    if (have > 0) rows[0] = rows[num_rows];
  }
  close(fd);
  std::printf("%llu,%llu\n", static_cast<unsigned long long>(count), static_cast<unsigned long long>(sum));
  return have == 0 ? 0 : 65;
}
