#include "engine/sort/slice_merger.h"

#include <algorithm>
#include <cstring>

namespace flowrun::sort {

namespace {

std::vector<runs::predicted_block> predict_words(const std::vector<runs::run>& runs) {
  return runs::predict(runs, [&](const runs::predicted_block& a, const runs::predicted_block& b) {
    return runs[a.run].blocks[a.block].first < runs[b.run].blocks[b.block].first;
  });
}

}  // namespace

template <class Word>
slice_merger<Word>::slice_merger(std::vector<runs::run> runs, const runs::memory_runs& in_memory,
                                 const record::row_codec& codec, const sort_resources& resources,
                                 const merger_memory& memory)
    : codec_(codec),
      resources_(resources),
      runs_(std::move(runs)),
      loaded_(runs_.size()),
      max_loaded_(runs_.size() + memory.lookahead),
      slice_words_(std::max<size_t>(memory.slice_bytes / sizeof(Word), 64)),
      reader_(*resources.blocks, runs_, predict_words(runs_), memory.reading()) {
  for (const std::shared_ptr<const runs::memory_run>& kept : in_memory) {
    for (const runs::memory_run::part& part : kept->parts) {
      if (part.num_words == 0) continue;
      active_.push_back(static_cast<uint32_t>(loaded_.size()));
      loaded_.emplace_back().push_back(
          {kept->rows.data() + part.first * sizeof(Word), part.num_words, sizeof(Word), kept});
    }
  }
}

template <class Word>
void slice_merger<Word>::load(block::prefetched_block block, uint32_t run) {
  if (loaded_[run].empty()) active_.push_back(run);
  loaded_[run].push_back({block.payload(), block.header().num_rows, codec_.row_bytes(), block.owner()});
  ++num_loaded_;
}

// How many of the first `limit` words are not above the splitter.
template <class Word>
size_t slice_merger<Word>::num_words_up_to(const segment& s, size_t limit, Word splitter) const {
  size_t low = 0;
  while (low < limit) {
    const size_t middle = low + (limit - low) / 2;
    if (splitter < word(s, middle)) {
      limit = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

template <class Word>
step slice_merger<Word>::next(word_slice<Word>& slice, waker& w) {
  for (;;) {
    bool waits = false;
    while (!reader_.exhausted() && num_loaded_ < max_loaded_) {
      const uint32_t run = reader_.upcoming().run;
      block::prefetched_block block;
      if (!reader_.next(block, &w).is_ready()) {
        waits = true;
        break;
      }
      load(std::move(block), run);
    }
    if (active_.empty() && !waits) return outcome::done();

    // The splitter: nothing above it may be taken. A run with more than `stride` words bounds it there, so that a slice
    // has about slice_words_ words; a run whose next segment is loaded too bounds it at the end of the first.
    const size_t stride = std::max<size_t>(slice_words_ / std::max<size_t>(active_.size(), 1), 16);
    Word splitter = static_cast<Word>(~Word{0});
    if (!reader_.exhausted())
      splitter = static_cast<Word>(runs_[reader_.upcoming().run].blocks[reader_.upcoming().block].first);
    for (uint32_t r : active_) {
      const segment& front = loaded_[r].front();
      if (front.num_words >= stride) {
        splitter = std::min(splitter, word(front, stride - 1));
      } else if (loaded_[r].size() > 1) {
        splitter = std::min(splitter, word(front, front.num_words - 1));
      }
    }
    size_t total = 0;
    std::vector<size_t> take(active_.size());
    for (size_t i = 0; i < active_.size(); ++i) {
      const segment& front = loaded_[active_[i]].front();
      take[i] = num_words_up_to(front, std::min(stride, front.num_words), splitter);
      total += take[i];
    }
    if (total == 0) {
      if (waits) return outcome::blocked();
      continue;  // all that is loaded lies above the next block's first word: it must be loaded
    }

    slice.words = std::reinterpret_pointer_cast<Word[]>(resources_.pool->take(total * sizeof(Word)));
    slice.ends.clear();
    Word* to = slice.words.get();
    for (size_t i = active_.size(); i-- > 0;) {
      if (take[i] == 0) continue;
      const uint32_t r = active_[i];
      segment& front = loaded_[r].front();
      if (front.word_bytes == sizeof(Word)) {
        std::memcpy(to, front.at, take[i] * sizeof(Word));
      } else {
        codec_.unpack(front.at, take[i], to);
      }
      to += take[i];
      slice.ends.push_back(static_cast<size_t>(to - slice.words.get()));
      front.at += take[i] * front.word_bytes;
      front.num_words -= take[i];
      if (front.num_words > 0) continue;
      loaded_[r].pop_front();
      if (r < runs_.size()) --num_loaded_;
      if (loaded_[r].empty()) active_.erase(active_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    return step::ready;
  }
}

template class slice_merger<uint64_t>;
template class slice_merger<record::word128>;

}  // namespace flowrun::sort
