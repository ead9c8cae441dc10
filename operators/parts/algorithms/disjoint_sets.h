// Sets of the numbers 0 … n-1 that are united pair by pair, each named by its smallest member.
//
// A parent per number, never larger than the number; find halves paths (Tarjan, van Leeuwen 1984); the larger root is
// hung below the smaller one, so that roots are the names. Node ids of real graphs carry no order that would make such
// trees deep, and halving keeps even those of a sorted path short. At the end one pass in ascending order makes every
// parent a root. A batch of pairs touches memory at random: parents are prefetched ahead, two steps deep.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace flowrun::operators {

template <class Id>
class disjoint_sets {
 public:
  explicit disjoint_sets(uint64_t n) : parents_(n) {
    for (uint64_t i = 0; i < n; ++i) parents_[i] = static_cast<Id>(i);
  }

  uint64_t num_members() const { return parents_.size(); }
  void prefetch(uint64_t x) const { __builtin_prefetch(&parents_[x], 1); }
  void prefetch_parent(uint64_t x) const { __builtin_prefetch(&parents_[parents_[x]], 1); }

  Id find(Id x) {
    while (parents_[x] != x) {
      const Id above = parents_[parents_[x]];
      parents_[x] = above;
      x = above;
    }
    return x;
  }
  // False when they were united before.
  bool unite(Id x, Id y) {
    const Id a = find(x), b = find(y);
    if (a == b) return false;
    if (a < b)
      parents_[b] = a;
    else
      parents_[a] = b;
    return true;
  }
  // The name of x's set. Once for each x in ascending order, and no unite() any more.
  Id settle(uint64_t x) {
    // Smaller numbers are settled, and the parent is one of them.
    parents_[x] = parents_[parents_[x]];
    return parents_[x];
  }

 private:
  std::vector<Id> parents_;
};

}  // namespace flowrun::operators
