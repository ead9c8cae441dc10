// A loser tree (tournament tree): finds the least of k heads with log k comparisons per step (Knuth, volume 3, 5.4.1).
//
// Eight sources with heads 5 3 7 1 4 8 2 6. Each inner node keeps the loser of its match, the winner moves up:
//
//                    1 (source 3)                 Source 3 shows its next head, 9. Replaying its path only:
//               2 ─────────┘                      9 loses to 7's node? 7 < 9: 7 moves up, 9 stays;
//         3           4                           7 against 3: 3 moves up, 7 stays; 3 against 2: 2 wins, 3 stays.
//       5   7       8   6                         3 comparisons for 8 sources.
//      5 3 7 1     4 8 2 6
//
// Cost: exactly ceil(log2 k) comparisons per replay, k - 1 to start. Exhausted sources lose every match: no sentinels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace flowrun::sort {

// `Less(a, b)`: the head of source a comes before that of source b; both have one. Sources without a head lose.
template <class Less>
class loser_tree {
 public:
  loser_tree(size_t num_sources, Less less) : less_(std::move(less)), alive_(num_sources, true) {
    while (leaves_ < num_sources) leaves_ *= 2;
    losers_.assign(leaves_, none);
  }

  // Plays all matches; every source must have a head or be marked exhausted.
  void start() { winner_ = play(1); }
  // The source with the least head; none when all are exhausted.
  static constexpr uint32_t none = ~uint32_t{0};
  uint32_t winner() const { return winner_ < alive_.size() && alive_[winner_] ? winner_ : none; }
  // The winner has a new head.
  void replay() {
    uint32_t moving = winner_;
    for (size_t node = (winner_ + leaves_) / 2; node > 0; node /= 2) {
      if (beats(losers_[node], moving)) std::swap(losers_[node], moving);
    }
    winner_ = moving;
  }
  // A source that has no head (any more). For the winner, replay() afterwards.
  void exhaust(uint32_t source) { alive_[source] = false; }

 private:
  bool beats(uint32_t a, uint32_t b) const {
    const bool a_alive = a < alive_.size() && alive_[a];
    const bool b_alive = b < alive_.size() && alive_[b];
    if (!a_alive || !b_alive) return a_alive && !b_alive;
    return less_(a, b);
  }
  uint32_t play(size_t node) {
    if (node >= leaves_) return static_cast<uint32_t>(node - leaves_);
    uint32_t left = play(2 * node);
    uint32_t right = play(2 * node + 1);
    if (beats(right, left)) std::swap(left, right);
    losers_[node] = right;
    return left;
  }

  Less less_;
  std::vector<bool> alive_;
  std::vector<uint32_t> losers_;  // by inner node; 0 is unused
  size_t leaves_ = 1;
  uint32_t winner_ = none;
};

}  // namespace flowrun::sort
