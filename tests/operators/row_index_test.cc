// The index of a file of sorted rows: what is in it, and everything that may be wrong with it.
#include "operators/parts/files/row_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <xxhash.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <span>

#include "engine/base/error.h"
#include "tests/operators/harness.h"
#include "tests/support/byte_files.h"
#include "tests/support/temporary_directory.h"

namespace flowrun::operators {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

constexpr uint64_t plenty = 1 << 30;

class row_index_files : public ::testing::Test {
 protected:
  const temporary_directory place_;
  const std::string rows_path_ = place_ / "rows";
  const record::row_type type_ = record::row_type(
      {{"a", record::value_type::of(record::type_kind::u32)}, {"b", record::value_type::of(record::type_kind::u64)}});
  const plan::order order_ = {{"a"}, {"b", true}};

  // Rows (i / 3, -i), in batches of odd lengths, with their index.
  std::vector<std::byte> write(uint32_t num_rows, const record::row_type& type) {
    std::vector<std::byte> rows(size_t{num_rows} * type.row_bytes());
    for (uint32_t i = 0; i < num_rows; ++i) {
      const uint32_t a = i / 3;
      const uint64_t b = ~uint64_t{i};
      std::memcpy(rows.data() + size_t{i} * type.row_bytes(), &a, sizeof a);
      std::memcpy(rows.data() + size_t{i} * type.row_bytes() + 4, &b, sizeof b);
    }
    row_index_builder builder(type, order_);
    std::vector<std::byte> index;
    const auto drain = [&](size_t most) {
      const auto part = builder.pending().first(std::min(most, builder.pending().size()));
      index.insert(index.end(), part.begin(), part.end());
      builder.forget(part.size());
    };
    for (uint32_t at = 0, count = 1; at < num_rows; at += count, count = count * 3 % 10007) {
      count = std::min(count, num_rows - at);
      builder.add(rows.data() + size_t{at} * type.row_bytes(), count);
      drain(100);
    }
    builder.finish();
    while (!builder.pending().empty()) drain(1000);
    store(rows_path_, rows);
    store(index_path(rows_path_), index);
    return rows;
  }

