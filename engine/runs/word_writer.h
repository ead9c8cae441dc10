// Ascending words on their way into the blocks of runs.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "engine/record/row_codec.h"
#include "engine/runs/run_writer.h"

namespace flowrun::runs {

// One thread at a time, as run_writer. Words may come in any portions; the blocks don't depend on them. `Packer`: makes
// rows of words, by pack(words, count, to) and row_bytes(). Words of more than 16 bytes leave the first keys of the
// run's blocks empty.
template <class Word, class Packer = record::row_codec>
class word_writer {
 public:
  // Where `firsts` is given, the first word of each block is added to it. All outlive the writer.
  word_writer(run_writer& writer, const Packer& packer, std::vector<Word>* firsts = nullptr)
      : writer_(writer), packer_(packer), per_block_(writer.payload_bytes() / packer.row_bytes()), firsts_(firsts) {}

  // Takes words off the front as far as there are buffers. blocked: `w` will be woken once there is one.
  outcome append(std::span<const Word>& words, waker& w) {
    while (!words.empty()) {
      std::byte* payload = writer_.payload(&w);
      if (payload == nullptr) return outcome::blocked();
      const size_t count = std::min(words.size(), per_block_ - filled_);
      if (filled_ == 0) begin_block(words[0]);
      packer_.pack(words.data(), count, payload + filled_ * packer_.row_bytes());
      filled_ += count;
      words = words.subspan(count);
      if (filled_ == per_block_) end_block();
    }
    return outcome::ready();
  }

  // What was taken goes to the disks; the next words begin a block.
  void end_block() {
    if (filled_ == 0) return;
    writer_.submit(static_cast<uint32_t>(filled_), static_cast<uint32_t>(filled_ * packer_.row_bytes()), 0, first_);
    filled_ = 0;
  }

 private:
  void begin_block(const Word& first) {
    if constexpr (sizeof(Word) <= sizeof first_) first_ = first;
    if (firsts_ != nullptr) firsts_->push_back(first);
  }

  run_writer& writer_;
  const Packer& packer_;
  const size_t per_block_;
  std::vector<Word>* const firsts_;
  size_t filled_ = 0;  // words in the current block
  record::word128 first_ = 0;
};

}  // namespace flowrun::runs
