#include "engine/sort/conservation.h"

#include <algorithm>
#include <array>

#include "engine/base/error.h"
#include "engine/base/units.h"

namespace flowrun::sort {

namespace {

constexpr size_t rows_at_once = 512;  // whose numbers fit the first cache

// How many of the words are smaller than the one before, without their lowest bits. It counts instead of leaving early,
// so that the loop vectorises; the same code for each set of instructions.
template <class Word>
inline __attribute__((always_inline)) size_t descents_among(const Word* words, size_t count, uint32_t beside) {
  size_t places = 0;
  for (size_t i = 1; i < count; ++i) places += words[i - 1] >> beside > words[i] >> beside ? 1 : 0;
  return places;
}
size_t descents_plain(const uint64_t* words, size_t count, uint32_t beside) {
  return descents_among(words, count, beside);
}
__attribute__((target("avx2"))) size_t descents_avx2(const uint64_t* words, size_t count, uint32_t beside) {
  return descents_among(words, count, beside);
}
__attribute__((target("avx512f,avx512dq,avx512vl"))) size_t descents_avx512(const uint64_t* words, size_t count,
                                                                            uint32_t beside) {
  return descents_among(words, count, beside);
}

count_descents best_descents() {
  if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) return descents_avx512;
  return __builtin_cpu_supports("avx2") ? descents_avx2 : descents_plain;
}

}  // namespace

std::string_view to_string(conservation level) {
  switch (level) {
    case conservation::unknown: return "nothing";
    case conservation::order: return "order";
    case conservation::order_and_bounds: return "order, at most as many rows";
    case conservation::everything: return "order, rows, content";
  }
  return "?";
}

row_order_check::row_order_check(const sort_settings& settings)
    : rows_(settings.type, settings.key),
      fronts_(settings.type, settings.key),
      comparator_(settings.type, settings.key),
      descents_(best_descents()) {
  if (!record::row_codec::fits(settings.type)) return;
  codec_.emplace(settings.type, settings.key);
  bits_beside_key_ = 8 * settings.type.row_bytes() - codec_->key_bits();
}

size_t row_order_check::first_unordered(const record::batch& rows) const {
  if (!codec_) return first_unordered_front(rows);
  return rows.row_bytes <= sizeof(uint64_t) ? first_unordered_word<uint64_t>(rows)
                                            : first_unordered_word<record::word128>(rows);
}

// In chunks, of which neighbours share a row.
template <class Word>
size_t row_order_check::first_unordered_word(const record::batch& rows) const {
  std::array<Word, rows_at_once> buffer;
  for (size_t first = 0; first + 1 < rows.num_rows; first += rows_at_once - 1) {
    const size_t count = std::min(rows_at_once, rows.num_rows - first);
    const Word* words = buffer.data();
    if (codec_->is_identity())
      words = reinterpret_cast<const Word*>(rows.row(first));
    else
      codec_->encode(rows.row(first), count, buffer.data());
    size_t descents = 0;
    if constexpr (sizeof(Word) == sizeof(uint64_t))
      descents = descents_(words, count, bits_beside_key_);
    else
      descents = descents_among(words, count, bits_beside_key_);
    if (descents == 0) continue;
    for (size_t i = 1;; ++i)
      if (words[i - 1] >> bits_beside_key_ > words[i] >> bits_beside_key_) return first + i;
  }
  return rows.num_rows;
}

// By the first bytes of keys, and by the rows where these are equal.
size_t row_order_check::first_unordered_front(const record::batch& rows) const {
  std::vector<uint64_t> fronts;
  for (size_t first = 0; first + 1 < rows.num_rows; first += rows_at_once - 1) {
    const size_t count = std::min(rows_at_once, rows.num_rows - first);
    fronts_.compute(rows.slice(first, count), fronts);
    for (size_t i = 1; i < count; ++i) {
      if (fronts[i - 1] < fronts[i] || (fronts_.exact() && fronts[i - 1] == fronts[i])) continue;
      if (comparator_.compare(rows.row(first + i - 1), rows.heap, rows.row(first + i), rows.heap) > 0) return first + i;
    }
  }
  return rows.num_rows;
}

row_order_check::kept_key row_order_check::key_of(const record::batch& rows, size_t row) const {
  constexpr size_t longest_copy = 64 * KiB;
  if (rows_.key_bytes(rows.row(row)) > longest_copy) return {nullptr, rows.slice(row, 1)};
  std::vector<std::byte> copy;
  rows_.copy_key(rows.row(row), rows.heap, copy);
  return {std::make_shared<const std::vector<std::byte>>(std::move(copy)), {}};
}

record::row_place row_order_check::place_of(const kept_key& key) const {
  return key.copy ? rows_.copied_key(key.copy->data()) : record::row_place{key.row.rows, key.row.heap};
}

bool row_order_check::may_follow(const kept_key& key, const kept_key& next) const {
  const record::row_place before = place_of(key), behind = place_of(next);
  return comparator_.compare(before.row, before.heap, behind.row, behind.heap) <= 0;
}