  // That is seen without reading all of the index.
  std::string seen_at_once() {
    try {
      row_index::look_into(rows_path_, type_, order_);
    } catch (const error& e) {
      return e.what();
    }
    return "none";
  }
  std::string problem(error_kind kind = error_kind::bad_data, uint64_t most_bytes = plenty) {
    return problem(type_, order_, kind, most_bytes);
  }
  std::string problem(const record::row_type& type, const plan::order& order, error_kind kind = error_kind::bad_data,
                      uint64_t most_bytes = plenty) {
    try {
      row_index::load(rows_path_, type, order, most_bytes);
    } catch (const error& e) {
      EXPECT_EQ(e.kind(), kind);
      EXPECT_FALSE(kind != error_kind::io && e.hint().empty()) << e.what();
      return e.what();
    }
    return "none";
  }
};

TEST_F(row_index_files, has_the_first_row_of_each_block) {
  for (const uint32_t num_rows : {0U, 1U, 5000U, 100'000U}) {
    const std::vector<std::byte> rows = write(num_rows, type_);
    const row_index index = row_index::load(rows_path_, type_, order_, plenty);
    EXPECT_EQ(index.num_rows(), num_rows);
    EXPECT_EQ(index.num_blocks(), (num_rows + index.rows_per_block() - 1) / index.rows_per_block());
    const uint64_t block_bytes = uint64_t{index.rows_per_block()} * type_.row_bytes();
    EXPECT_EQ(block_bytes % 4096, 0U);
    for (uint64_t i = 0; i < index.num_blocks(); ++i) {
      const std::span<const std::byte> block =
          std::span(rows).subspan(i * block_bytes, std::min(block_bytes, rows.size() - i * block_bytes));
      EXPECT_EQ(std::memcmp(index.first_row(i), block.data(), type_.row_bytes()), 0);
      EXPECT_TRUE(index.is_block(i, block));
      EXPECT_FALSE(index.is_block(i, block.first(block.size() - 1)));
    }
  }
}

TEST_F(row_index_files, of_rows_that_are_longer_than_a_block) {
  const record::row_type type({{"a", record::value_type::of(record::type_kind::u32)},
                               {"b", record::value_type::of(record::type_kind::u64)},
                               {"rest", record::value_type::fixed_bytes(100'001)}});
  const std::vector<std::byte> rows = write(7, type);
  const row_index index = row_index::load(rows_path_, type, {{"a"}}, plenty);
  EXPECT_EQ(index.rows_per_block(), 1U);
  EXPECT_EQ(index.num_blocks(), 7U);
}

TEST_F(row_index_files, refuses_what_is_damaged) {
  write(20'000, type_);
  const std::vector<std::byte> good = load(index_path(rows_path_));
  for (size_t i = 0; i < good.size(); ++i) {
    std::vector<std::byte> bad = good;
    bad[i] ^= std::byte{1};
    store(index_path(rows_path_), bad);
    EXPECT_NE(problem(), "none") << "byte " << i;
    if (i < 16) {
      EXPECT_EQ(seen_at_once(), problem()) << "byte " << i;
    }
  }
  for (size_t num_bytes = 0; num_bytes < good.size(); num_bytes += 7) {
    store(index_path(rows_path_), std::span(good).first(num_bytes));
    EXPECT_NE(problem(), "none") << num_bytes << " bytes";
    EXPECT_EQ(seen_at_once(), problem()) << num_bytes << " bytes";
  }
  store(index_path(rows_path_), good);
  EXPECT_EQ(problem(), "none");
  EXPECT_EQ(seen_at_once(), "none");
  store(index_path(rows_path_), std::vector<std::byte>(100));
  EXPECT_THAT(problem(), HasSubstr("no index of rows"));
}

// With a right checksum, as somebody would make it who wants the reader to take memory for four billion rows.
TEST_F(row_index_files, refuses_blocks_that_no_writer_makes) {
  write(1000, type_);
  std::vector<std::byte> index = load(index_path(rows_path_));
  constexpr size_t rows_per_block_at = 16, checksum_at = 8;  // from the end
  const uint32_t many = ~uint32_t{0};
  std::memcpy(index.data() + index.size() - rows_per_block_at, &many, sizeof many);
  const uint64_t checksum = XXH3_64bits(index.data(), index.size() - checksum_at);
  std::memcpy(index.data() + index.size() - checksum_at, &checksum, sizeof checksum);
  store(index_path(rows_path_), index);
  EXPECT_THAT(problem(), HasSubstr("its numbers don't fit together"));
}

TEST_F(row_index_files, refuses_what_belongs_to_other_rows) {
  const std::vector<std::byte> rows = write(20'000, type_);
  EXPECT_EQ(problem(type_, {{"a"}}), "none");  // a prefix of the order
  EXPECT_THAT(problem(type_, {{"b"}}), HasSubstr("sorted by the columns +0 -1 (counted from 0), not by +1"));
  EXPECT_THAT(problem(type_, {{"a", true}}), HasSubstr("not by -0"));
  const record::row_type renamed({{"x", type_[0].type}, {"y", type_[1].type}});
  EXPECT_EQ(problem(renamed, {{"x"}}), "none");
  const record::row_type other({{"a", record::value_type::of(record::type_kind::i32)}, {"b", type_[1].type}});
  EXPECT_THAT(problem(other, order_), HasSubstr("is of rows of (u32 u64), not of (i32 u64)"));
  EXPECT_THAT(problem(error_kind::resources, 100), HasSubstr("there is room for 100 B"));
  store(rows_path_, std::span(rows).first(rows.size() - 12));
  EXPECT_THAT(problem(), HasSubstr("of 20000 rows of 12 bytes, but"));
  store(rows_path_, rows);
  fs::last_write_time(index_path(rows_path_), fs::last_write_time(rows_path_) - std::chrono::seconds(1));
  EXPECT_THAT(problem(), HasSubstr("older than the rows"));
  fs::remove(index_path(rows_path_));
  EXPECT_THAT(problem(error_kind::missing_input), HasSubstr("can't read the index"));
}

// The sums of blocks and index hold, as whoever makes them can have it.
TEST_F(row_index_files, a_bool_is_0_or_1) {
  const record::row_type type({{"a", record::value_type::of(record::type_kind::u32)},
                               {"b", record::value_type::of(record::type_kind::boolean)}});
  std::vector<std::byte> rows(5);
  rows[4] = std::byte{255};
  row_index_builder builder(type, {{"a"}});
  builder.add(rows.data(), 1);
  builder.finish();
  store(rows_path_, rows);
  store(index_path(rows_path_), {builder.pending().begin(), builder.pending().end()});
  try {
    testing::run(
        "l: {op: test.rows, with: {type: {a: u32}, sorted_by: [a]}}\n"
        "r: {op: file.read_rows, with: {path: " +
            rows_path_ +
            ", type: {a: u32, b: bool}, sorted_by: [a], index: true}}\n"
            "x: {op: join, in: {left: l, right: r}, with: {by: [a], skip: true}}\n"
            "out: {op: test.sink, in: x}\n",
        {{"l", {"0"}}});
    FAIL();
  } catch (const error& e) {
    EXPECT_EQ(e.kind(), error_kind::bad_data);
    EXPECT_THAT(e.what(), HasSubstr("in row 0 (counted from 0) column 'b' is the byte 255, and a bool is 0 or 1"));
  }
}

}  // namespace
}  // namespace flowrun::operators
