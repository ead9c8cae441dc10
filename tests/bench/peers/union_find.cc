// The peer of specs/jobs/components.yaml: what a C++ programmer writes by hand for the connected components of a graph
// whose nodes fit in memory.
//
//   union_find EDGES NODES OUT     rows {src: u32, dst: u32}; OUT: rows {node: u32, value: u32} by node, where value is
//                                  the smallest node of the component
//
// One thread, read() into 4 MiB, a parent for each node that is never larger than it, path halving (Tarjan, van Leeuwen
// 1984), the larger root below the smaller; one write() for every 4 MiB, and an fsync as the job has one.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <numeric>
#include <vector>

namespace {

struct pair {
  uint32_t first;   // src, node
  uint32_t second;  // dst, value
};
constexpr size_t pairs_at_once = size_t{4} << 20 >> 3;

class forest {
 public:
  explicit forest(uint64_t num_nodes) : parents_(num_nodes) { std::iota(parents_.begin(), parents_.end(), 0U); }

  uint32_t find(uint32_t x) {
    while (parents_[x] != x) x = parents_[x] = parents_[parents_[x]];
    return x;
  }
  void unite(uint32_t x, uint32_t y) {
    const uint32_t a = find(x);
    const uint32_t b = find(y);
    parents_[std::max(a, b)] = std::min(a, b);
  }
  uint64_t num_nodes() const { return parents_.size(); }

 private:
  std::vector<uint32_t> parents_;
};

int failed(const char* what, int code) {
  std::perror(what);
  return code;
}

int read_edges(const char* path, forest& nodes) {
  const int fd = open(path, O_RDONLY);
  if (fd < 0) return failed(path, 66);
  posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
  std::vector<pair> edges(pairs_at_once);
  size_t have = 0;  // bytes, of which the last may be a part of an edge
  for (;;) {
    const ssize_t got = read(fd, reinterpret_cast<char*>(edges.data()) + have, edges.size() * sizeof(pair) - have);
    if (got < 0) return failed(path, 74);
    if (got == 0) break;
    have += static_cast<size_t>(got);
    const size_t num_edges = have / sizeof(pair);
    for (size_t i = 0; i < num_edges; ++i) {
      if (edges[i].first >= nodes.num_nodes() || edges[i].second >= nodes.num_nodes()) {
        std::cerr << path << ": an id is too large\n";
        return 65;
      }
      nodes.unite(edges[i].first, edges[i].second);
    }
    have -= num_edges * sizeof(pair);
    if (have > 0) std::memcpy(edges.data(), edges.data() + num_edges, have);
  }
  close(fd);
  return have == 0 ? 0 : 65;
}

int write_labels(const char* path, forest& nodes) {
  const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (fd < 0) return failed(path, 73);
  std::vector<pair> labels(pairs_at_once);
  for (uint64_t node = 0; node < nodes.num_nodes();) {
    const uint64_t count = std::min<uint64_t>(labels.size(), nodes.num_nodes() - node);
    for (uint64_t i = 0; i < count; ++i, ++node) {
      const auto id = static_cast<uint32_t>(node);
      labels[i] = {id, nodes.find(id)};
    }
    const char* from = reinterpret_cast<const char*>(labels.data());
    for (size_t left = count * sizeof(pair); left > 0;) {
      const ssize_t put = write(fd, from, left);
      if (put < 0) return failed(path, 74);
      from += put;
      left -= static_cast<size_t>(put);
    }
  }
  if (fsync(fd) != 0) return failed(path, 74);
  return close(fd) == 0 ? 0 : failed(path, 74);
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t num_nodes = 0;
  const char* const digits = argc == 4 ? argv[2] : "";
  const auto [end, problem] = std::from_chars(digits, digits + std::strlen(digits), num_nodes);
  if (argc != 4 || problem != std::errc() || *end != '\0' || num_nodes > uint64_t{1} << 32) {
    std::cerr << "usage: union_find EDGES NODES OUT\n";
    return 64;
  }
  forest nodes(num_nodes);
  const int code = read_edges(argv[1], nodes);
  return code != 0 ? code : write_labels(argv[3], nodes);
}
