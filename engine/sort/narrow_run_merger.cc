// The merger of rows that are sorted as numbers.

#include <algorithm>
#include <numeric>
#include <optional>

#include "engine/base/error.h"
#include "engine/kernels/word_sort.h"
#include "engine/runs/run_writer.h"
#include "engine/sort/merge_plan.h"
#include "engine/sort/run_merger_kinds.h"
#include "engine/sort/slice_merger.h"

namespace flowrun::sort {

namespace {

// One intermediate merge: slices are put in order and written as a new run. Where rows combine, the last word of a
// slice waits for the next slice, where its key may go on.
template <class Word>
class narrow_intermediate_merge {
 public:
  narrow_intermediate_merge(std::vector<runs::run> runs, const record::row_codec& codec,
                            const sort_resources& resources, const merger_memory& memory, uint32_t block_bytes,
                            const sort_settings& settings)
      : codec_(codec),
        combiner_(settings.combiner.get(), codec),
        unique_(settings.unique),
        merger_(std::move(runs), {}, codec, resources, memory),
        writer_(*resources.blocks, block_bytes, memory.write_buffers, resources.coding),
        per_block_(writer_.payload_bytes() / codec.row_bytes()) {
    writer_.begin_run();
  }

  // One slice on; done once the new run is on the disks.
  outcome advance(waker& w) {
    if (slice_.num_rows == 0 && !drained_) {
      const outcome s = merger_.next(slice_, w);
      if (s.is_blocked()) return s;
      drained_ = s.is_done();
      if (!drained_)
        prepare();
      else if (held_)
        show({*std::exchange(held_, {})});
    }
    while (slice_.num_rows > 0 || (drained_ && filled_ > 0)) {
      std::byte* payload = writer_.payload(&w);
      if (payload == nullptr) return outcome::blocked();
      if (slice_.num_rows > 0) {
        const auto* words = reinterpret_cast<const Word*>(slice_.rows);
        const size_t count = std::min(slice_.num_rows, per_block_ - filled_);
        if (filled_ == 0) first_ = words[0];
        codec_.pack(words, count, payload + filled_ * codec_.row_bytes());
        filled_ += count;
        slice_ = slice_.slice(count, slice_.num_rows - count);
      }
      if (filled_ == per_block_ || drained_) {
        writer_.submit(static_cast<uint32_t>(filled_), static_cast<uint32_t>(filled_ * codec_.row_bytes()), 0, first_);
        filled_ = 0;
      }
    }
    if (!drained_) return outcome::ready();
    return writer_.flush(&w);
  }
  runs::run take() { return std::move(writer_.take().front()); }

 private:
  void prepare() {
    auto* words = reinterpret_cast<Word*>(const_cast<std::byte*>(slice_.rows));  // the slice is ours alone
    if (parts_of<Word>(slice_).size() > 1) kernels::sort_words(words, slice_.num_rows);
    if (combiner_.works()) return combine(words, slice_.num_rows);
    if (!unique_) return;
    slice_.num_rows = static_cast<size_t>(std::unique(words, words + slice_.num_rows) - words);
    const Word last = words[slice_.num_rows - 1];
    if (last_ == words[0]) slice_ = slice_.slice(1, slice_.num_rows - 1);
    last_ = last;
  }

  void combine(const Word* words, size_t num_words) {
    std::vector<Word> all;
    all.reserve(num_words + 1);
    if (held_) all.push_back(*held_);
    all.insert(all.end(), words, words + num_words);
    all.resize(combiner_.combine(all.data(), all.size()));
    held_ = all.back();
    all.pop_back();
    show(std::move(all));
  }

  // To be written next.
  void show(std::vector<Word> words) {
    auto owner = std::make_shared<std::vector<Word>>(std::move(words));
    slice_ = {};
    slice_.rows = reinterpret_cast<const std::byte*>(owner->data());
    slice_.num_rows = owner->size();
    slice_.row_bytes = sizeof(Word);
    slice_.owner = std::move(owner);
  }

  const record::row_codec& codec_;
  const word_combiner<Word> combiner_;
  const bool unique_;
  slice_merger<Word> merger_;
  runs::run_writer writer_;
  const size_t per_block_;
  record::batch slice_;
  bool drained_ = false;
  size_t filled_ = 0;
  Word first_ = 0;
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
      memory_.slice_bytes = merger_slice_bytes(resources);
      return;
    }
    memory_ = divide_merger_memory(resources, resources.block_bytes);
    std::vector<uint64_t> sizes;
    for (const runs::run& r : runs_.runs) sizes.push_back(r.num_rows);
    steps_ = plan_merges(sizes, memory_.fan_in);
    passes_ = sort::merge_passes(sizes.size(), steps_);
    fan_in_ = std::min<uint64_t>(sizes.size(), memory_.fan_in) + runs_.in_memory.size();
  }

