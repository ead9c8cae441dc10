// The merger of rows that are sorted as numbers.

#include <algorithm>
#include <numeric>
#include <optional>

#include "engine/base/error.h"
#include "engine/kernels/word_sort.h"
#include "engine/runs/run_writer.h"
#include "engine/runs/word_writer.h"
#include "engine/sort/intermediate_merges.h"
#include "engine/sort/run_merger_kinds.h"
#include "engine/sort/slice_merger.h"

namespace flowrun::sort {

namespace {

// One intermediate merge: slices are put in order and written as a new run. Where rows combine, the last word of a
// slice waits for the next slice, where its key may go on.
template <class Word>
class narrow_intermediate_merge final : public intermediate_merge {
 public:
  narrow_intermediate_merge(std::vector<runs::run> runs, const record::row_codec& codec,
                            const sort_resources& resources, const merger_memory& memory, uint32_t block_bytes,
                            const sort_settings& settings)
      : combiner_(settings.combiner.get(), codec),
        unique_(settings.unique),
        merger_(std::move(runs), {}, codec, resources, memory),
        writer_(*resources.blocks, block_bytes, memory.write_buffers, resources.coding),
        words_(writer_, codec) {
    writer_.begin_run();
  }

  // One slice on; done once the new run is on the disks.
  outcome advance(waker& w) override {
    if (left_.empty() && !drained_) {
      const outcome s = merger_.next(slice_, w);
      if (s.is_blocked()) return s;
      drained_ = s.is_done();
      if (!drained_)
        left_ = in_order(slice_);
      else if (held_)
        left_ = {&*held_, 1};
    }
    if (const outcome o = words_.append(left_, w); o.is_blocked()) return o;
    if (!drained_) return outcome::ready();
    words_.end_block();
    return writer_.flush(&w);
  }
  runs::run take() override { return std::move(writer_.take().front()); }

 private:
  std::span<const Word> in_order(const word_slice<Word>& slice) {
    std::span<Word> words = slice.all();
    if (slice.ends.size() > 1) kernels::sort_words(words.data(), words.size());
    if (combiner_.works()) return combine(words);
    if (!unique_) return words;
    words = words.first(static_cast<size_t>(std::unique(words.begin(), words.end()) - words.begin()));
    const bool repeats = last_ == words.front();
    last_ = words.back();
    return repeats ? words.subspan(1) : words;
  }

  std::span<const Word> combine(std::span<const Word> words) {
    combined_.clear();
    combined_.reserve(words.size() + 1);
    if (held_) combined_.push_back(*held_);
    combined_.insert(combined_.end(), words.begin(), words.end());
    combined_.resize(combiner_.combine(combined_.data(), combined_.size()));
    held_ = combined_.back();
    combined_.pop_back();
    return combined_;
  }

  const word_combiner<Word> combiner_;
  const bool unique_;
  slice_merger<Word> merger_;
  runs::run_writer writer_;
  runs::word_writer<Word> words_;
  word_slice<Word> slice_;
  std::vector<Word> combined_;  // of the slice, with what was held before
  std::span<const Word> left_;  // of these, to be written
  bool drained_ = false;
  std::optional<Word> last_;
  std::optional<Word> held_;  // combined so far
};

template <class Word>
class narrow_run_merger final : public run_merger {
 public:
  narrow_run_merger(const sort_settings& settings, const sort_resources& resources, runs::sorted_runs runs,
                    size_t batch_bytes)
      : settings_(settings),
        resources_(resources),
        codec_(settings.type, settings.key),
        runs_(std::move(runs)),
        batch_rows_(record::shape_for(settings_.type, batch_bytes).max_rows) {
    sorted_ = runs_.runs.empty() && runs::num_parts(runs_.in_memory) <= 1;
    if (runs_.runs.empty()) {
      memory_.slice_bytes = resources.merging.slice_bytes;
      return;
    }
    memory_ = memory_of(resources);
    std::vector<uint64_t> sizes;
    for (const runs::run& r : runs_.runs) sizes.push_back(r.num_rows);
    const auto begin = [this](std::vector<runs::run> merged) {
      return std::make_unique<narrow_intermediate_merge<Word>>(std::move(merged), codec_, resources_, memory_,
                                                               memory_.block_bytes, settings_);
    };
    first_merges_.emplace(sizes, memory_.fan_in, begin, resources_.merged);
    fan_in_ = std::min<uint64_t>(sizes.size(), memory_.fan_in) + runs_.in_memory.size();
  }

