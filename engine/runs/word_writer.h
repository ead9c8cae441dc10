// Ascending words on their way into the blocks of runs.
#pragma once

#include <algorithm>
#include <span>

#include "engine/record/row_codec.h"
#include "engine/runs/run_writer.h"

namespace flowrun::runs {

// One thread at a time, as run_writer. Words may come in any portions; the blocks don't depend on them.
template <class Word>
class word_writer {
 public:
  word_writer(run_writer& writer, const record::row_codec& codec)
      : writer_(writer), codec_(codec), per_block_(writer.payload_bytes() / codec.row_bytes()) {}

  // Takes words off the front as far as there are buffers. blocked: `w` will be woken once there is one.
  outcome append(std::span<const Word>& words, waker& w) {
    while (!words.empty()) {
      std::byte* payload = writer_.payload(&w);
      if (payload == nullptr) return outcome::blocked();
      const size_t count = std::min(words.size(), per_block_ - filled_);
      if (filled_ == 0) first_ = words[0];
      codec_.pack(words.data(), count, payload + filled_ * codec_.row_bytes());
      filled_ += count;
      words = words.subspan(count);
      if (filled_ == per_block_) end_block();
    }
    return outcome::ready();
  }

  // What was taken goes to the disks; the next words begin a block.
  void end_block() {
    if (filled_ == 0) return;
    writer_.submit(static_cast<uint32_t>(filled_), static_cast<uint32_t>(filled_ * codec_.row_bytes()), 0, first_);
    filled_ = 0;
  }

 private:
  run_writer& writer_;
  const record::row_codec& codec_;
  const size_t per_block_;
  size_t filled_ = 0;  // words in the current block
  Word first_ = 0;
};

}  // namespace flowrun::runs
