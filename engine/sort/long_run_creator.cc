// Run creation with runs of twice the memory on average, for rows of at most 16 bytes (Asynchronous sorting, section
// 2.1: the cache-efficient reformulation of replacement selection; Knuth, volume 3, 5.4.1).
//
// Q holds what still belongs to the current run, Q' what must wait for the next one, both as ascending sequences in
// small blocks. Input is collected in a bag; a full bag is sorted by SIMD and split at the last word that was written:
//
//              bag, sorted:    3 5 9 | 14 20 21          last written: 12
//                                ▼         ▼
//                           Q' += 3 5 9    Q += 14 20 21
//
// Before that, the smallest words of Q make room for it: what lies below a common splitter is taken from its sequences,
// concatenated and sorted in the cache (slice_cut.h), and written. When Q is empty the run is complete, and Q' becomes
// Q. Random input makes runs of twice what Q and Q' hold together (the first of e - 1 = 1.72 times as much), sorted
// input one run, reversed input runs of once as much.
//
// While one bag fills, the other is sorted and the disks write: sorting and making room are works of their own. How
// much room is made depends on the bags alone, so runs are a function of the input.
//
// What is left at the end stays in memory as far as sort_resources::kept_bytes allows: the smallest words are written
// until the rest fits. Its sequences are merged together with the runs.

#include <algorithm>
#include <array>
#include <optional>

#include "engine/base/background_work.h"
#include "engine/base/error.h"
#include "engine/kernels/slice_cut.h"
#include "engine/kernels/word_sort.h"
#include "engine/kernels/word_store.h"
#include "engine/runs/run_writer.h"
#include "engine/runs/word_writer.h"
#include "engine/sort/run_creator_kinds.h"
#include "engine/sort/word_rules.h"

namespace flowrun::sort {

namespace {

template <class Word>
class long_run_creator final : public run_creator {
 public:
  long_run_creator(const sort_settings& settings, const sort_resources& resources)
      : settings_(settings),
        resources_(resources),
        codec_(settings.type, settings.key),
        rules_(settings_, codec_),
        memory_(divide_long_run_memory(resources.creating)),
        bag_words_(memory_.bag_bytes / sizeof(Word)),
        slice_words_(memory_.slice_bytes / sizeof(Word)),
        making_room_(resources.post) {
    for (bag& b : bags_) b.sorting.emplace(resources.post);
  }
  // Sorting may wake the work that makes room, and so may the writer as long as it lives: what they wake must still be
  // there.
  ~long_run_creator() override {
    for (bag& b : bags_) b.sorting->shutdown();
    making_room_.shutdown();
    words_.reset();
    writer_.reset();
  }

  prepared_rows prepare(const record::batch& in) const override {
    return prepare_words<Word>(codec_, *resources_.pool, in);
  }

  outcome push(prepared_rows& in, waker& w) override {
    std::span<const Word>& left = std::get<owned_words<Word>>(in).words;
    while (!left.empty()) {
      // The bag to be filled has not been emptied yet.
      if (const outcome o = making_room_.at_most(1, &w); o.is_blocked()) return o;
      bag& filling = bags_[filling_];
      if (!filling.buffer) filling.buffer = aligned_buffer(bag_words_ * sizeof(Word));
      const size_t count = std::min(left.size(), bag_words_ - filling.num_filled);
      std::memcpy(filling.words() + filling.num_filled, left.data(), count * sizeof(Word));
      filling.num_filled += count;
      left = left.subspan(count);
      if (filling.num_filled == bag_words_) hand_over(filling);
    }
    return outcome::ready();
  }

  outcome finish(waker& w) override {
    if (!closing_) {
      if (const outcome o = making_room_.at_most(1, &w); o.is_blocked()) return o;
      closing_ = true;
      if (bags_[filling_].num_filled > 0) hand_over(bags_[filling_]);
      making_room_.start([this](waker& work) { return write_the_rest(work); });
    }
    if (const outcome o = making_room_.idle(&w); o.is_blocked()) return o;
    return writer_ ? writer_->flush(&w) : outcome::done();
  }

  runs::sorted_runs take() override {
    runs::sorted_runs out(*resources_.blocks);
    if (writer_) out.runs = writer_->take();
    for (const runs::run& r : out.runs) out.num_rows += r.num_rows;
    for (bag& b : bags_) b.buffer = {};
    slice_buffer_ = {};
    if (stays_) {
      const auto kept = std::make_shared<runs::memory_run>();
      if (store_) {
        std::move(next_.begin(), next_.end(), std::back_inserter(current_));
        std::vector<typename kernels::word_store<Word>::extent> extents;
        kept->rows = store_->compact(current_, extents);
        for (const auto& e : extents) {
          kept->parts.push_back({e.first, e.num_words});
          kept->num_rows += e.num_words;
        }
      }
      out.keep(kept);
    }
    current_.clear();
    next_.clear();
    store_.reset();
    words_.reset();
    writer_.reset();
    return out;
  }

 private:
  using sequence = typename kernels::word_store<Word>::sequence;

  // free -> filling -> being sorted, while room is made -> free.
  struct bag {
    aligned_buffer buffer;
    size_t num_filled = 0;
    size_t num_sorted = 0;  // what unique and combine leave; once sorting is idle
    std::optional<background_work> sorting;
    Word* words() { return reinterpret_cast<Word*>(buffer.data()); }
  };