  outcome pull(std::vector<record::batch>& out, waker& w) override {
    if (settings_.limit > 0 && !settings_.unique && emitted_ >= settings_.limit) return outcome::done();
    if (sorted_) return runs_.in_memory.empty() ? outcome::done() : pull_memory(out);
    if (next_step_ < steps_.size()) return reduce(w);
    if (!merger_)
      merger_.emplace(std::exchange(runs_.runs, {}), std::exchange(runs_.in_memory, {}), codec_, resources_, memory_);
    record::batch slice;
    const outcome s = merger_->next(slice, w);
    if (s.is_ready()) {
      emitted_ += slice.num_rows;
      out.push_back(std::move(slice));
    }
    return s;
  }

  void refine(const record::batch& raw, std::vector<record::batch>& out) const override {
    auto* words = reinterpret_cast<Word*>(const_cast<std::byte*>(raw.rows));  // a slice belongs to this call alone
    size_t num_words = raw.num_rows;
    if (!sorted_) {
      if (parts_of<Word>(raw).size() > 1) kernels::sort_words(words, num_words);
      if (settings_.unique) num_words = static_cast<size_t>(std::unique(words, words + num_words) - words);
    }
    for (size_t first = 0; first < num_words; first += batch_rows_) {
      const size_t count = std::min(batch_rows_, num_words - first);
      if (codec_.is_identity()) {  // the words are the rows
        out.push_back(raw.slice(first, count));
        continue;
      }
      std::shared_ptr<std::byte[]> rows = resources_.pool->take(count * codec_.row_bytes());
      codec_.decode(words + first, count, rows.get());
      out.push_back(batch_of(std::move(rows), count));
    }
  }

  uint64_t fan_in() const override { return fan_in_; }
  uint64_t merge_passes() const override { return passes_; }

 private:
  record::batch batch_of(std::shared_ptr<std::byte[]> rows, size_t num_rows) const {
    record::batch b;
    b.rows = rows.get();
    b.num_rows = num_rows;
    b.row_bytes = codec_.row_bytes();
    b.owner = std::move(rows);
    return b;
  }

  outcome pull_memory(std::vector<record::batch>& out) {
    const runs::memory_run& memory = *runs_.in_memory.front();
    const size_t count = std::min<size_t>(batch_rows_ * 4, memory.num_rows - emitted_);
    if (count == 0) return outcome::done();
    record::batch part;
    part.rows = memory.rows.data() + emitted_ * sizeof(Word);
    part.num_rows = count;
    part.row_bytes = sizeof(Word);
    part.owner = runs_.in_memory.front();
    emitted_ += count;
    out.push_back(std::move(part));
    return outcome::ready();
  }

  // Carries out the intermediate merges, a slice a call.
  outcome reduce(waker& w) {
    const merge_step& plan = steps_[next_step_];
    const auto first = runs_.runs.begin() + static_cast<std::ptrdiff_t>(plan.first);
    const auto last = first + static_cast<std::ptrdiff_t>(plan.count);
    if (!intermediate_)
      intermediate_.emplace(std::vector<runs::run>(std::make_move_iterator(first), std::make_move_iterator(last)),
                            codec_, resources_, memory_, resources_.block_bytes, settings_);
    const outcome s = intermediate_->advance(w);
    if (!s.is_done()) return s;
    *first = intermediate_->take();
    runs_.runs.erase(first + 1, last);
    intermediate_.reset();
    ++next_step_;
    return outcome::ready();
  }

  const sort_settings settings_;
  const sort_resources resources_;
  const record::row_codec codec_;
  runs::sorted_runs runs_;
  const size_t batch_rows_;
  merger_memory memory_;
  std::vector<merge_step> steps_;
  size_t next_step_ = 0;
  uint64_t fan_in_ = 0;
  uint64_t passes_ = 0;
  bool sorted_ = false;  // all from memory, in one part: sorted and unique already
  uint64_t emitted_ = 0;
  std::optional<narrow_intermediate_merge<Word>> intermediate_;
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
