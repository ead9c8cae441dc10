#pragma once

#include <memory>

#include "engine/sort/run_creator.h"

namespace flowrun::sort {

// The implementations behind make_run_creator().
std::unique_ptr<run_creator> make_narrow_run_creator(const sort_settings& settings, const sort_resources& resources);
std::unique_ptr<run_creator> make_long_run_creator(const sort_settings& settings, const sort_resources& resources);
std::unique_ptr<run_creator> make_wide_run_creator(const sort_settings& settings, const sort_resources& resources);

// How a creator divides its memory: write buffers, one to fill where blocks are compressed, and two halves of the run
// buffer.
struct creator_memory {
  unsigned num_buffers = 2;
  uint64_t half_bytes = 0;
};
creator_memory divide_creator_memory(const sort_resources& resources);

// How the creator of long runs divides the same memory: two bags, a slice, and the blocks of Q and Q', which are about
// 19/20 of both halves.
struct long_run_memory {
  unsigned num_buffers = 2;
  uint64_t bag_bytes = 0;
  uint64_t slice_bytes = 0;
  uint64_t block_bytes = 0;  // a power of two
  uint64_t num_blocks = 0;
};
long_run_memory divide_long_run_memory(const sort_resources& resources);

// run_creator::prepare() of narrow rows: as words.
template <class Word>
owned_words<Word> prepare_words(const record::row_codec& codec, record::batch_pool& pool, const record::batch& in) {
  if (codec.is_identity()) return {{reinterpret_cast<const Word*>(in.rows), in.num_rows}, in.owner};
  std::shared_ptr<std::byte[]> owner = pool.take(in.num_rows * sizeof(Word));
  auto* const words = reinterpret_cast<Word*>(owner.get());
  codec.encode(in.rows, in.num_rows, words);
  return {{words, in.num_rows}, std::move(owner)};
}

}  // namespace flowrun::sort
