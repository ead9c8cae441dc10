#include "operators/parts/order/lookup_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/expr/lane.h"
#include "engine/record/value_text.h"
#include "operators/parts/rules/column_copy.h"

namespace flowrun::operators {

namespace {

constexpr uint64_t chunk_bytes = 64 * KiB;
constexpr uint64_t slack_keys = 4096;     // gaps that even a nearly empty array may have
constexpr uint64_t heap_step = 64 * KiB;  // how often the memory is looked at
constexpr size_t ahead = 16;              // lookups whose memory is under way
// What is left of an array while its rows move may take so much beside the table that they move to: each chunk makes
// room when it is done, but the slots for its rows may take more. No more is kept to be used again.
constexpr uint64_t moving_allowance = 16 * MiB;

record::row_type without(const record::row_type& type, size_t column) {
  std::vector<record::column> columns;
  for (size_t i = 0; i < type.num_columns(); ++i)
    if (i != column) columns.push_back(type[i]);
  return record::row_type(std::move(columns));
}

// The largest power of two of rows that a chunk has room for; at least one row.
unsigned chunk_shift(const record::row_type& type) {
  const uint64_t rows = chunk_bytes / std::max<uint32_t>(type.row_bytes(), 1);
  return static_cast<unsigned>(std::bit_width(std::max<uint64_t>(rows, 1))) - 1;
}

record::key key_parts(const std::vector<size_t>& columns) {
  record::key out;
  for (size_t c : columns) out.push_back({.column = c});
  return out;
}

uint64_t hash_bytes(uint64_t h, const std::byte* bytes, size_t num_bytes) {
  for (; num_bytes > 8; bytes += 8, num_bytes -= 8) h = expr::lane::mix(h ^ record::load_unsigned(bytes, 8));
  uint64_t word = 0;
  if (num_bytes > 0) std::memcpy(&word, bytes, num_bytes);
  return expr::lane::mix(h ^ word);
}

}  // namespace

lookup_table::lookup_table(std::string node, std::string input, const record::row_type& type, std::vector<size_t> keys,
                           lookup_kind kind, uint64_t memory_bytes)
    : node_(std::move(node)),
      input_(std::move(input)),
      type_(type),
      stored_(type),
      keys_(std::move(keys)),
      most_bytes_(memory_bytes),
      is_array_(kind == lookup_kind::array ||
                (kind == lookup_kind::automatic && keys_.size() == 1 && type[keys_[0]].type.is_unsigned())),
      may_become_hash_(kind == lookup_kind::automatic) {
  if (is_array_) stored_ = without(type_, keys_[0]);
  compare_ = std::make_shared<record::row_comparator>(type_, key_parts(keys_));
  chunk_shift_ = chunk_shift(stored_);
}

uint64_t lookup_table::memory_bytes() const {
  const auto held = std::count_if(chunks_.begin(), chunks_.end(), [](const auto& c) { return c != nullptr; });
  return static_cast<uint64_t>(held) * bytes_per_chunk() + heap_.size() + present_.capacity() * sizeof(uint64_t) +
         slots_.capacity() * sizeof(slot) + chunks_.capacity() * sizeof chunks_[0];
}

void lookup_table::check_memory(uint64_t more) const {
  const uint64_t needed = memory_bytes() + more + moving_bytes_ - std::min(moving_bytes_, moving_allowance);
  if (needed <= most_bytes_) return;
  throw error(error_kind::resources,
              fmt::format("node '{}': the table '{}' takes {} after {} rows, and its memory is {}", node_, input_,
                          format_bytes(needed), format_count(num_rows_), format_bytes(most_bytes_)),
              "raise the memory budget (-m), leave columns that are not needed out of the table, or sort both by the "
              "key and use a join");
}

void lookup_table::add(const record::batch& rows) {
  if (is_array_)
    add_to_array(rows);
  else
    add_to_hash(rows);
}

std::byte* lookup_table::place_for(uint64_t place) {
  const uint64_t chunk = place >> chunk_shift_;
  if (chunk >= chunks_.size()) {
    check_memory((chunk + 1 - chunks_.size()) * sizeof chunks_[0]);
    chunks_.resize(chunk + 1);
  }
  if (chunks_[chunk] == nullptr) {
    const uint64_t num_bytes = bytes_per_chunk();
    if (!spare_.empty()) {
      chunks_[chunk] = std::move(spare_.back());
      spare_.pop_back();
      moving_bytes_ -= bytes_of_spare_;
      check_memory(0);
    } else {
      check_memory(num_bytes);
      chunks_[chunk] = std::make_shared<std::byte[]>(std::max<uint64_t>(num_bytes, 1));
    }
  }
  return chunks_[chunk].get() + (place & (rows_per_chunk() - 1)) * stored_.row_bytes();
}

// Those of an array that may become a hash table have room for the rows of that, unless the key is so large a part of
// them that the array would be much larger for it.
uint64_t lookup_table::bytes_per_chunk() const {
  const uint64_t own = rows_per_chunk() * stored_.row_bytes();
  if (!may_become_hash_) return own;
  const uint64_t as_hash = (uint64_t{1} << chunk_shift(type_)) * type_.row_bytes();
  return as_hash > own && as_hash - own <= own / 16 ? as_hash : own;
}

// The row as it is kept: with its strings in the table's heap, without an array's key.
void lookup_table::store(const std::byte* row, const std::byte* heap, std::byte* to, bool with_key) {
  size_t column = 0;
  for (size_t i = 0; i < type_.num_columns(); ++i) {
    if (!with_key && i == keys_[0]) continue;
    const record::column& from = type_[i];
    std::byte* field = to + stored_[column++].offset;
    if (!from.type.is_string()) {
      copy_bytes(field, row + from.offset, from.type.num_bytes);
      continue;
    }
    const std::string_view text = record::load_string(row + from.offset, heap);
    const uint64_t heap_bytes = heap_.size() + text.size();
    if (heap_bytes > std::numeric_limits<uint32_t>::max())
      throw error(error_kind::resources,
                  fmt::format("node '{}': the strings of the table '{}' exceed 4 GiB", node_, input_),
                  "leave columns of text out of the table, or sort both by the key and use a join");
    if (heap_bytes / heap_step > heap_.size() / heap_step) check_memory(text.size());
    const record::string_ref ref{static_cast<uint32_t>(heap_.size()), static_cast<uint32_t>(text.size())};
    heap_.append(text.data(), text.size());
    std::memcpy(field, &ref, sizeof ref);
  }
}

bool lookup_table::is_dense(uint64_t key) const { return key < 2 * num_rows_ + slack_keys; }

uint64_t lookup_table::gap_bytes(const record::row_type& type, uint64_t num_rows) {
  const uint64_t places = 2 * num_rows + slack_keys;
  return (num_rows + slack_keys) * type.row_bytes() + 2 * chunk_bytes + places / 8 * 3 / 2 + places / 32;
}

bool lookup_table::has_place(uint64_t key) const {
  const uint64_t chunk = key >> chunk_shift_;
  return key / 64 < present_.size() && chunk < chunks_.size() && chunks_[chunk] != nullptr;
}

// For the place of an array's key, as place_for() and add_to_array() make it.
bool lookup_table::has_room(uint64_t key) const {
  if (has_place(key)) return true;
  const uint64_t chunk = key >> chunk_shift_, words = key / 64 + 1;
  uint64_t more = bytes_per_chunk();
  if (chunk >= chunks_.size()) more += (chunk + 1 - chunks_.size()) * sizeof chunks_[0];
  if (words > present_.size()) more += std::max<uint64_t>(words, present_.size() * 3 / 2) * sizeof(uint64_t);
  return memory_bytes() + more <= most_bytes_;
}

void lookup_table::add_to_array(const record::batch& rows) {
  const record::column& key_column = type_[keys_[0]];
  for (size_t i = 0; i < rows.num_rows; ++i) {
    const uint64_t key = record::load_unsigned(rows.row(i) + key_column.offset, key_column.type.num_bytes);
    if (may_become_hash_ && (!is_dense(key) || !has_room(key))) {
      become_hash();
      return add_to_hash(rows.slice(i, rows.num_rows - i));
    }
    const uint64_t word = key / 64;
    if (word >= present_.size()) {
      // Keys that no memory could have places for end here, before anything overflows.
      const uint64_t words = std::max<uint64_t>(word + 1, present_.size() * 3 / 2);
      check_memory(words * sizeof(uint64_t));
      present_.resize(words);
    }
    const uint64_t bit = uint64_t{1} << (key % 64);
    if ((present_[word] & bit) != 0) fail_twice(rows.row(i), rows.heap);
    store(rows.row(i), rows.heap, place_for(key), false);
    present_[word] |= bit;
    ++num_rows_;
  }
}

// Keys turned out not to be dense, or their gaps take too much: what is there moves into a hash table. Each chunk is
// used again as soon as its rows have moved, so that there are never two tables. (Freed, it might go back to the memory
// of another thread, where this one finds no room: only those that are too short for that are.)
void lookup_table::become_hash() {
  bytes_of_spare_ = bytes_per_chunk();
  std::vector<std::shared_ptr<std::byte[]>> chunks = std::exchange(chunks_, {});
  const std::vector<uint64_t> present = std::exchange(present_, {});
  moving_bytes_ = bytes_of_spare_ * static_cast<uint64_t>(std::count_if(chunks.begin(), chunks.end(),
                                                                        [](const auto& c) { return c != nullptr; }));
  const record::row_type values = std::exchange(stored_, type_);
  const uint64_t per_chunk = rows_per_chunk();
  chunk_shift_ = chunk_shift(stored_);
  is_array_ = may_become_hash_ = false;
  const bool used_again = bytes_per_chunk() <= bytes_of_spare_;
  num_rows_ = 0;
  const record::column& key_column = type_[keys_[0]];
  uint64_t first_left = 0;  // chunk
  for (uint64_t word = 0; word < present.size(); ++word)
    for (uint64_t bits = present[word]; bits != 0; bits &= bits - 1) {
      const uint64_t key = word * 64 + static_cast<uint64_t>(std::countr_zero(bits));
      for (; first_left < key / per_chunk; ++first_left) {
        if (chunks[first_left] == nullptr) continue;
        if (used_again && spare_.size() * bytes_of_spare_ < moving_allowance)
          spare_.push_back(std::move(chunks[first_left]));
        else
          moving_bytes_ -= bytes_of_spare_;
        chunks[first_left] = nullptr;
      }
      const std::byte* from = chunks[key / per_chunk].get() + (key % per_chunk) * values.row_bytes();
      std::byte* to = place_for(num_rows_);
      std::memcpy(to + key_column.offset, &key, key_column.type.num_bytes);
      for (size_t i = 0, column = 0; i < type_.num_columns(); ++i) {
        if (i == keys_[0]) continue;
        copy_bytes(to + type_[i].offset, from + values[column].offset, type_[i].type.num_bytes);
        ++column;
      }
      insert(num_rows_++);
    }
  spare_.clear();
  moving_bytes_ = 0;
}

void lookup_table::add_to_hash(const record::batch& rows) {
  for (size_t i = 0; i < rows.num_rows; ++i) {
    if (num_rows_ >= std::numeric_limits<uint32_t>::max() - 1)
      throw error(error_kind::resources,
                  fmt::format("node '{}': the table '{}' has more than 2^32 rows", node_, input_),
                  "sort both by the key and use a join");
    store(rows.row(i), rows.heap, place_for(num_rows_), true);
    insert(num_rows_++);
  }
}

void lookup_table::insert(uint64_t place) {
  if ((place + 1) * 3 > slots_.size() * 2) grow_slots();
  const std::byte* row = at(place);
  const uint64_t h = hash(stored_, keys_, row, heap());
  const uint64_t mask = slots_.size() - 1;
  const auto tag = static_cast<uint32_t>(h >> 32);
  uint64_t s = h & mask;
  for (; slots_[s].row != 0; s = (s + 1) & mask)
    if (slots_[s].tag == tag && compare_->equal(row, heap(), at(slots_[s].row - 1), heap())) fail_twice(row, heap());
  slots_[s] = {tag, static_cast<uint32_t>(place + 1)};
}

void lookup_table::grow_slots() {
  const size_t num_slots = std::max<size_t>(64, slots_.size() * 2);
  check_memory(num_slots * sizeof(slot));
  std::vector<slot> old(num_slots);
  old.swap(slots_);
  const uint64_t mask = num_slots - 1;
  for (const slot& from : old) {
    if (from.row == 0) continue;
    uint64_t s = hash(stored_, keys_, at(from.row - 1), heap()) & mask;
    while (slots_[s].row != 0) s = (s + 1) & mask;
    slots_[s] = from;
  }
}

uint64_t lookup_table::hash(const record::row_type& type, const std::vector<size_t>& keys, const std::byte* row,
                            const std::byte* heap) const {
  uint64_t h = 0;
  for (size_t k : keys) {
    const record::column& c = type[k];
    if (c.type.is_string()) {
      const std::string_view text = record::load_string(row + c.offset, heap);
      h = hash_bytes(h ^ text.size(), reinterpret_cast<const std::byte*>(text.data()), text.size());
    } else {
      h = hash_bytes(h, row + c.offset, c.type.num_bytes);
    }
  }
  return h;
}

lookup_table::question lookup_table::ask(const record::row_type& type, std::vector<size_t> keys) const {
  question q{&type, std::move(keys), nullptr};
  if (!is_array_)
    q.compare = std::make_shared<record::row_comparator>(type, key_parts(q.keys), stored_, key_parts(keys_));
  return q;
}

void lookup_table::find(const record::batch& rows, const question& q, std::vector<uint64_t>& places) const {
  places.assign(rows.num_rows, none);
  if (num_rows_ == 0) return;
  if (is_array_) {
    const record::column& key_column = (*q.type)[q.keys[0]];
    for (size_t i = 0; i < rows.num_rows; ++i) {
      const uint64_t key = record::load_unsigned(rows.row(i) + key_column.offset, key_column.type.num_bytes);
      const uint64_t word = key / 64;
      if (word >= present_.size() || (present_[word] >> (key % 64) & 1) == 0) continue;
      places[i] = key;
      __builtin_prefetch(at(key));
    }
    return;
  }
  const uint64_t mask = slots_.size() - 1;
  uint64_t hashes[ahead];
  for (size_t from = 0; from < rows.num_rows; from += ahead) {
    const size_t count = std::min(ahead, rows.num_rows - from);
    for (size_t i = 0; i < count; ++i) {
      hashes[i] = hash(*q.type, q.keys, rows.row(from + i), rows.heap);
      __builtin_prefetch(&slots_[hashes[i] & mask]);
    }
    for (size_t i = 0; i < count; ++i) {
      // The first slot with the right tag nearly always is the row; its memory comes while others are looked at.
      const slot& first = slots_[hashes[i] & mask];
      if (first.row != 0) __builtin_prefetch(at(first.row - 1));
    }
    for (size_t i = 0; i < count; ++i) {
      const auto tag = static_cast<uint32_t>(hashes[i] >> 32);
      for (uint64_t s = hashes[i] & mask; slots_[s].row != 0; s = (s + 1) & mask) {
        if (slots_[s].tag != tag) continue;
        if (!q.compare->equal(rows.row(from + i), rows.heap, at(slots_[s].row - 1), heap())) continue;
        places[from + i] = slots_[s].row - 1;
        break;
      }
    }
  }
}

void lookup_table::fail_twice(const std::byte* row, const std::byte* heap) const {
  std::string key;
  for (size_t k : keys_) {
    key += fmt::format("{}{} {}", key.empty() ? "" : ", ", type_[k].name,
                       record::value_text(type_[k].type, row + type_[k].offset, heap));
  }
  throw error(error_kind::bad_data,
              fmt::format("node '{}': the table '{}' has two rows of the key {}", node_, input_, key),
              "make keys unique in front of it: a sort with unique, or a group by the key");
}

}  // namespace flowrun::operators
