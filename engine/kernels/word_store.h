// Ascending sequences of words in small blocks of one buffer (Asynchronous sorting, section 2.1: "as soon as the last
// element of a block is removed, the block is put into a free list that supplies empty blocks when building new sorted
// sequences").
//
//   sequence a   │··34│5689│            the first block is used up to here, the last one is full by chance
//   sequence b   │1245│78··│            head and tail waste half a block each on average
//   free         │    │    │ …
//
// Cost: each word is copied in and out once; 8 bytes of bookkeeping per block.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "engine/base/buffer.h"
#include "engine/base/error.h"

namespace flowrun::kernels {

// One thread at a time.
template <class Word>
class word_store {
 public:
  // What is left of one sequence; usable in cut_slice(). Belongs to its store, which must be where it was.
  class sequence {
   public:
    size_t num_words = 0;

    Word operator[](size_t i) const { return *at(head_ + i); }
    // Moves the first `count` words to `to`; blocks that are used up are free again.
    void take(size_t count, Word* to) {
      num_words -= count;
      store_->num_words_ -= count;
      while (count > 0) {
        const size_t part = std::min(count, store_->block_words_ - (head_ & (store_->block_words_ - 1)));
        std::memcpy(to, at(head_), part * sizeof(Word));
        to += part;
        head_ += part;
        count -= part;
        if ((head_ & (store_->block_words_ - 1)) == 0) store_->free_.push_back(blocks_[(head_ - 1) >> store_->shift_]);
      }
      if (num_words == 0) clear();
    }
    // Drops what is left.
    void clear() {
      for (size_t i = head_ >> store_->shift_; i < blocks_.size(); ++i) store_->free_.push_back(blocks_[i]);
      head_ = blocks_.size() << store_->shift_;
      store_->num_words_ -= num_words;
      num_words = 0;
    }

   private:
    friend class word_store;
    const Word* at(size_t i) const {
      return store_->words() + (size_t{blocks_[i >> store_->shift_]} << store_->shift_) +
             (i & (store_->block_words_ - 1));
    }
    word_store* store_ = nullptr;
    std::vector<uint32_t> blocks_;  // also those that were used up
    size_t head_ = 0;               // the first word that is left, counted from the first block
  };

  // `block_words`: a power of two.
  word_store(size_t num_blocks, size_t block_words)
      : block_words_(block_words),
        shift_(static_cast<unsigned>(std::countr_zero(block_words))),
        num_blocks_(num_blocks),
        buffer_(num_blocks * block_words * sizeof(Word)) {
    free_.reserve(num_blocks);
    for (size_t i = num_blocks; i-- > 0;) free_.push_back(static_cast<uint32_t>(i));
  }

  size_t num_words() const { return num_words_; }  // of all sequences
  size_t num_free_blocks() const { return free_.size(); }
  // Whether so many words fit, as two sequences at most.
  bool has_room(size_t num_words) const { return free_.size() >= num_words / block_words_ + 2; }

  // Only if has_room().
  sequence store(std::span<const Word> words) {
    sequence out;
    out.store_ = this;
    out.num_words = words.size();
    num_words_ += words.size();
    out.blocks_.reserve((words.size() + block_words_ - 1) >> shift_);
    while (!words.empty()) {
      FLOWRUN_CHECK(!free_.empty());
      const uint32_t block = free_.back();
      free_.pop_back();
      out.blocks_.push_back(block);
      const size_t count = std::min(words.size(), block_words_);
      std::memcpy(this->words() + (size_t{block} << shift_), words.data(), count * sizeof(Word));
      words = words.subspan(count);
    }
    return out;
  }

  // Where a sequence lies in the buffer that compact() gives away.
  struct extent {
    uint64_t first = 0;  // word
    uint64_t num_words = 0;
  };
  // Gives the buffer away with what is left of `sequences`, moved to its front, each in one piece, one behind the
  // other; the rest of its pages goes back to the system. `extents` must be empty. The store is of no use afterwards.
  aligned_buffer compact(const std::vector<sequence>& sequences, std::vector<extent>& extents) {
    std::vector<uint32_t> order;  // the blocks in use, as they shall lie
    for (const sequence& s : sequences) {
      if (s.num_words == 0) continue;
      extents.push_back({(order.size() << shift_) + (s.head_ & (block_words_ - 1)), s.num_words});
      order.insert(order.end(), s.blocks_.begin() + static_cast<std::ptrdiff_t>(s.head_ >> shift_), s.blocks_.end());
    }
    // Blocks are swapped into place one by one. at[i]: the block that lies in place i. place[b]: where block b lies.
    std::vector<uint32_t> at(num_blocks_);
    for (size_t i = 0; i < num_blocks_; ++i) at[i] = static_cast<uint32_t>(i);
    std::vector<uint32_t> place = at;
    for (size_t i = 0; i < order.size(); ++i) {
      const size_t from = place[order[i]];
      if (from == i) continue;
      std::swap_ranges(block(i), block(i) + block_words_, block(from));
      std::swap(at[i], at[from]);
      place[at[i]] = static_cast<uint32_t>(i);
      place[at[from]] = static_cast<uint32_t>(from);
    }
    // Each block in its place, the gaps where sequences begin and end are closed.
    size_t end = 0;
    for (extent& e : extents) {
      std::memmove(words() + end, words() + e.first, e.num_words * sizeof(Word));
      e.first = std::exchange(end, end + e.num_words);
    }
    buffer_.discard_from(end * sizeof(Word));
    return std::move(buffer_);
  }

 private:
  Word* words() { return reinterpret_cast<Word*>(buffer_.data()); }
  Word* block(size_t i) { return words() + (i << shift_); }

  const size_t block_words_;
  const unsigned shift_;
  const size_t num_blocks_;
  aligned_buffer buffer_;
  std::vector<uint32_t> free_;
  size_t num_words_ = 0;
};

}  // namespace flowrun::kernels
