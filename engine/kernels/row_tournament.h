// Which of several ascending sequences of rows has the least head: a loser tree (loser_tree.h) over the heads' keys.
//
// Where the key's prefix of 16 bytes is all of it, heads are compared by that; else by offset-value codes
// (offset_value_code.h), which is said by `Coded`. Equal keys: the earlier sequence first, so that merging is stable.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "engine/kernels/loser_tree.h"
#include "engine/kernels/offset_value_code.h"
#include "engine/record/key.h"
#include "engine/record/key_words.h"

namespace flowrun::kernels {

// One thread at a time.
template <bool Coded>
class row_tournament {
 public:
  using row_place = record::row_place;
  using word128 = record::word128;
  static constexpr uint32_t none = ~uint32_t{0};

  // `prefix` and `words` outlive this. No sequence has a head at first.
  row_tournament(size_t num_sequences, const record::key_prefix& prefix, const record::key_words& words)
      : prefix_(prefix), coder_(words), heads_(num_sequences), tree_(num_sequences, tie{this}) {}
  row_tournament(const row_tournament&) = delete;
  row_tournament& operator=(const row_tournament&) = delete;

  // Before start(): a sequence's first head. `prefix`: of its key, where it is known.
  void set(uint32_t sequence, const row_place& head, std::optional<word128> prefix = std::nullopt) {
    heads_[sequence] = head;
    tree_.set(sequence, Coded ? coder_.first(head) : prefix_of(head, prefix));
  }
  void start() { tree_.start(); }

  // The sequence with the least head; none when no sequence has one.
  uint32_t winner() const { return tree_.winner(); }
  const row_place& head(uint32_t sequence) const { return heads_[sequence]; }
  // The sequence's head lies there now.
  void move_head(uint32_t sequence, const row_place& head) { heads_[sequence] = head; }
  // Whether the winner's key is that of the winner before. To be asked of each winner, once.
  bool repeats_last() {
    if constexpr (Coded) return coder_.is_equal(tree_.winner_key());
    const word128 key = tree_.winner_key();
    return std::exchange(last_, key) == key;
  }

  // The winner has another head. The row that was its head until now is still there.
  void replay(const row_place& head, std::optional<word128> prefix = std::nullopt) {
    const row_place before = std::exchange(heads_[tree_.winner()], head);
    tree_.replay(Coded ? coder_.relative(head, before) : prefix_of(head, prefix));
  }
  // It has none any more.
  void replay_exhausted() { tree_.replay_exhausted(); }

 private:
  // Between heads with equal keys.
  struct tie {
    const row_tournament* t;
    bool operator()(uint32_t a, uint32_t b, [[maybe_unused]] word128& key) const {
      if constexpr (Coded) {
        const int order = t->coder_.compare(t->heads_[a], t->heads_[b], key);
        if (order != 0) return order < 0;
      }
      return a < b;
    }
  };
  word128 prefix_of(const row_place& row, const std::optional<word128>& known) const {
    return known ? *known : prefix_(row.row, row.heap);
  }

  const record::key_prefix& prefix_;
  const offset_value_coder<record::key_words> coder_;
  std::vector<row_place> heads_;
  loser_tree<word128, tie> tree_;
  std::optional<word128> last_;  // not coded: the last winner's key, if it was asked for
};

}  // namespace flowrun::kernels
