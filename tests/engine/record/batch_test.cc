#include "engine/record/batch.h"

#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "engine/record/row_too_large.h"
#include "tests/support/random_rows.h"

namespace flowrun::record {
namespace {

const row_type numbers = type_of({{"k", "u32"}, {"v", "u16"}});
const row_type texts = type_of({{"a", "string"}, {"n", "u16"}, {"b", "string"}});

TEST(batch_shape, aims_at_the_target_and_at_most_16384_rows) {
  EXPECT_EQ(shape_for(type_of({{"k", "u8"}}), 256 * 1024).max_rows, 16384U);
  EXPECT_EQ(shape_for(type_of({{"k", "bytes[100]"}}), 1000).max_rows, 10U);
  EXPECT_EQ(shape_for(type_of({{"k", "bytes[100]"}}), 10).max_rows, 1U);
  const batch_shape mixed = shape_for(texts, 3600);
  EXPECT_EQ(mixed.max_rows, 100U);
  EXPECT_EQ(mixed.target_heap_bytes, 1800U);
}

TEST(batch_builder, keeps_rows_in_order_and_starts_anew) {
  batch_pool pool;
  batch_builder builder(numbers, pool, rows_of_any_length(600));
  EXPECT_EQ(builder.max_rows(), 100U);
  EXPECT_TRUE(builder.empty());
  for (uint32_t i = 0; i < 100; ++i) {
    EXPECT_FALSE(builder.full());
    EXPECT_EQ(builder.room(), 100 - i);
    std::memcpy(builder.append(), &i, sizeof i);
  }
  EXPECT_TRUE(builder.full());
  EXPECT_EQ(builder.room(), 0U);
  const batch first = builder.take();
  ASSERT_EQ(first.num_rows, 100U);
  EXPECT_EQ(first.row_bytes, 6U);
  EXPECT_EQ(first.num_bytes(), 600U);
  for (uint32_t i = 0; i < 100; ++i) EXPECT_EQ(std::memcmp(first.row(i), &i, sizeof i), 0);
  EXPECT_TRUE(builder.empty());
  EXPECT_EQ(builder.take().num_rows, 0U);
  builder.append(3);
  EXPECT_EQ(builder.take().num_rows, 3U);
}

TEST(batch_builder, more_rows_than_fit_are_our_bug) {
  batch_pool pool;
  batch_builder builder(numbers, pool, rows_of_any_length(60));
  builder.append(9);
  EXPECT_THROW(builder.append(2), error);
  EXPECT_EQ(builder.num_rows(), 9U);
}

TEST(batch_builder, stores_strings_of_any_length) {
  batch_pool pool;
  batch_builder builder(texts, pool, rows_of_any_length(1024));
  std::vector<std::pair<std::string, std::string>> expected;
  for (size_t i = 0; !builder.full(); ++i) {
    const std::string a = i == 3 ? std::string(100'000, 'x') : std::string(i % 5, static_cast<char>('a' + i % 26));
    const std::string b("\0b", 2);
    std::byte* row = builder.append();
    builder.put_string(row, a);
    builder.put_string(row + 10, b);
    expected.emplace_back(a, b);
  }
  EXPECT_EQ(expected.size(), 4U);  // the long string filled the heap
  const batch rows = builder.take();
  ASSERT_EQ(rows.num_rows, expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(load_string(rows.row(i), rows.heap), expected[i].first);
    EXPECT_EQ(load_string(rows.row(i) + 10, rows.heap), expected[i].second);
  }
}

TEST(batch_builder, empty_strings_need_no_heap) {
  batch_pool pool;
  batch_builder builder(texts, pool, rows_of_any_length());
  std::byte* row = builder.append();
  builder.put_string(row, "");
  builder.put_string(row + 10, {});
  const batch rows = builder.take();
  EXPECT_EQ(rows.heap_bytes, 0U);
  EXPECT_EQ(load_string(rows.row(0), rows.heap), "");
}

TEST(batch_builder, append_row_copies_strings) {
  batch_pool pool;
  random_rows source;
  batch_builder copy(texts, pool, rows_of_any_length(size_t{1} << 20));
  std::vector<std::string> expected;
  {
    const batch rows = source.one_batch(texts, pool, 1000);
    for (size_t i = 0; i < rows.num_rows; ++i) copy.append_row(rows.row(i), rows.heap);
    expected = contents_of(texts, {rows});
  }
  EXPECT_EQ(contents_of(texts, {copy.take()}), expected);
}

// Of a row of `texts`, with its two texts.
uint64_t row_with(size_t text_bytes) { return texts.row_bytes() + text_bytes; }

// Appends a row with texts that take `first` and `second` bytes.
void append(batch_builder& builder, size_t first, size_t second) {
  std::byte* const row = builder.append();
  builder.put_string(row, std::string(first, 'a'));
  builder.put_string(row + 10, std::string(second, 'b'));
}

TEST(batch_builder, a_row_is_as_long_as_it_may_be_and_no_byte_longer) {
  batch_pool pool;
  for (const size_t before : {0, 1, 50, 499}) {  // bytes of the rows in front of it
    const batch_limits limits{1000, row_with(6000)};
    const auto builder_with = [&] {
      batch_builder out(texts, pool, limits);
      if (before > 0) append(out, before - before / 2, before / 2);
      EXPECT_FALSE(out.full());
      return out;
    };
    for (const size_t first : {0, 1, 2999, 3000, 5999, 6000}) {
      batch_builder fits = builder_with();
      append(fits, first, 6000 - first);
      EXPECT_TRUE(fits.full());
      EXPECT_EQ(fits.take().heap_bytes, before + 6000);
      batch_builder fails = builder_with();
      try {
        append(fails, first, 6001 - first);
        ADD_FAILURE() << "no error behind " << before << " bytes, with a first text of " << first;
      } catch (const row_too_large& e) {
        EXPECT_EQ(e.exit_code(), 75);
        EXPECT_EQ(std::string(e.what()), row_too_large(row_with(6001), row_with(6000)).what());
      }
    }
  }
}

TEST(batch_builder, each_row_has_the_limit_for_itself) {
  batch_pool pool;
  batch_builder builder(texts, pool, {1 << 20, (1 << 20) + 100});
  // The rows of a batch together are longer than one row may be, and so is a heap that has grown for a long row.
  for (int i = 0; i < 2; ++i) {
    for (int k = 0; k < 5; ++k) append(builder, 100'000, 0);
    append(builder, 0, 1 << 20);
    EXPECT_TRUE(builder.full());
    append(builder, 500'000, 500'000);
    EXPECT_EQ(builder.num_rows(), 7U);
    EXPECT_THROW(append(builder, 600'000, 600'000), row_too_large);
    builder.take();
  }
}

TEST(batch_builder, append_row_knows_the_limit) {
  batch_pool pool;
  batch_builder source(texts, pool, rows_of_any_length(100'000)), copy(texts, pool, {1000, row_with(5000)});
  append(source, 2500, 2500);
  append(source, 2500, 2501);
  const batch rows = source.take();
  copy.append_row(rows.row(0), rows.heap);
  EXPECT_THROW(copy.append_row(rows.row(1), rows.heap), row_too_large);
}

TEST(batch_builder, text_room_is_what_makes_it_full) {
  batch_pool pool;
  batch_builder builder(texts, pool, {1000, 1'000'000});
  EXPECT_EQ(builder.text_room(), 500U);
  append(builder, 100, 300);
  EXPECT_EQ(builder.text_room(), 100U);
  EXPECT_FALSE(builder.full());
  append(builder, 100, 0);
  EXPECT_EQ(builder.text_room(), 0U);
  EXPECT_TRUE(builder.full());
  append(builder, 100, 0);
  EXPECT_EQ(builder.text_room(), 0U);
}

// What a row takes is known at once: the heap is not copied while it grows.
TEST(batch_builder, expected_texts_are_copied_once) {
  constexpr size_t text = 1 << 20;
  uint64_t taken[2];
  for (const bool expected : {false, true}) {
    batch_pool pool;
    batch_builder builder(texts, pool, {1000, row_with(2 * text)});
    const std::string long_text(text, 'x');
    std::byte* const row = builder.append();
    if (expected) builder.expect_texts(2 * text);
    builder.put_string(row, long_text);
    builder.put_string(row + 10, long_text);
    taken[expected ? 1 : 0] = pool.peak_bytes();
    EXPECT_EQ(builder.take().heap_bytes, 2 * text);
  }
  EXPECT_GE(taken[0], 3 * text);
  EXPECT_LT(taken[1], 2 * text + 64 * 1024);
  batch_pool pool;
  batch_builder builder(texts, pool, {1000, row_with(100'000)});
  builder.append();
  builder.expect_texts(100'000);
  EXPECT_THROW(builder.expect_texts(100'001), row_too_large);
}

TEST(batch, slices_share_the_owner) {
  batch_pool pool;
  random_rows source;
  batch part;
  std::vector<std::string> expected;
  {
    batch rows = source.one_batch(texts, pool, 100);
    rows.first_row = 1000;
    expected = contents_of(texts, {rows});
    part = rows.slice(40, 50).slice(5, 10);
  }
  EXPECT_EQ(part.num_rows, 10U);
  EXPECT_EQ(part.first_row, 1045U);
  const std::vector<std::string> got = contents_of(texts, {part});
  EXPECT_EQ(got, std::vector<std::string>(expected.begin() + 45, expected.begin() + 55));
  EXPECT_EQ(part.slice(10, 0).num_rows, 0U);
}

TEST(batch, outlives_its_pool) {
  batch rows;
  {
    batch_pool pool;
    random_rows source;
    rows = source.one_batch(numbers, pool, 10);
  }
  EXPECT_EQ(rows.num_rows, 10U);
  std::vector<std::byte> copy(rows.row(0), rows.row(9));
  EXPECT_EQ(copy.size(), 54U);
}

}  // namespace
}  // namespace flowrun::record