outflow_check::outflow_check(const sort_settings& settings, std::optional<record::row_tally> taken, std::string node,
                             std::function<void(const conservation_result&)> on_complete)
    : drops_rows_(settings.unique || settings.combiner != nullptr),
      limit_(settings.limit),
      taken_(taken),
      node_(std::move(node)),
      on_complete_(std::move(on_complete)),
      tallier_(settings.type),
      order_(settings) {}

void outflow_check::begin_at(uint64_t first_row, const record::row_tally& given) {
  placed_ = first_row;
  mutex_lock lock(mutex_);
  done_ = first_row;
  given_ = given_before_ = given;
}

record::row_tally outflow_check::given_before(uint64_t first_row) {
  mutex_lock lock(mutex_);
  while (!parts_.empty() && parts_.begin()->first < first_row) {
    given_before_ += parts_.begin()->second;
    parts_.erase(parts_.begin());
  }
  return given_before_;
}

uint64_t outflow_check::place(size_t num_rows) {
  const uint64_t first = placed_;
  placed_ += num_rows;
  return first;
}

void outflow_check::add(uint64_t first_row, size_t num_rows, std::span<const record::batch> rows) {
  look_at_order(first_row, rows);
  record::row_tally tally;
  const record::batch* first = nullptr;
  const record::batch* last = nullptr;
  for (const record::batch& b : rows) {
    tally += tallier_.tally(b);
    if (b.num_rows == 0) continue;
    if (first == nullptr) first = &b;
    last = &b;
  }
  ends_of_part ends;
  if (first != nullptr) ends = {order_.key_of(*first, 0), order_.key_of(*last, last->num_rows - 1)};
  mutex_lock lock(mutex_);
  given_ += tally;
  if (keeps_parts_) parts_[first_row] = tally;
  done_ += num_rows;
  if (first != nullptr) join(first_row, num_rows, std::move(ends));
  complete_if_done();
}

void outflow_check::end() {
  mutex_lock lock(mutex_);
  all_ = placed_;
  complete_if_done();
}

void outflow_check::look_at_order(uint64_t first_row, std::span<const record::batch> rows) const {
  std::optional<kept_key> before;
  for (const record::batch& b : rows) {
    if (b.num_rows == 0) continue;
    if (before && !order_.may_follow(*before, order_.key_of(b, 0))) refuse_order(first_row);
    const size_t unordered = order_.first_unordered(b);
    if (unordered < b.num_rows) refuse_order(first_row + unordered);
    first_row += b.num_rows;
    if (&b != &rows.back()) before = order_.key_of(b, b.num_rows - 1);
  }
}

// The part's ends meet those of its neighbours, as far as these have come.
void outflow_check::join(uint64_t first_row, size_t num_rows, ends_of_part ends) {
  if (const auto before = open_ends_.find(first_row); before != open_ends_.end()) {
    if (!order_.may_follow(before->second, ends.first)) refuse_order(first_row);
    open_ends_.erase(before);
  } else {
    open_starts_.emplace(first_row, std::move(ends.first));
  }
  const uint64_t behind = first_row + num_rows;
  if (const auto next = open_starts_.find(behind); next != open_starts_.end()) {
    if (!order_.may_follow(ends.last, next->second)) refuse_order(behind);
    open_starts_.erase(next);
  } else {
    open_ends_.emplace(behind, std::move(ends.last));
  }
}

void outflow_check::complete_if_done() {
  if (!all_ || done_ != *all_) return;
  const conservation_result result = compare();
  all_.reset();
  if (on_complete_) on_complete_(result);
}

conservation_result outflow_check::compare() const {
  const uint64_t rows_out = given_.num_rows;
  if (!taken_) return {conservation::order, rows_out, rows_out};
  if (drops_rows_ || (limit_ > 0 && limit_ < taken_->num_rows)) {
    compare_bounds(rows_out);
    return {conservation::order_and_bounds, taken_->num_rows, rows_out};
  }
  if (rows_out != taken_->num_rows)
    refuse(fmt::format("it took {} rows and gave {}", format_count(taken_->num_rows), format_count(rows_out)));
  if (given_.sum != taken_->sum)
    refuse(fmt::format("it gave as many rows as it took, {}, but not the same ones", format_count(rows_out)));
  return {conservation::everything, taken_->num_rows, rows_out};
}

void outflow_check::compare_bounds(uint64_t rows_out) const {
  const uint64_t rows_in = taken_->num_rows;
  const uint64_t least = drops_rows_ ? std::min<uint64_t>(rows_in, 1) : std::min(rows_in, limit_);
  if (rows_out >= least && rows_out <= rows_in) return;
  refuse(fmt::format("it took {} rows and gave {}, where {} to {} were expected", format_count(rows_in),
                     format_count(rows_out), format_count(least), format_count(rows_in)));
}

void outflow_check::refuse(const std::string& what) const {
  throw error(
      error_kind::internal,
      fmt::format("{}the sort's result is wrong: {}", node_.empty() ? std::string() : "node '" + node_ + "': ", what),
      "no output was written; run the job again, and if it happens again, test the machine's memory and disks, "
      "and report it");
}

void outflow_check::refuse_order(uint64_t row) const {
  refuse(fmt::format("row {} (from 0) is smaller than the row before", format_count(row)));
}

}  // namespace flowrun::sort
