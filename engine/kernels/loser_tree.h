// A loser tree (tournament tree): finds the least of k heads with log k comparisons per step (Knuth, volume 3, 5.4.1).
//
// Eight sources with heads 5 3 7 1 4 8 2 6. Each inner node keeps the loser of its match, the winner moves up:
//
//                    1 (source 3)                 Source 3 shows its next head, 9. Only its path is replayed:
//               2 ─────────┘                      9 meets 7: 7 is less and moves up, 9 stays.
//         3           4                           7 meets 3: 3 moves up, 7 stays. 3 meets 2: 2 wins, 3 stays.
//       5   7       8   6                         3 comparisons for 8 sources.
//      5 3 7 1     4 8 2 6
//
// Nodes hold the losers' keys beside their numbers, so that a match looks at the node only. Heads with equal keys are
// told apart by the caller, who may then change the loser's key. That is where offset-value codes
// (offset_value_code.h), which are relative to the winner of the match, move on. Cost: ceil(log2 k) comparisons per
// replay, k - 1 to start. An exhausted source keeps the largest key and loses its ties: no sentinels, all keys are
// allowed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace flowrun::kernels {

// `Key`: an unsigned number. `Tie(a, b, key)`: of the sources a and b, whose heads have both this key, that of a comes
// first; what it leaves in `key` is from now on the key of the other one.
template <class Key, class Tie>
class loser_tree {
 public:
  static constexpr uint32_t none = ~uint32_t{0};

  // All sources are exhausted at first.
  loser_tree(size_t num_sources, Tie tie) : tie_(std::move(tie)), heads_(num_sources, exhausted) {
    while (leaves_ < num_sources) leaves_ *= 2;
    losers_.assign(leaves_, exhausted);
  }

  // Before start(): the source has a head with this key.
  void set(uint32_t source, Key key) { heads_[source] = {key, source}; }
  // Plays all matches.
  void start() {
    winner_ = play(1);
    heads_ = {};
  }
  // The source with the least head; none when all are exhausted.
  uint32_t winner() const { return winner_.source; }
  Key winner_key() const { return winner_.key; }
  // The source with the least head but for the winner's; none when there is no other. Only where ties leave keys as
  // they are. Cost: as of a replay.
  uint32_t runner_up() const {
    entry least = exhausted;
    if (winner_.source == none) return none;
    for (size_t node = (winner_.source + leaves_) / 2; node > 0; node /= 2) {
      const entry& loser = losers_[node];
      Key same = loser.key;
      if (loser.key < least.key || (loser.key == least.key && wins_tie(loser.source, least.source, same)))
        least = loser;
    }
    return least.source;
  }
  // The winner has a new head with this key, or none any more.
  void replay(Key key) { replay(key, winner_.source, winner_.source); }
  void replay_exhausted() { replay(exhausted.key, none, winner_.source); }

 private:
  struct entry {
    Key key;
    uint32_t source;  // none: exhausted
  };
  static constexpr entry exhausted{static_cast<Key>(~Key{0}), none};

  // Whether a comes before b; the other one then has the key that is left in `key`.
  bool wins_tie(uint32_t a, uint32_t b, Key& key) const {
    if (a == none || b == none) return a != none;
    return tie_(a, b, key);
  }
  void replay(Key key, uint32_t source, uint32_t leaf) {
    // (Key and number apart from each other, as they are to stay in registers.)
    for (size_t node = (leaf + leaves_) / 2; node > 0; node /= 2) {
      entry& loser = losers_[node];
      Key other_key = loser.key;
      const uint32_t other = loser.source;
      bool other_wins = other_key < key;
      if (other_key == key) [[unlikely]] {
        Key later = key;
        other_wins = wins_tie(other, source, later);
        (other_wins ? key : other_key) = later;
      }
      // Which one wins can't be predicted, so they change places by arithmetic instead of branching. (Compilers see
      // through conditional assignments, and branch.)
      const auto swap = static_cast<uint32_t>(other_wins);
      const Key keys = (other_key ^ key) & (Key{0} - swap);
      const uint32_t sources = (other ^ source) & (uint32_t{0} - swap);
      loser.key = other_key ^ keys;
      loser.source = other ^ sources;
      key ^= keys;
      source ^= sources;
    }
    winner_.key = key;
    winner_.source = source;
  }
  entry play(size_t node) {
    if (node >= leaves_) return node - leaves_ < heads_.size() ? heads_[node - leaves_] : exhausted;
    entry left = play(2 * node);
    entry right = play(2 * node + 1);
    bool swap = right.key < left.key;
    if (right.key == left.key) {
      Key later = left.key;
      swap = wins_tie(right.source, left.source, later);
      (swap ? left : right).key = later;
    }
    if (swap) std::swap(left, right);
    losers_[node] = right;
    return left;
  }

  Tie tie_;
  std::vector<entry> heads_;   // until start()
  std::vector<entry> losers_;  // by inner node; 0 is unused
  size_t leaves_ = 1;
  entry winner_ = exhausted;
};

}  // namespace flowrun::kernels
