// Run creation for rows of at most 16 bytes: a row is a number, a run is a sorted array of numbers.

#include <algorithm>
#include <array>
#include <optional>

#include "engine/base/error.h"
#include "engine/sort/background_work.h"
#include "engine/sort/run_creator_kinds.h"
#include "engine/sort/run_writer.h"
#include "engine/sort/word_sort.h"

namespace flowrun::sort {

namespace {

template <class Word>
class narrow_run_creator final : public run_creator {
 public:
  narrow_run_creator(const sort_settings& settings, const sort_resources& resources)
      : settings_(settings),
        resources_(resources),
        codec_(settings.type, settings.key),
        memory_(divide_creator_memory(resources)),
        capacity_(memory_.half_bytes / sizeof(Word)),
        work_(resources.post) {}
  // The writer may wake the work until it is gone, so the work must still be there, if asleep.
  ~narrow_run_creator() override {
    work_.shutdown();
    writer_.reset();
  }

  void prepare(const record::batch& in, std::vector<record::batch>& out) const override {
    if (codec_.is_identity()) return out.push_back(in);
    record::batch words;
    std::shared_ptr<std::byte[]> owner = resources_.pool->take(in.num_rows * sizeof(Word));
    codec_.encode(in.rows, in.num_rows, reinterpret_cast<Word*>(owner.get()));
    words.rows = owner.get();
    words.num_rows = in.num_rows;
    words.row_bytes = sizeof(Word);
    words.owner = std::move(owner);
    out.push_back(std::move(words));
  }

  step push(record::batch& in, waker& w) override {
    for (;;) {
      half& filling = halves_[filling_];
      if (filling.num_words == capacity_) {
        if (!hand_over(w)) return step::blocked;
        continue;
      }
      if (in.num_rows == 0) return step::ready;
      if (!filling.buffer) filling.buffer = aligned_buffer(capacity_ * sizeof(Word));
      const size_t count = std::min(in.num_rows, capacity_ - filling.num_words);
      std::memcpy(filling.words() + filling.num_words, in.rows, count * sizeof(Word));
      filling.num_words += count;
      in = in.slice(count, in.num_rows - count);
    }
  }

  step finish(waker& w) override {
    half& last = halves_[filling_];
    if (!closing_) {
      if (!work_.idle(&w)) return step::blocked;
      closing_ = true;
      const bool may_stay = last.num_words * sizeof(Word) <= resources_.kept_bytes && (last.num_words > 0 || !writer_);
      if (may_stay && !settings_.force_spill) {
        stays_ = true;
        work_.start([this, &last](waker&) {
          order(last);
          return true;
        });
      } else if (last.num_words > 0) {
        start_writing(last);
      }
    }
    if (!work_.idle(&w)) return step::blocked;
    if (writer_ && !writer_->flush(&w)) return step::blocked;
    return step::done;
  }

  sorted_runs take() override {
    sorted_runs out(*resources_.blocks);
    if (writer_) out.runs = writer_->take();
    for (const run& r : out.runs) out.num_rows += r.num_rows;
    if (stays_) {
      half& last = halves_[filling_];
      out.in_memory = std::make_shared<memory_run>();
      last.buffer.discard_from(last.num_words * sizeof(Word));
      out.in_memory->rows = std::move(last.buffer);
      out.in_memory->num_rows = last.num_words;
      out.num_rows += last.num_words;
    }
    halves_ = {};
    writer_.reset();
    return out;
  }

 private:
  struct half {
    aligned_buffer buffer;
    size_t num_words = 0;
    Word* words() { return reinterpret_cast<Word*>(buffer.data()); }
  };

  // Gives the full half to the background and goes on with the other one; false while that one is still being written.
  bool hand_over(waker& w) {
    if (!work_.idle(&w)) return false;
    start_writing(halves_[filling_]);
    filling_ ^= 1U;
    halves_[filling_].num_words = 0;
    return true;
  }

  void start_writing(half& full) {
    if (!writer_) writer_.emplace(*resources_.blocks, resources_.block_bytes, memory_.num_buffers);
    position_ = 0;
    ordered_ = false;
    work_.start([this, &full](waker& w) { return write(full, w); });
  }

  // Sorts, drops what unique and limit make superfluous.
  void order(half& h) {
    if (h.num_words == 0) return;
    Word* words = h.words();
    sort_words(words, h.num_words);
    if (settings_.unique) h.num_words = static_cast<size_t>(std::unique(words, words + h.num_words) - words);
    if (settings_.limit > 0) h.num_words = std::min<size_t>(h.num_words, settings_.limit);
  }

  // A step in the background: true when the whole half is on its way to the disks.
  bool write(half& h, waker& w) {
    Word* words = h.words();
    if (!ordered_) {
      order(h);
      ordered_ = true;
      const bool extends = writer_->has_run() && (settings_.unique ? last_ < words[0] : last_ <= words[0]);
      if (!extends) writer_->begin_run();
      last_ = words[h.num_words - 1];
    }
    const size_t per_block = writer_->payload_bytes() / codec_.row_bytes();
    while (position_ < h.num_words) {
      if (resources_.cancelled && resources_.cancelled()) throw error(error_kind::cancelled, "the sort was cancelled");
      std::byte* payload = writer_->payload(&w);
      if (payload == nullptr) return false;
      const size_t count = std::min(per_block, h.num_words - position_);
      codec_.pack(words + position_, count, payload);
      writer_->submit(static_cast<uint32_t>(count), static_cast<uint32_t>(count * codec_.row_bytes()), 0,
                      words[position_]);
      position_ += count;
    }
    return true;
  }

  const sort_settings settings_;
  const sort_resources resources_;
  const record::row_codec codec_;
  const creator_memory memory_;
  const size_t capacity_;  // words in a half
  std::array<half, 2> halves_;
  unsigned filling_ = 0;
  bool closing_ = false;
  bool stays_ = false;
  // Of the background work; the owner touches them only while that is idle.
  std::optional<run_writer> writer_;
  size_t position_ = 0;
  bool ordered_ = false;
  Word last_ = 0;
  background_work work_;
};

}  // namespace

std::unique_ptr<run_creator> make_narrow_run_creator(const sort_settings& settings, const sort_resources& resources) {
  if (settings.type.row_bytes() <= sizeof(uint64_t))
    return std::make_unique<narrow_run_creator<uint64_t>>(settings, resources);
  return std::make_unique<narrow_run_creator<record::word128>>(settings, resources);
}

}  // namespace flowrun::sort
