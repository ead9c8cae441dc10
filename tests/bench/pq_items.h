// What both sides of the benchmarks of priority queues push, and what they say about what they popped.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace flowrun::bench {

// The finaliser of splitmix64: number `i` of a random sequence.
inline uint64_t random_item(uint64_t i) {
  i += 0x9E3779B97F4A7C15;
  i = (i ^ (i >> 30)) * 0xBF58476D1CE4E5B9;
  i = (i ^ (i >> 27)) * 0x94D049BB133111EB;
  return i ^ (i >> 31);
}

class unordered_sum {
 public:
  void add(uint64_t item) {
    sum_ += item;
    ++count_;
  }
  std::string text() const { return std::to_string(count_) + " " + std::to_string(sum_); }

 private:
  uint64_t sum_ = 0;
  uint64_t count_ = 0;
};

// Of what is popped, which must ascend.
class popped_sum {
 public:
  void add(uint64_t item) {
    if (item < last_) throw std::runtime_error("the items that were popped don't ascend");
    last_ = item;
    sum_.add(item);
  }
  std::string text() const { return sum_.text(); }

 private:
  uint64_t last_ = 0;
  unordered_sum sum_;
};

}  // namespace flowrun::bench
