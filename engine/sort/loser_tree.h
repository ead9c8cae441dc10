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
// Nodes hold the losers' keys beside their numbers, so that a match looks at the node only; heads with equal keys are
// told apart by the caller, who may then change the loser's key: offset-value codes (offset_value_code.h) are relative
// to the winner of the match, and this is where they move on. Cost: ceil(log2 k) comparisons per replay, k - 1 to
// start. An exhausted source keeps the largest key and loses its ties: no sentinels, all keys are allowed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace flowrun::sort {

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
  // The winner has a new head with this key, or none any more.
  void replay(Key key) { replay({key, winner_.source}, winner_.source); }
  void replay_exhausted() { replay(exhausted, winner_.source); }

 private:
  struct entry {
    Key key;
    uint32_t source;  // none: exhausted
  };
  static constexpr entry exhausted{static_cast<Key>(~Key{0}), none};

  bool wins_tie(entry& a, entry& b) const {
    if (a.source == none || b.source == none) return a.source != none;
    Key key = a.key;
    const bool first = tie_(a.source, b.source, key);
    (first ? b : a).key = key;
    return first;
  }
  bool beats(entry& a, entry& b) const {
    if (a.key == b.key) [[unlikely]]
      return wins_tie(a, b);
    return a.key < b.key;
  }
  void replay(entry moving, uint32_t leaf) {
    for (size_t node = (leaf + leaves_) / 2; node > 0; node /= 2) {
      // Who wins is anybody's guess, so both outcomes are computed instead of branching.
      entry& loser = losers_[node];
      entry other = loser;
      const bool moves_up = beats(other, moving);
      loser.key = moves_up ? moving.key : other.key;
      loser.source = moves_up ? moving.source : other.source;
      moving.key = moves_up ? other.key : moving.key;
      moving.source = moves_up ? other.source : moving.source;
    }
    winner_ = moving;
  }
  entry play(size_t node) {
    if (node >= leaves_) return node - leaves_ < heads_.size() ? heads_[node - leaves_] : exhausted;
    entry left = play(2 * node);
    entry right = play(2 * node + 1);
    if (beats(right, left)) std::swap(left, right);
    losers_[node] = right;
    return left;
  }

  Tie tie_;
  std::vector<entry> heads_;   // until start()
  std::vector<entry> losers_;  // by inner node; 0 is unused
  size_t leaves_ = 1;
  entry winner_ = exhausted;
};

}  // namespace flowrun::sort
