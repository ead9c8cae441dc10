#include "engine/record/batch.h"

#include <gtest/gtest.h>

#include "engine/base/error.h"
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
  batch_builder builder(numbers, pool, 600);
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
  builder.remove_last(1);
  EXPECT_EQ(builder.take().num_rows, 2U);
}

TEST(batch_builder, more_rows_than_fit_are_our_bug) {
  batch_pool pool;
  batch_builder builder(numbers, pool, 60);
  builder.append(9);
  EXPECT_THROW(builder.append(2), error);
  EXPECT_EQ(builder.num_rows(), 9U);
}

TEST(batch_builder, stores_strings_of_any_length) {
  batch_pool pool;
  batch_builder builder(texts, pool, 1024);
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
  batch_builder builder(texts, pool);
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
  batch_builder copy(texts, pool, size_t{1} << 20);
  std::vector<std::string> expected;
  {
    const batch rows = source.one_batch(texts, pool, 1000);
    for (size_t i = 0; i < rows.num_rows; ++i) copy.append_row(rows.row(i), rows.heap);
    expected = contents_of(texts, {rows});
  }
  EXPECT_EQ(contents_of(texts, {copy.take()}), expected);
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
