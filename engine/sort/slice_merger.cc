#include "engine/sort/slice_merger.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>

#include "engine/kernels/slice_cut.h"

namespace flowrun::sort {

namespace {

bool less_first_word(const runs::run& a, uint32_t i, const runs::run& b, uint32_t j) {
  return a.blocks.first(i) < b.blocks.first(j);
}

}  // namespace

template <class Word>
slice_merger<Word>::slice_merger(std::vector<runs::run> runs, const runs::memory_runs& in_memory,
                                 const record::row_codec& codec, const sort_resources& resources,
                                 const merger_memory& memory)
    : codec_(codec),
      resources_(resources),
      slice_words_(std::max<size_t>(memory.slice_bytes / sizeof(Word), 64)),
      fronts_(*resources.blocks, std::move(runs), less_first_word, memory.reading()) {
  for (const std::shared_ptr<const runs::memory_run>& kept : in_memory)
    for (const runs::memory_run::part& part : kept->parts)
      if (part.num_words > 0)
        fronts_.add({kept->rows.data() + part.first * sizeof(Word), part.num_words, sizeof(Word), kept});
}

template <class Word>
size_t slice_merger<Word>::measure() {
  // A run with more than `stride` words bounds the slice there, so that this has about slice_words_ words; a run whose
  // next segment is loaded, too, bounds it at the end of the first.
  const size_t stride = std::max<size_t>(slice_words_ / std::max<size_t>(fronts_.num_active(), 1), 16);
  const uint32_t row_bytes = codec_.row_bytes();
  counts_.clear();
  for (size_t i = 0; i < fronts_.num_active(); ++i) counts_.push_back(std::min(stride, fronts_.front(i).num_words));
  std::optional<Word> bound;
  if (const runs::predicted_block* const next = fronts_.upcoming())
    bound = static_cast<Word>(fronts_.runs()[next->run].blocks.first(next->block));
  kernels::cut_at_splitter(
      counts_, bound, [&](size_t i, size_t j) { return word(fronts_.front(i), j, row_bytes); },
      [](Word a, Word b) { return b < a; },
      [&](size_t i) { return fronts_.front(i).num_words < stride && !fronts_.goes_on(i); });
  return std::accumulate(counts_.begin(), counts_.end(), size_t{0});
}

template <class Word>
void slice_merger<Word>::take(size_t num_words, word_slice<Word>& slice) {
  slice.words = std::reinterpret_pointer_cast<Word[]>(resources_.pool->take(num_words * sizeof(Word)));
  slice.ends.clear();
  Word* to = slice.words.get();
  for (size_t i = fronts_.num_active(); i-- > 0;) {
    if (counts_[i] == 0) continue;
    segment& front = fronts_.front(i);
    if (front.word_bytes == sizeof(Word)) {
      std::memcpy(to, front.at, counts_[i] * sizeof(Word));
    } else {
      codec_.unpack(front.at, counts_[i], to);
    }
    to += counts_[i];
    slice.ends.push_back(static_cast<size_t>(to - slice.words.get()));
    fronts_.took(i, counts_[i]);
    front.at += counts_[i] * front.word_bytes;
    front.num_words -= counts_[i];
    if (front.num_words == 0) fronts_.drop_front(i);
  }
}

template <class Word>
outcome slice_merger<Word>::next(word_slice<Word>& slice, waker& w) {
  const auto segment_of = [this](block::prefetched_block block, uint32_t, uint32_t before) {
    const size_t word_bytes = codec_.row_bytes();
    return segment{block.payload() + before * word_bytes, block.header().num_rows - before, word_bytes, block.owner()};
  };
  for (;;) {
    const outcome loaded = fronts_.load(segment_of, w);
    if (fronts_.num_active() == 0 && loaded.is_done()) return loaded;
    if (const size_t num_words = measure(); num_words > 0) {
      take(num_words, slice);
      return outcome::ready();
    }
    if (loaded.is_blocked()) return loaded;
    // All that is loaded lies above the next block's first word: it must be loaded.
  }
}

template class slice_merger<uint64_t>;
template class slice_merger<record::word128>;

}  // namespace flowrun::sort
