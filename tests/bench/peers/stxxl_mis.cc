// The peer of the benchmark of maximal independent sets: listings 7 and 8 of the STXXL paper (STXXL, sections 8
// and 9). Random edges with eight bytes of payload are made, sorted, freed of duplicates and scanned with a priority
// queue of events {node, info}, all in one pipeline; the set is written to a vector, and so to the disk.
//
// As printed there, the algorithm finds what it says on undirected edges only, and leaves out nodes without edges. The
// work is what counts here.
//
//   stxxl_mis NUM_EDGES NUM_NODES MEMORY_MIB SCRATCH_DIRECTORY
#include <stxxl/io>
#include <stxxl/mng>
#include <stxxl/priority_queue>
#include <stxxl/stream>
#include <stxxl/vector>

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

using node_type = uint32_t;

struct edge {
  node_type src, dst;
  uint32_t info[2];
  bool operator==(const edge& other) const { return src == other.src && dst == other.dst; }
  bool operator!=(const edge& other) const { return !(*this == other); }
};

struct edge_less {
  static uint64_t key(const edge& e) { return uint64_t{e.src} << 32 | e.dst; }
  bool operator()(const edge& a, const edge& b) const { return key(a) < key(b); }
  edge min_value() const { return {0, 0, {0, 0}}; }
  edge max_value() const {
    constexpr node_type most = std::numeric_limits<node_type>::max();
    return {most, most, {most, most}};
  }
};

// Listing 7.
class random_edge_stream {
 public:
  using value_type = edge;
  random_edge_stream(uint64_t num_edges, node_type num_nodes) : left_(num_edges), num_nodes_(num_nodes) { make(); }
  const edge& operator*() const { return current_; }
  const edge* operator->() const { return &current_; }
  random_edge_stream& operator++() {
    --left_;
    make();
    return *this;
  }
  bool empty() const { return left_ == 0; }

 private:
  void make() {
    const auto node = [&](uint64_t i) {
      return static_cast<node_type>((flowrun::bench::random_item(i) >> 32) * num_nodes_ >> 32);
    };
    current_ = {node(2 * left_), node(2 * left_ + 1), {static_cast<uint32_t>(left_), 0}};
  }
  uint64_t left_;
  uint64_t num_nodes_;
  edge current_;
};

struct event {
  node_type node;
  uint32_t info;
};
// For messages of the library that are never printed.
[[maybe_unused]] std::ostream& operator<<(std::ostream& out, const event& e) { return out << e.node; }
struct event_greater {
  bool operator()(const event& a, const event& b) const { return a.node > b.node; }
  event min_value() const { return {std::numeric_limits<node_type>::max(), 0}; }
};

// Of the memory: the sort's merge, the queue's own, its two pools, and the vector's pages.
template <uint64_t MemoryBytes>
void run(uint64_t num_edges, node_type num_nodes) {
  constexpr uint64_t most_events = uint64_t{1} << 28;
  using queue_type =
      typename stxxl::PRIORITY_QUEUE_GENERATOR<event, event_greater, MemoryBytes / 4, most_events / 1024>::result;
  const auto start = std::chrono::steady_clock::now();
  random_edge_stream random(num_edges, num_nodes);
  using creator_type = stxxl::stream::runs_creator<random_edge_stream, edge_less>;
  creator_type creator(random, edge_less(), MemoryBytes);
  auto runs = creator.result();
  const auto sorted = std::chrono::steady_clock::now();
  using merger_type = stxxl::stream::runs_merger<typename creator_type::sorted_runs_type, edge_less>;
  merger_type merger(runs, edge_less(), MemoryBytes / 2);
  stxxl::stream::unique<merger_type> edges(merger);

  // Listing 8.
  queue_type depend(MemoryBytes / 16, MemoryBytes / 16);
  stxxl::vector<node_type, 4> mis;
  uint64_t num_chosen = 0, last = std::numeric_limits<uint64_t>::max();
  for (; !edges.empty(); ++edges) {
    while (!depend.empty() && edges->src > depend.top().node) depend.pop();
    if (depend.empty() || edges->src != depend.top().node) {
      if (last != edges->src) {
        mis.push_back(edges->src);
        last = edges->src;
        ++num_chosen;
      }
      depend.push({edges->dst, 0});
    }
  }
  mis.flush();
  const auto end = std::chrono::steady_clock::now();
  using seconds = std::chrono::duration<double>;
  std::printf("{\"first_seconds\": %.3f, \"second_seconds\": %.3f, \"chosen\": %llu}\n",
              seconds(sorted - start).count(), seconds(end - sorted).count(),
              static_cast<unsigned long long>(num_chosen));
}

int main_of(int argc, char** argv) {
  if (argc != 5) {
    std::cerr << "usage: stxxl_mis NUM_EDGES NUM_NODES MEMORY_MIB SCRATCH_DIRECTORY\n";
    return 64;
  }
  const uint64_t num_edges = std::strtoull(argv[1], nullptr, 10);
  const auto num_nodes = static_cast<node_type>(std::strtoul(argv[2], nullptr, 10));

  // Otherwise the library leaves two log files in the working directory.
  setenv("STXXLLOGFILE", "/dev/null", 0);
  setenv("STXXLERRLOGFILE", "/dev/null", 0);
  stxxl::disk_config disk(std::string(argv[4]) + "/stxxl_mis.scratch", 0, "linuxaio");
  disk.autogrow = true;
  disk.unlink_on_open = true;
  disk.direct = stxxl::disk_config::DIRECT_ON;
  stxxl::config::get_instance()->add_disk(disk);

  constexpr uint64_t mib = 1 << 20;
  switch (std::strtoul(argv[3], nullptr, 10)) {
    case 64: run<64 * mib>(num_edges, num_nodes); break;
    case 128: run<128 * mib>(num_edges, num_nodes); break;
    case 256: run<256 * mib>(num_edges, num_nodes); break;
    case 512: run<512 * mib>(num_edges, num_nodes); break;
    default: throw std::runtime_error("the memory is 64, 128, 256 or 512 MiB");
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return main_of(argc, argv);
  } catch (const std::exception& e) {
    std::cerr << "stxxl_mis: " << e.what() << '\n';
    return 1;
  }
}
