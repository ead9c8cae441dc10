// What in-memory sorting is compared with: Highway's vqsort, alone, on one thread.
//
//   vqsort_u64 NUM_VALUES       sorts random u64 and prints the seconds that VQSort took
#include <hwy/contrib/sort/vqsort.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
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

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: vqsort_u64 NUM_VALUES\n";
    return 64;
  }
  std::vector<uint64_t> values(std::strtoull(argv[1], nullptr, 10));
  for (size_t i = 0; i < values.size(); ++i) values[i] = splitmix64(i);
  hwy::Sorter sort;
  const auto start = std::chrono::steady_clock::now();
  sort(values.data(), values.size(), hwy::SortAscending());
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  if (!std::is_sorted(values.begin(), values.end())) {
    std::cerr << "vqsort_u64: not sorted\n";
    return 1;
  }
  std::printf("%.6f\n", took.count());
  return 0;
}
