// Keys and their encodings. The last bytes of an input choose the columns and the key; the rest fills the rows.
//
// What holds of every two rows: the comparator, the words, the prefix, the fronts and the numbers of narrow rows agree
// with an order that is written down here, column by column; and a number decodes to the row that it was made of.
#include "engine/record/key.h"

#include <bit>
#include <cstring>
#include <string>
#include <vector>

#include "engine/record/batch.h"
#include "engine/record/key_fronts.h"
#include "engine/record/key_words.h"
#include "engine/record/row_codec.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/property.h"
#include "tests/fuzz/target.h"

namespace flowrun::fuzz {

namespace {

using record::key;
using record::row_type;
using record::type_kind;
using record::value_type;
using record::word128;

int sign(int x) { return x < 0 ? -1 : x > 0 ? 1 : 0; }

row_type type_of(input& in) {
  constexpr const char* types[] = {"u64", "string", "u8",   "i64",       "f64",       "bytes[3]", "i8",
                                   "f32", "u24",    "u48",  "u16",       "i32",       "bytes[9]", "bytes[21]",
                                   "u32", "bool",   "date", "timestamp", "decimal[2]"};
  std::vector<record::column> columns(1 + in.below(4));
  for (size_t i = 0; i < columns.size(); ++i)
    columns[i] = {std::string(1, static_cast<char>('a' + i)),
                  *record::parse_value_type(types[in.below(std::size(types))])};
  return row_type(std::move(columns));
}

// No column twice.
key key_of(const row_type& type, input& in) {
  key out;
  const size_t first = in.below(type.num_columns());
  const size_t num_parts = 1 + in.below(type.num_columns());
  for (size_t i = 0; i < num_parts; ++i) {
    record::key_part part;
    part.column = (first + i) % type.num_columns();
    part.descending = in.flag();
    const value_type t = type[part.column].type;
    if (t.is_bytes() && in.flag()) {
      part.from = static_cast<uint32_t>(in.below(t.num_bytes));
      part.length = 1 + static_cast<uint32_t>(in.below(t.num_bytes - part.from));
    }
    out.push_back(part);
  }
  return out;
}

record::batch rows_of(const row_type& type, input& in, record::batch_pool& pool) {
  record::batch_builder builder(type, pool, record::rows_of_any_length(1 << 20));
  for (size_t i = 0; i < 2 || (i < 8 && !in.empty()); ++i) {
    std::byte* const row = builder.append();
    for (const record::column& c : type.columns()) {
      std::byte* const field = row + c.offset;
      if (c.type.is_string()) {
        builder.put_string(field, in.take(in.byte() % 40));
      } else {
        in.fill(field, c.type.num_bytes);
        if (c.type.is_boolean()) *field &= std::byte{1};
      }
    }
  }
  return builder.take();
}

template <class Value>
int order_of(Value a, Value b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

// IEEE 754 totalOrder, by its words: by value, then -0 before 0; a NaN lies outside of all numbers on the side of its
// sign, and NaNs are in the order of their bits, turned round below zero.
template <class Float, class Bits>
int float_order(const std::byte* a, const std::byte* b) {
  Float x, y;
  Bits of_x, of_y;
  std::memcpy(&x, a, sizeof x);
  std::memcpy(&y, b, sizeof y);
  std::memcpy(&of_x, a, sizeof of_x);
  std::memcpy(&of_y, b, sizeof of_y);
  const bool below_x = std::signbit(x), below_y = std::signbit(y);
  if (below_x != below_y) return below_x ? -1 : 1;
  const bool nan_x = x != x, nan_y = y != y;
  if (nan_x && nan_y) return below_x ? order_of(of_y, of_x) : order_of(of_x, of_y);
  if (nan_x || nan_y) return nan_x == below_x ? -1 : 1;
  return order_of(x, y);
}

template <class Number>
int number_order(const std::byte* a, const std::byte* b, uint32_t num_bytes) {
  const auto load = [num_bytes](const std::byte* from) {
    uint64_t bits = 0;
    for (uint32_t i = 0; i < num_bytes; ++i) bits |= std::to_integer<uint64_t>(from[i]) << (8 * i);
    const unsigned unused = 64 - 8 * num_bytes;
    return static_cast<Number>(bits << unused) >> unused;
  };
  return order_of(load(a), load(b));
}

int part_order(const record::column& c, const record::key_part& part, const std::byte* a, const std::byte* a_heap,
               const std::byte* b, const std::byte* b_heap) {
  a += c.offset;
  b += c.offset;
  if (c.type.is_string()) return sign(record::load_string(a, a_heap).compare(record::load_string(b, b_heap)));
  if (c.type.is_bytes())
    return sign(std::memcmp(a + part.from, b + part.from, part.length > 0 ? part.length : c.type.num_bytes));
  if (c.type.kind == type_kind::f32) return float_order<float, uint32_t>(a, b);
  if (c.type.kind == type_kind::f64) return float_order<double, uint64_t>(a, b);
  return c.type.has_sign() ? number_order<int64_t>(a, b, c.type.num_bytes)
                           : number_order<uint64_t>(a, b, c.type.num_bytes);
}

int compare(const row_type& type, const key& by, const record::batch& rows, size_t i, size_t j) {
  for (const record::key_part& part : by) {
    const int order = part_order(type[part.column], part, rows.row(i), rows.heap, rows.row(j), rows.heap);
    if (order != 0) return part.descending ? -order : order;
  }
  return 0;
}

// In words, one after the other.
int compare_words(const record::key_words& words, const record::row_place& a, const record::row_place& b) {
  record::word_position p;
  while (!words.is_end(p)) {
    const word128 x = words(a, p), y = words(b, p);
    if (x != y) return x < y ? -1 : 1;
    p = words.next(a, p);
  }
  return 0;
}

void look_at_pairs(const row_type& type, const key& by, const record::batch& rows) {
  const record::row_comparator comparator(type, by);
  const record::key_words words(type, by);
  const record::key_prefix prefix(type, by);
  const record::key_fronts fronts(type, by);
  std::vector<word128> prefixes(rows.num_rows);
  prefix(rows.rows, rows.num_rows, rows.row_bytes, rows.heap, prefixes.data());
  std::vector<uint64_t> front_words;
  fronts.compute(rows, front_words);
  for (size_t i = 0; i < rows.num_rows; ++i) {
    const record::row_place a{rows.row(i), rows.heap};
    must_hold(prefixes[i] == prefix(a.row, a.heap), "prefix {} is another one alone", i);
    if (prefix.unused_bits() > 0)
      must_hold(prefixes[i] << (128 - prefix.unused_bits()) == 0, "prefix {} has unused bits set", i);
    for (size_t j = 0; j < rows.num_rows; ++j) {
      const record::row_place b{rows.row(j), rows.heap};
      const int order = compare(type, by, rows, i, j);
      must_hold(sign(comparator.compare(a.row, a.heap, b.row, b.heap)) == order, "comparator: rows {} and {}", i, j);
      must_hold(comparator.equal(a.row, a.heap, b.row, b.heap) == (order == 0), "equal: rows {} and {}", i, j);
      must_hold(sign(words.compare(a, b)) == order, "words: rows {} and {}", i, j);
      must_hold(compare_words(words, a, b) == order, "word after word: rows {} and {}", i, j);
      const int by_prefix = order_of(prefixes[i], prefixes[j]);
      must_hold(by_prefix == order || (by_prefix == 0 && !prefix.whole()), "prefix: rows {} and {}", i, j);
      if (prefix.whole_in_12()) must_hold(prefixes[i] << 96U == 0, "prefix {} is longer than 12 bytes", i);
      const int by_front = order_of(front_words[i], front_words[j]);
      must_hold(by_front == order || (by_front == 0 && !fronts.exact()), "fronts: rows {} and {}", i, j);
    }
  }
}

template <class Word>
void look_at_numbers(const row_type& type, const key& by, const record::batch& rows) {
  const record::row_codec codec(type, by);
  std::vector<Word> words(rows.num_rows), unpacked(rows.num_rows);
  std::vector<std::byte> decoded(rows.num_rows * rows.row_bytes), packed(rows.num_rows * codec.row_bytes());
  codec.encode(rows.rows, rows.num_rows, words.data());
  codec.decode(words.data(), rows.num_rows, decoded.data());
  must_hold(std::memcmp(decoded.data(), rows.rows, decoded.size()) == 0, "decoded rows are other rows");
  codec.pack(words.data(), rows.num_rows, packed.data());
  codec.unpack(packed.data(), rows.num_rows, unpacked.data());
  must_hold(unpacked == words, "unpacked numbers are other numbers");
  const unsigned below_key = 8 * codec.row_bytes() - codec.key_bits();
  for (size_t i = 0; i < rows.num_rows; ++i)
    for (size_t j = 0; j < rows.num_rows; ++j) {
      const int order = compare(type, by, rows, i, j);
      const int by_key = codec.key_bits() == 0 ? 0 : order_of(words[i] >> below_key, words[j] >> below_key);
      must_hold(by_key == order, "numbers: rows {} and {}", i, j);
      const bool same = std::memcmp(rows.row(i), rows.row(j), rows.row_bytes) == 0;
      must_hold((words[i] == words[j]) == same, "numbers of rows {} and {}", i, j);
    }
}

}  // namespace

void try_input(std::string_view bytes) {
  input in(bytes);
  const row_type type = type_of(in);
  const key by = key_of(type, in);
  record::batch_pool pool;
  const record::batch rows = rows_of(type, in, pool);
  look_at_pairs(type, by, rows);
  if (!record::row_codec::fits(type)) return;
  if (type.row_bytes() <= 8) look_at_numbers<uint64_t>(type, by, rows);
  look_at_numbers<word128>(type, by, rows);
}

}  // namespace flowrun::fuzz