  outcome pull(std::vector<merge_part>& out, waker& w) override {
    if (settings_.limit > 0 && !settings_.unique && emitted_ >= settings_.limit) return outcome::done();
    if (sorted_) return runs_.in_memory.empty() ? outcome::done() : pull_memory(out);
    if (first_merges_ && !first_merges_->done()) return first_merges_->advance(runs_.runs, w);
    if (!merger_)
      merger_.emplace(std::exchange(runs_.runs, {}), std::exchange(runs_.in_memory, {}), codec_, resources_, memory_);
    word_slice<Word> slice;
    const outcome s = merger_->next(slice, w);
    if (s.is_ready()) {
      emitted_ += slice.all().size();
      out.push_back(std::move(slice));
    }
    return s;
  }

  void refine(const merge_part& part, std::vector<record::batch>& out) const override {
    if (const auto* const sorted = std::get_if<owned_words<Word>>(&part))
      return give(sorted->words, sorted->owner, out);
    const auto& slice = std::get<word_slice<Word>>(part);
    std::span<Word> words = slice.all();
    if (slice.ends.size() > 1) kernels::sort_words(words.data(), words.size());
    if (settings_.unique)
      words = words.first(static_cast<size_t>(std::unique(words.begin(), words.end()) - words.begin()));
    give(words, slice.words, out);
  }

  runs::merge_position position() const override { return merger_ ? merger_->position() : runs::merge_position(); }
  uint64_t fan_in() const override { return fan_in_; }
  uint64_t merge_passes() const override { return first_merges_ ? first_merges_->passes() : 0; }

 private:
  // Appends the words to `out` as rows.
  void give(std::span<const Word> words, const std::shared_ptr<const void>& owner,
            std::vector<record::batch>& out) const {
    for (; !words.empty(); words = words.subspan(std::min(batch_rows_, words.size()))) {
      record::batch& b = out.emplace_back();
      b.num_rows = std::min(batch_rows_, words.size());
      b.row_bytes = codec_.row_bytes();
      if (codec_.is_identity()) {  // the words are the rows
        b.rows = reinterpret_cast<const std::byte*>(words.data());
        b.owner = owner;
      } else {
        std::shared_ptr<std::byte[]> rows = resources_.pool->take(b.num_rows * codec_.row_bytes());
        codec_.decode(words.data(), b.num_rows, rows.get());
        b.rows = rows.get();
        b.owner = std::move(rows);
      }
    }
  }

  outcome pull_memory(std::vector<merge_part>& out) {
    const std::shared_ptr<const runs::memory_run>& kept = runs_.in_memory.front();
    const size_t count = std::min<size_t>(batch_rows_ * 4, kept->num_rows - emitted_);
    if (count == 0) return outcome::done();
    const auto* const words = reinterpret_cast<const Word*>(kept->rows.data());
    out.push_back(owned_words<Word>{{words + emitted_, count}, kept});
    emitted_ += count;
    return outcome::ready();
  }

  const sort_settings settings_;
  const sort_resources resources_;
  const record::row_codec codec_;
  runs::sorted_runs runs_;
  const size_t batch_rows_;
  merger_memory memory_;
  uint64_t fan_in_ = 0;
  bool sorted_ = false;  // all from memory, in one part: sorted and unique already
  uint64_t emitted_ = 0;
  std::optional<intermediate_merges> first_merges_;  // where there are runs
  std::optional<slice_merger<Word>> merger_;
};

}  // namespace

std::unique_ptr<run_merger> make_narrow_run_merger(const sort_settings& settings, const sort_resources& resources,
                                                   runs::sorted_runs runs, size_t batch_bytes) {
  if (settings.type.row_bytes() <= sizeof(uint64_t))
    return std::make_unique<narrow_run_merger<uint64_t>>(settings, resources, std::move(runs), batch_bytes);
  return std::make_unique<narrow_run_merger<record::word128>>(settings, resources, std::move(runs), batch_bytes);
}

}  // namespace flowrun::sort
