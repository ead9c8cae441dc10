#include "engine/record/key_words.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/random_rows.h"

namespace flowrun::record {
namespace {

int sign(int order) { return order < 0 ? -1 : order > 0 ? 1 : 0; }

std::vector<key_words::position> positions_of(const key_words& words, const row_place& row) {
  std::vector<key_words::position> out;
  for (key_words::position p; !words.is_end(p); p = words.next(row, p)) out.push_back(p);
  return out;
}

// What the class promises, for two rows.
void expect_agreement(const key_words& words, const row_comparator& comparator, const row_place& a,
                      const row_place& b) {
  const int order = sign(comparator.compare(a.row, a.heap, b.row, b.heap));
  ASSERT_EQ(words.compare(a, b), order);
  const std::vector<key_words::position> of_a = positions_of(words, a), of_b = positions_of(words, b);
  size_t same = 0;
  while (same < of_a.size() && same < of_b.size() && words(a, of_a[same]) == words(b, of_b[same])) ++same;
  if (order == 0) {
    ASSERT_EQ(same, of_a.size());
    ASSERT_EQ(same, of_b.size());
  } else {  // no key's words are the front of another's
    ASSERT_LT(same, of_a.size());
    ASSERT_LT(same, of_b.size());
    ASSERT_EQ(words(a, of_a[same]) < words(b, of_b[same]), order < 0);
    ASSERT_EQ(words(a, of_a[same]) >> key_words::word_bits, 0U);
  }
  for (size_t from = 0; from <= same && from < of_a.size(); ++from) {
    ASSERT_EQ(of_a[from].number, from);
    const key_words::position found = words.at(a, from);
    ASSERT_EQ(found.field, of_a[from].field);
    ASSERT_EQ(found.word, of_a[from].word);
    words.prefetch(a, found);
    const key_words::position differs = words.difference(a, b, of_a[from]);
    ASSERT_EQ(differs.number, same);
    ASSERT_EQ(words.is_end(differs), order == 0);
    ASSERT_EQ(words.compare(a, b, of_a[from]), order);
  }
}

void expect_agreement(const row_type& type, const key& by, const batch& rows) {
  const key_words words(type, by);
  const row_comparator comparator(type, by);
  for (size_t i = 0; i < rows.num_rows; ++i)
    for (size_t j = 0; j < rows.num_rows; ++j)
      ASSERT_NO_FATAL_FAILURE(expect_agreement(words, comparator, {rows.row(i), rows.heap}, {rows.row(j), rows.heap}))
          << i << " " << j;
}

TEST(key_words, strings_around_the_length_of_a_word) {
  const row_type type = type_of({{"s", "string"}});
  batch_pool pool;
  batch_builder builder(type, pool, rows_of_any_length(1 << 20));
  for (const size_t num_bytes : {0, 1, 10, 11, 12, 13, 21, 22, 23, 33, 34})
    for (const char filler : {'\0', 'a', '\xFF'})
      for (const char last : {'\0', 'a', '\x0B', '\x0C', '\xFF'}) {
        std::string text(num_bytes, filler);
        if (num_bytes > 0) text.back() = last;
        builder.put_string(builder.append(), text);
      }
  const batch rows = builder.take();
  expect_agreement(type, {{0, false, 0, 0}}, rows);
  expect_agreement(type, {{0, true, 0, 0}}, rows);
}

TEST(key_words, any_parts_in_any_order) {
  random_rows source;
  batch_pool pool;
  const row_type type = type_of({{"i", "i16"},
                                 {"s", "string"},
                                 {"f", "f32"},
                                 {"b", "bytes[29]"},
                                 {"u", "u40"},
                                 {"t", "string"},
                                 {"g", "f64"},
                                 {"o", "bool"}});
  for (int round = 0; round < 60; ++round) {
    source.distinct = round % 3 == 0 ? 0 : static_cast<uint64_t>(2 + round % 5);
    source.max_string_bytes = round % 2 == 0 ? 3 : 30;
    source.string_prefix = round % 4 == 3 ? std::string(13, 'p') : "";
    const batch rows = source.one_batch(type, pool, 40);
    key by;
    for (size_t part = 0; part < 1 + source.below(5); ++part) {
      key_part p{source.below(type.num_columns()), source.below(2) == 1, 0, 0};
      if (type[p.column].type.is_bytes() && source.below(2) == 1) {
        p.from = static_cast<uint32_t>(source.below(29));
        p.length = 1 + static_cast<uint32_t>(source.below(29 - p.from));
      }
      by.push_back(p);
    }
    ASSERT_NO_FATAL_FAILURE(expect_agreement(type, by, rows)) << round;
  }
}

TEST(key_words, fixed_parts_share_words) {
  const row_type type = type_of({{"a", "u32"}, {"b", "u64"}, {"c", "u8"}, {"x", "bytes[30]"}, {"s", "string"}});
  std::vector<std::byte> row(type.row_bytes());
  auto num_words = [&](const key& by) { return positions_of(key_words(type, by), {row.data(), row.data()}).size(); };
  EXPECT_EQ(num_words({{0, false, 0, 0}, {1, false, 0, 0}, {2, false, 0, 0}}), 2U);
  EXPECT_EQ(num_words({{0, false, 0, 0}, {4, false, 0, 0}, {2, true, 0, 0}}), 3U);
  EXPECT_EQ(num_words({{3, false, 0, 0}}), 3U);
  EXPECT_EQ(num_words({{3, false, 0, 12}}), 1U);
  EXPECT_EQ(num_words({{2, false, 0, 0}, {3, false, 5, 11}}), 1U);
}

}  // namespace
}  // namespace flowrun::record
