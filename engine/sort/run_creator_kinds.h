#pragma once

#include <memory>

#include "engine/sort/run_creator.h"

namespace flowrun::sort {

// The implementations behind make_run_creator().
std::unique_ptr<run_creator> make_narrow_run_creator(const sort_settings& settings, const sort_resources& resources);
std::unique_ptr<run_creator> make_long_run_creator(const sort_settings& settings, const sort_resources& resources);
std::unique_ptr<run_creator> make_wide_run_creator(const sort_settings& settings, const sort_resources& resources);

// How the creator of long runs divides the run buffer: two bags, a slice, and the blocks of Q and Q', which are about
// 19/20 of both halves.
struct long_run_memory {
  uint64_t bag_bytes = 0;
  uint64_t slice_bytes = 0;
  uint64_t block_bytes = 0;  // a power of two
  uint64_t num_blocks = 0;
};
long_run_memory divide_long_run_memory(const sizes::creator_sizes& creating);

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
