// Our side of the benchmarks of priority queues (peers/stxxl_pq.cc is the other one).
//
//   pq_bench one-by-one|bulk NUM_ITEMS MEMORY_MIB SCRATCH_DIRECTORY [THREADS]
//       random u64 are pushed, then popped (STXXL, section 5.4)
//   pq_bench asc-rbulk-rewrite|bulk-rewrite NUM_ITEMS MEMORY_MIB SCRATCH_DIRECTORY THREADS BULK
//       ascending u64 fill the queue, which is then rewritten in bulks: as many are popped as are pushed, with higher
//       numbers, until all have been popped once; bulks of random length up to BULK, or of BULK (Bulk-parallel queue,
//       section 4)
//   pq_bench sum NUM_ITEMS
//       what popping random u64 must come to
//
// Prints JSON: seconds of the two halves, and a sum over what was popped, which both sides must agree on.
#include <fmt/format.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/container/blocking_priority_queue.h"
#include "engine/io/backends.h"
#include "tests/bench/pq_items.h"

namespace {

using namespace flowrun;
using queue_type = container::blocking_priority_queue<uint64_t>;

constexpr size_t chunk = 1 << 16;

struct result {
  double first_seconds = 0;
  double second_seconds = 0;
  bench::popped_sum sum;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

result one_by_one(queue_type& queue, uint64_t num_items) {
  result r;
  auto start = std::chrono::steady_clock::now();
  for (uint64_t i = 0; i < num_items; ++i) queue.push(bench::random_item(i));
  r.first_seconds = seconds_since(start);
  start = std::chrono::steady_clock::now();
  for (uint64_t i = 0; i < num_items; ++i) {
    r.sum.add(queue.top());
    queue.pop();
  }
  r.second_seconds = seconds_since(start);
  return r;
}

result in_bulk(queue_type& queue, uint64_t num_items) {
  result r;
  std::vector<uint64_t> items(chunk);
  auto start = std::chrono::steady_clock::now();
  for (uint64_t first = 0; first < num_items; first += chunk) {
    const size_t count = std::min<uint64_t>(chunk, num_items - first);
    for (size_t i = 0; i < count; ++i) items[i] = bench::random_item(first + i);
    queue.push_bulk({items.data(), count});
  }
  r.first_seconds = seconds_since(start);
  start = std::chrono::steady_clock::now();
  while (const size_t count = queue.pop_bulk(items))
    for (size_t i = 0; i < count; ++i) r.sum.add(items[i]);
  r.second_seconds = seconds_since(start);
  return r;
}

result rewrite(queue_type& queue, uint64_t num_items, uint64_t bulk, bool random_lengths) {
  result r;
  std::vector<uint64_t> items(std::max<uint64_t>(bulk, chunk));
  uint64_t next = 0;
  const auto push = [&](uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) items[i] = next++;
    queue.push_bulk({items.data(), count});
  };
  auto start = std::chrono::steady_clock::now();
  while (next < num_items) push(std::min<uint64_t>(chunk, num_items - next));
  r.first_seconds = seconds_since(start);
  start = std::chrono::steady_clock::now();
  for (uint64_t left = num_items, round = 0; left > 0; ++round) {
    const uint64_t wanted = random_lengths ? bench::random_item(round) % (bulk + 1) : bulk;
    const uint64_t count = std::min(wanted, left);
    queue.pop_bulk({items.data(), count});
    for (uint64_t i = 0; i < count; ++i) r.sum.add(items[i]);
    left -= count;
    push(count);
  }
  r.second_seconds = seconds_since(start);
  return r;
}

int run(int argc, char** argv) {
  if (argc > 2 && std::string(argv[1]) == "sum") {
    bench::unordered_sum sum;
    for (uint64_t i = 0, n = std::strtoull(argv[2], nullptr, 10); i < n; ++i) sum.add(bench::random_item(i));
    std::cout << sum.text() << '\n';
    return 0;
  }
  if (argc < 5) {
    std::cerr
        << "usage: pq_bench one-by-one|bulk|asc-rbulk-rewrite|bulk-rewrite NUM_ITEMS MEMORY_MIB SCRATCH_DIRECTORY "
           "[THREADS [BULK]]\n";
    return 64;
  }
  const std::string mode = argv[1];
  const uint64_t num_items = std::strtoull(argv[2], nullptr, 10);
  const int threads = argc > 5 ? std::atoi(argv[5]) : static_cast<int>(std::thread::hardware_concurrency());
  const uint64_t bulk = argc > 6 ? std::strtoull(argv[6], nullptr, 10) : 640'000;

  const std::unique_ptr<io::backend> backend = io::make_backend(io::backend_kind::automatic);
  block::manager_options scratch;
  scratch.disks = {{argv[4]}};
  scratch.backend = backend.get();
  block::block_manager blocks(scratch);
  // One more than the library starts by itself: the thread that pushes and pops takes part in no arena.
  const tbb::global_control workers(tbb::global_control::max_allowed_parallelism, static_cast<size_t>(threads) + 1);
  tbb::task_arena arena(threads, 0);
  container::priority_queue_settings settings;
  settings.blocks = &blocks;
  settings.post = [&](std::function<void()> work) { arena.enqueue(std::move(work)); };
  settings.memory_bytes = std::strtoull(argv[3], nullptr, 10) * MiB;
  queue_type queue(settings);

  const result r = mode == "one-by-one"          ? one_by_one(queue, num_items)
                   : mode == "bulk"              ? in_bulk(queue, num_items)
                   : mode == "asc-rbulk-rewrite" ? rewrite(queue, num_items, bulk, true)
                   : mode == "bulk-rewrite"      ? rewrite(queue, num_items, bulk, false)
                                                 : throw error(error_kind::usage, "no mode " + mode);
  const container::queue_counters& c = queue.queue().counters();
  fmt::print(
      "{{\"first_seconds\": {:.3f}, \"second_seconds\": {:.3f}, \"popped\": \"{}\", \"runs\": {}, \"merges\": {}, "
      "\"spilled_bytes\": {}}}\n",
      r.first_seconds, r.second_seconds, r.sum.text(), c.runs, c.merges, c.spilled_bytes);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& e) {
    std::cerr << "pq_bench: " << e.what() << '\n';
    return 1;
  }
}
