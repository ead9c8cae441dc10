// Makes a benchmark's input: N packed rows of 64-bit words, little-endian; the first word is the key, the others are
// random. A function of the arguments only.
//
//   make_rows KEYS WORDS_PER_ROW NUM_ROWS OUTPUT
//
//   uniform    random
//   zipf       the k-th most frequent key occurs as often as 1/k of the first (Zipf, exponent 1, over 2^32 keys, which
//              are scattered): a key is the scrambled floor(e^(u ln 2^32)), u uniform in [0, 1)
//   sorted     ascending, one random key from each N-th of all 64-bit numbers
//   reversed   the same, descending
//   few        one of 100 keys
//
// Ends with fsync and drops the file from the page cache, so that the first reader starts cold.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

namespace {

uint64_t splitmix64(uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

using key_maker = uint64_t (*)(uint64_t row, uint64_t num_rows);

uint64_t random_word(uint64_t row) { return splitmix64(splitmix64(1) ^ row); }
uint64_t uniform(uint64_t row, uint64_t) { return random_word(row); }
uint64_t few(uint64_t row, uint64_t) { return splitmix64(random_word(row) % 100); }
uint64_t zipf(uint64_t row, uint64_t) {
  const double u = static_cast<double>(random_word(row) >> 11) * 0x1p-53;
  return splitmix64(static_cast<uint64_t>(std::exp(u * 32 * std::log(2.0))));
}
uint64_t ascending(uint64_t row, uint64_t num_rows) {
  const uint64_t step = UINT64_MAX / num_rows;
  return row * step + random_word(row) % step;
}
uint64_t descending(uint64_t row, uint64_t num_rows) { return ascending(num_rows - 1 - row, num_rows); }

key_maker maker_of(const std::string& name) {
  if (name == "uniform") return uniform;
  if (name == "zipf") return zipf;
  if (name == "sorted") return ascending;
  if (name == "reversed") return descending;
  if (name == "few") return few;
  return nullptr;
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
  const key_maker key = argc == 5 ? maker_of(argv[1]) : nullptr;
  const uint64_t words = argc == 5 ? std::strtoull(argv[2], nullptr, 10) : 0;
  if (key == nullptr || words == 0) {
    std::cerr << "usage: make_rows uniform|zipf|sorted|reversed|few WORDS_PER_ROW NUM_ROWS OUTPUT\n";
    return 64;
  }
  const uint64_t num_rows = std::strtoull(argv[3], nullptr, 10);
  const int fd = open(argv[4], O_WRONLY | O_CREAT | O_TRUNC, 0644);
  bool good = fd >= 0;
  constexpr uint64_t rows_at_once = 1U << 17;
  std::vector<uint64_t> chunk(rows_at_once * words);
  for (uint64_t first = 0; good && first < num_rows; first += rows_at_once) {
    const uint64_t count = std::min(rows_at_once, num_rows - first);
    for (uint64_t i = 0; i < count; ++i) {
      uint64_t* row = &chunk[i * words];
      row[0] = key(first + i, num_rows);
      for (uint64_t w = 1; w < words; ++w) row[w] = splitmix64(splitmix64(w + 1) ^ (first + i));
    }
    good = write_all(fd, reinterpret_cast<const char*>(chunk.data()), count * words * sizeof(uint64_t));
  }
  good = good && fsync(fd) == 0;
  if (!good) {
    std::perror("make_rows");
    return 1;
  }
  posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  close(fd);
  return 0;
}