  void hand_over(bag& full) {
    full.sorting->start([this, &full](waker&) {
      kernels::sort_words(full.words(), full.num_filled);
      full.num_sorted = rules_.reduce(full.words(), full.num_filled, std::nullopt);
      return outcome::done();
    });
    making_room_.start([this, &full](waker& w) { return empty(full, w); });
    filling_ ^= 1U;
  }

  // A step in the background. done: the bag's words are in Q and Q'.
  outcome empty(bag& b, waker& w) {
    if (!store_) store_.emplace(memory_.num_blocks, memory_.block_bytes / sizeof(Word));
    for (;;) {
      if (const outcome o = write_slice(w); o.is_blocked()) return o;
      if (store_->has_room(b.num_filled)) break;
      next_slice();
    }
    if (const outcome o = b.sorting->idle(&w); o.is_blocked()) return o;
    Word* words = b.words();
    const Word* end = words + b.num_sorted;
    const Word* split = words;
    if (last_) split = std::lower_bound<const Word*>(words, end, *last_);
    add(next_, words, split);
    if (last_ && settings_.unique && split < end && *split == *last_) ++split;
    if (rows_left_ > 0) add(current_, split, end);
    b.num_filled = 0;
    return outcome::done();
  }

  void add(std::vector<sequence>& to, const Word* first, const Word* last) {
    if (first < last) to.push_back(store_->store({first, last}));
  }

  // The last step: writes until the rest may stay.
  outcome write_the_rest(waker& w) {
    const uint64_t kept_bytes = settings_.force_spill ? 0 : resources_.kept_bytes;
    for (;;) {
      if (const outcome o = write_slice(w); o.is_blocked()) return o;
      if (!store_ || store_->num_words() * sizeof(Word) <= kept_bytes) break;
      next_slice();
    }
    if (words_) words_->end_block();
    stays_ = !settings_.force_spill && (!writer_ || store_->num_words() > 0);
    return outcome::done();
  }

  // Hands what is left of the slice to the disks. blocked: they are behind.
  outcome write_slice(waker& w) {
    if (resources_.cancelled && resources_.cancelled()) throw error(error_kind::cancelled, "the sort was cancelled");
    return slice_.empty() ? outcome::ready() : words_->append(slice_, w);
  }

  // The smallest words that may follow in the current run, which is complete when there are none.
  void next_slice() {
    if (!writer_) {
      writer_.emplace(*resources_.blocks, resources_.creating.block_bytes, resources_.creating.write_buffers,
                      resources_.coding);
      words_.emplace(*writer_, codec_);
      slice_buffer_ = aligned_buffer(slice_words_ * sizeof(Word));
    }
    if (current_.empty()) {
      std::swap(current_, next_);
      words_->end_block();
      last_.reset();
      rows_left_ = rules_.most_rows();
    }
    auto* words = reinterpret_cast<Word*>(slice_buffer_.data());
    size_t num_words = kernels::cut_slice(current_, slice_words_, words);
    std::erase_if(current_, [](const sequence& s) { return s.num_words == 0; });
    kernels::sort_words(words, num_words);
    num_words = std::min<uint64_t>(rules_.without_repeats(words, num_words, last_), rows_left_);
    if (num_words == 0) return;  // all repeat the last word
    if (!last_) writer_->begin_run();
    last_ = words[num_words - 1];
    slice_ = {words, num_words};
    rows_left_ -= num_words;
    if (rows_left_ > 0) return;
    for (sequence& s : current_) s.clear();
    current_.clear();
  }

  const sort_settings settings_;
  const sort_resources resources_;
  const record::row_codec codec_;
  const word_rules<Word> rules_;
  const long_run_memory memory_;
  const size_t bag_words_;
  const size_t slice_words_;
  std::array<bag, 2> bags_;
  unsigned filling_ = 0;
  bool closing_ = false;
  // Of the work that makes room; the owner touches them only while that is idle.
  std::optional<kernels::word_store<Word>> store_;
  std::vector<sequence> current_;  // Q
  std::vector<sequence> next_;     // Q'
  std::optional<runs::run_writer> writer_;
  std::optional<runs::word_writer<Word>> words_;
  aligned_buffer slice_buffer_;
  std::span<const Word> slice_;              // what is left of it, to be written
  std::optional<Word> last_;                 // word of the current run that was taken from Q; none: it has not begun
  uint64_t rows_left_ = rules_.most_rows();  // that a limit allows the current run
  bool stays_ = false;
  background_work making_room_;
};

}  // namespace

long_run_memory divide_long_run_memory(const sizes::creator_sizes& creating) {
  const uint64_t rows_bytes = 2 * creating.half_bytes;
  long_run_memory memory;
  memory.block_bytes = std::clamp<uint64_t>(std::bit_floor(rows_bytes / 32768), 256, 16 * KiB);
  memory.bag_bytes = round_down(std::max(rows_bytes / 64, 8 * memory.block_bytes), 16);
  memory.slice_bytes = std::min<uint64_t>(memory.bag_bytes, 512 * KiB);
  memory.num_blocks = (rows_bytes - 2 * memory.bag_bytes - memory.slice_bytes) / memory.block_bytes;
  return memory;
}

std::unique_ptr<run_creator> make_long_run_creator(const sort_settings& settings, const sort_resources& resources) {
  if (settings.type.row_bytes() <= sizeof(uint64_t))
    return std::make_unique<long_run_creator<uint64_t>>(settings, resources);
  return std::make_unique<long_run_creator<record::word128>>(settings, resources);
}

}  // namespace flowrun::sort
