// The peer of the benchmarks of priority queues: STXXL 1.4's priority queue, a sequence heap. It has no bulk interface:
// bulks are pushed and popped one by one.
//
// Half of the memory is the queue's own, as its generator divides it; the other half is for its pools of blocks being
// read ahead and written, as in the library's own benchmark.
//
//   stxxl_pq random|asc-rbulk-rewrite|bulk-rewrite NUM_ITEMS MEMORY_MIB SCRATCH_DIRECTORY [BULK]
#include <stxxl/io>
#include <stxxl/mng>
#include <stxxl/priority_queue>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <limits>
#include <string>

#include "tests/bench/pq_items.h"

namespace {

using flowrun::bench::random_item;

struct greater_u64 {
  bool operator()(uint64_t a, uint64_t b) const { return a > b; }
  uint64_t min_value() const { return std::numeric_limits<uint64_t>::max(); }
};

struct settings {
  std::string mode;
  uint64_t num_items = 0;
  uint64_t memory_bytes = 0;
  uint64_t bulk = 640'000;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

template <uint64_t MemoryBytes, uint64_t MostItems>
void run(const settings& s) {
  using queue_type =
      typename stxxl::PRIORITY_QUEUE_GENERATOR<uint64_t, greater_u64, MemoryBytes / 2, MostItems / 1024>::result;
  queue_type queue(MemoryBytes / 4, MemoryBytes / 4);
  flowrun::bench::popped_sum sum;
  uint64_t next = 0;
  auto start = std::chrono::steady_clock::now();
  const bool random = s.mode == "random";
  for (; next < s.num_items; ++next) queue.push(random ? random_item(next) : next);
  const double first = seconds_since(start);
  start = std::chrono::steady_clock::now();
  if (random) {
    for (uint64_t i = 0; i < s.num_items; ++i) {
      sum.add(queue.top());
      queue.pop();
    }
  } else {
    for (uint64_t left = s.num_items, round = 0; left > 0; ++round) {
      const uint64_t wanted = s.mode == "bulk-rewrite" ? s.bulk : random_item(round) % (s.bulk + 1);
      const uint64_t count = std::min(wanted, left);
      for (uint64_t i = 0; i < count; ++i) {
        sum.add(queue.top());
        queue.pop();
      }
      left -= count;
      for (uint64_t i = 0; i < count; ++i) queue.push(next++);
    }
  }
  std::printf("{\"first_seconds\": %.3f, \"second_seconds\": %.3f, \"popped\": \"%s\"}\n", first, seconds_since(start),
              sum.text().c_str());
}

int main_of(int argc, char** argv) {
  if (argc < 5 || argc > 6) {
    std::cerr
        << "usage: stxxl_pq random|asc-rbulk-rewrite|bulk-rewrite NUM_ITEMS MEMORY_MIB SCRATCH_DIRECTORY [BULK]\n";
    return 64;
  }
  settings s{argv[1], std::strtoull(argv[2], nullptr, 10), std::strtoull(argv[3], nullptr, 10) << 20};
  if (argc > 5) s.bulk = std::strtoull(argv[5], nullptr, 10);

  // Otherwise the library leaves two log files in the working directory.
  setenv("STXXLLOGFILE", "/dev/null", 0);
  setenv("STXXLERRLOGFILE", "/dev/null", 0);
  stxxl::disk_config disk(std::string(argv[4]) + "/stxxl_pq.scratch", 0, "linuxaio");
  disk.autogrow = true;
  disk.unlink_on_open = true;
  disk.direct = stxxl::disk_config::DIRECT_ON;
  stxxl::config::get_instance()->add_disk(disk);

  // The memory shapes the type.
  constexpr uint64_t mib = 1 << 20, most = uint64_t{1} << 29;
  switch (s.memory_bytes / mib) {
    case 64: run<64 * mib, most / 4>(s); break;
    case 128: run<128 * mib, most / 4>(s); break;
    case 256: run<256 * mib, most>(s); break;
    case 512: run<512 * mib, most>(s); break;
    default: throw std::runtime_error("the memory is 64, 128, 256 or 512 MiB");
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return main_of(argc, argv);
  } catch (const std::exception& e) {
    std::cerr << "stxxl_pq: " << e.what() << '\n';
    return 1;
  }
}
