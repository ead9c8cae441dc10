#include "engine/sort/row_stretch.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "engine/base/error.h"
#include "engine/kernels/tie_breaker.h"
#include "engine/kernels/word_sort.h"
#include "engine/sizes/sorted_row.h"

namespace flowrun::sort {

namespace {

using record::row_place;
using record::word128;

constexpr uint32_t row_number_bits = 32;
constexpr size_t prefetch_distance = 16;

}  // namespace

stretch_rules::stretch_rules(const sort_settings& s, uint64_t bytes_of_arena, size_t pieces_at_most)
    : settings(s),
      rows(s.type, s.key),
      comparator(s.type, s.key),
      prefix(s.type, s.key),
      words(s.type, s.key),
      arena_bytes(std::min(bytes_of_arena, sizes::longest_stretch)),
      max_rows(std::min<uint64_t>(arena_bytes / (s.type.row_bytes() + sizeof(word128)),
                                  std::numeric_limits<uint32_t>::max())),
      most_pieces(pieces_at_most) {}

row_stretch::row_stretch(const stretch_rules& rules, const task_poster& post)
    : rules_(rules), arena_bytes_(rules.arena_bytes), heap_end_(rules.arena_bytes) {
  for (size_t i = 0; i < rules.most_pieces; ++i) sorting_.emplace_back(post);
}

void row_stretch::shutdown() {
  for (background_work& work : sorting_) work.shutdown();
}

uint64_t row_stretch::held_bytes() const {
  return rows_bytes_ + num_rows_ * sizeof(word128) + (arena_bytes_ - heap_end_);
}

void row_stretch::clear() {
  num_rows_ = rows_bytes_ = longest_row_ = num_in_pieces_ = 0;
  piece_from_ = 0;
  heap_end_ = arena_bytes_;
  pieces_.clear();
}

void row_stretch::give_back() {
  FLOWRUN_CHECK(num_rows_ == 0);
  arena_.discard_from(0);
  entries_.discard_from(0);
  touched_rows_ = touched_strings_ = touched_entries_ = 0;
}

void row_stretch::take_room(const stretch_room& room) {
  if (num_rows_ > 0 || room.num_bytes == arena_bytes_) return;
  give_back();
  arena_bytes_ = heap_end_ = room.num_bytes;
  if (arena_bytes_ > arena_.num_bytes()) arena_ = aligned_buffer(arena_bytes_);
}

// Rows of another length than those before lie elsewhere. What only those needed goes back to the system.
void row_stretch::give_back_pages() {
  touched_rows_ = std::max(touched_rows_, rows_bytes_);
  touched_strings_ = std::max(touched_strings_, arena_bytes_ - heap_end_);
  touched_entries_ = std::max(touched_entries_, num_rows_ * sizeof(word128));
  if (touched_rows_ + touched_strings_ + touched_entries_ <= arena_bytes_ + arena_bytes_ / 16) return;
  entries_.discard_from(num_rows_ * sizeof(word128));
  if (rows_bytes_ < heap_end_) arena_.discard(rows_bytes_, heap_end_ - rows_bytes_);
  touched_rows_ = rows_bytes_;
  touched_strings_ = arena_bytes_ - heap_end_;
  touched_entries_ = num_rows_ * sizeof(word128);
}

size_t row_stretch::fill(const record::batch& in, const stretch_room& room) {
  if (!arena_) {
    arena_ = aligned_buffer(rules_.arena_bytes);
    entries_ = aligned_buffer((rules_.max_rows + 1) * sizeof(word128));
  }
  take_room(room);
  const kernels::wide_rows& rows = rules_.rows;
  const uint32_t row_bytes = rows.row_bytes();
  size_t count = 0;
  if (!rows.has_strings()) {
    count = std::min<size_t>(in.num_rows, rules_.max_rows - num_rows_);
    if (count > 0) std::memcpy(arena_.data() + rows_bytes_, in.rows, count * row_bytes);
    rows_bytes_ += count * row_bytes;
    longest_row_ = row_bytes;
  } else {
    for (; count < in.num_rows && num_rows_ + count < rules_.max_rows; ++count) {
      const std::byte* from = in.row(count);
      const size_t strings_bytes = rows.heap_bytes(from);
      const size_t front = rows_bytes_ + row_bytes + (num_rows_ + count + 1) * sizeof(word128);
      if (front + strings_bytes + (arena_bytes_ - heap_end_) > arena_bytes_) break;
      if (row_bytes + strings_bytes > room.longest_row) break;
      heap_end_ = rows.place(from, in.heap, arena_.data(), arena_.data() + rows_bytes_, heap_end_);
      rows_bytes_ += row_bytes;
      longest_row_ = std::max(longest_row_, row_bytes + strings_bytes);
    }
  }
  word128* entry = entries() + num_rows_;
  rules_.prefix(row(num_rows_), count, row_bytes, arena_.data(), entry);
  for (size_t i = 0; i < count; ++i) entry[i] = (entry[i] >> row_number_bits << row_number_bits) | (num_rows_ + i);
  num_rows_ += count;
  give_back_pages();
  return count;
}

void row_stretch::sort_rest() {
  if (num_rows_ == num_in_pieces_) return;
  pieces_.push_back({num_in_pieces_, num_rows_ - num_in_pieces_, 0});
  num_in_pieces_ = num_rows_;
  piece_from_ = held_bytes();
  piece& rest = pieces_.back();
  sorting_[pieces_.size() - 1].start([this, &rest](waker&) {
    sort(rest);
    return outcome::done();
  });
}

outcome row_stretch::sorted(waker& w) {
  for (background_work& work : sorting_)
    if (const outcome o = work.idle(&w); o.is_blocked()) return o;
  return outcome::ready();
}

void row_stretch::sort(piece& p) {
  const sort_settings& settings = rules_.settings;
  word128* first = entries() + p.first;
  p.num_entries = p.num_rows;
  kernels::sort_words(first, p.num_rows);
  if (!rules_.prefix.whole_in_12()) {
    auto row = [this](uint32_t number) { return place(number); };
    kernels::tie_breaker(rules_.words, row)(first, p.num_rows);
  }
  if (settings.unique) {
    auto equal = [this](word128 a, word128 b) { return have_equal_keys(a, b); };
    p.num_entries = static_cast<size_t>(std::unique(first, first + p.num_rows, equal) - first);
  }
  if (settings.combiner) p.num_entries = combine(first, p.num_rows);
  if (settings.limit > 0) p.num_entries = std::min<size_t>(p.num_entries, settings.limit);
}

bool row_stretch::have_equal_keys(word128 a, word128 b) const {
  return a >> row_number_bits == b >> row_number_bits && rules_.compare(place(a), place(b)) == 0;
}

// Adds the rows of each key to its first one; returns how many entries are left.
size_t row_stretch::combine(word128* entries, size_t num_entries) {
  size_t last = 0;
  for (size_t i = 1; i < num_entries; ++i) {
    if (i + prefetch_distance < num_entries) __builtin_prefetch(place(entries[i + prefetch_distance]).row);
    if (have_equal_keys(entries[last], entries[i])) {
      std::byte* into = arena_.data() + (place(entries[last]).row - arena_.data());
      rules_.settings.combiner->add(into, place(entries[i]).row);
    } else {
      entries[++last] = entries[i];
    }
  }
  return last + 1;
}

// Pieces of which each goes on where the one before ends, in key and in place, become one.
void row_stretch::join() {
  const bool once_each = rules_.settings.unique || rules_.settings.combiner;
  std::deque<piece> joined;
  for (const piece& p : pieces_) {
    const bool adjacent = !joined.empty() && joined.back().first + joined.back().num_entries == p.first;
    const int order = adjacent ? rules_.compare(place(entries()[p.first - 1]), place(entries()[p.first])) : 1;
    if (order < 0 || (order == 0 && !once_each)) {
      joined.back().num_rows += p.num_rows;
      joined.back().num_entries += p.num_entries;
    } else {
      joined.push_back(p);
    }
  }
  pieces_ = std::move(joined);
}

std::vector<kernels::row_span> row_stretch::pieces() {
  join();
  std::vector<kernels::row_span> out;
  for (const piece& p : pieces_)
    out.push_back({{arena_.data(), arena_.data()},
                   entries() + p.first,
                   p.num_entries,
                   rules_.rows.row_bytes(),
                   static_cast<uint32_t>(out.size())});
  return out;
}

std::shared_ptr<const runs::memory_run> row_stretch::keep() {
  join();
  auto kept = std::make_shared<runs::memory_run>();
  for (const piece& p : pieces_) {
    kept->parts.push_back({p.first, p.num_entries});
    kept->num_rows += p.num_entries;
  }
  if (!rules_.rows.has_strings()) arena_.discard_from(rows_bytes_);
  const runs::memory_run::part& last = kept->parts.back();
  entries_.discard_from((last.first + last.num_words) * sizeof(word128));
  kept->rows = std::move(arena_);
  kept->entries = std::move(entries_);
  return kept;
}

}  // namespace flowrun::sort
