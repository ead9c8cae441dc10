// A tally of rows: the same for every order and every cut into batches, another one after any change.
#include "engine/record/row_tally.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "tests/support/random_rows.h"

namespace flowrun::record {
namespace {

// Rows without strings that lie where the test can change them.
struct loose_rows {
  explicit loose_rows(const row_type& t, size_t count, uint64_t seed) : type(t), bytes(t.row_bytes() * count) {
    std::mt19937_64 random(seed);
    for (std::byte& b : bytes) b = static_cast<std::byte>(random());
  }
  batch all() const {
    batch out;
    out.rows = bytes.data();
    out.row_bytes = type.row_bytes();
    out.num_rows = bytes.size() / out.row_bytes;
    return out;
  }
  row_type type;
  std::vector<std::byte> bytes;
};

row_type bytes_type(uint32_t width) { return row_type({{"a", value_type::fixed_bytes(width)}}); }

std::vector<uint32_t> widths() {
  std::vector<uint32_t> out;
  for (uint32_t width = 1; width <= 33; ++width) out.push_back(width);
  for (const uint32_t width : {100U, 241U, 1000U}) out.push_back(width);
  return out;
}

TEST(row_tally, cuts_and_order_do_not_matter) {
  for (const uint32_t width : widths()) {
    const loose_rows rows(bytes_type(width), 1000, width);
    const row_tallier tallier(rows.type);
    const row_tally whole = tallier.tally(rows.all());
    EXPECT_EQ(whole.num_rows, 1000U);
    row_tally cut;
    std::vector<std::pair<size_t, size_t>> pieces;
    for (size_t at = 0, n = 1; at < 1000; at += n, n = n * 5 % 97 + 1) pieces.emplace_back(at, std::min(n, 1000 - at));
    std::reverse(pieces.begin(), pieces.end());
    for (const auto& [at, n] : pieces) cut += tallier.tally(rows.all().slice(at, n));
    EXPECT_EQ(cut, whole) << width;
  }
}

TEST(row_tally, every_bit_of_a_row_counts) {
  for (const uint32_t width : widths()) {
    loose_rows rows(bytes_type(width), 9, width + 5);
    const row_tallier tallier(rows.type);
    const row_tally whole = tallier.tally(rows.all());
    for (size_t bit = 0; bit < 8 * rows.bytes.size(); ++bit) {
      rows.bytes[bit / 8] ^= std::byte{1} << bit % 8;
      EXPECT_NE(tallier.tally(rows.all()).sum, whole.sum) << width << " " << bit;
      rows.bytes[bit / 8] ^= std::byte{1} << bit % 8;
    }
  }
}

// Sums of rows stay the same here; those of their hashes must not.
TEST(row_tally, changes_of_two_rows_do_not_cancel) {
  const row_tallier tallier(row_type({{"a", value_type::of(type_kind::u64)}}));
  std::mt19937_64 random(7);
  for (int round = 0; round < 20000; ++round) {
    uint64_t words[2] = {random() >> random() % 60, random() >> random() % 60};
    const uint64_t bit = uint64_t{1} << random() % 64;
    if (((words[0] ^ words[1]) & bit) == 0) words[1] ^= bit;
    const uint64_t exchanged[2] = {words[0] ^ bit, words[1] ^ bit};  // one rises, one falls by as much
    if (exchanged[0] == words[1]) continue;                          // the same rows
    const auto tally = [&](const uint64_t* two) {
      batch b;
      b.rows = reinterpret_cast<const std::byte*>(two);
      b.row_bytes = 8;
      b.num_rows = 2;
      return tallier.tally(b);
    };
    EXPECT_NE(tally(words), tally(exchanged)) << words[0] << " " << words[1] << " " << bit;
  }
}

TEST(row_tally, strings_count_by_their_content_and_length) {
  const row_type type = type_of({{"a", "string"}, {"n", "u32"}, {"b", "string"}, {"x", "u8"}});
  const row_tallier tallier(type);
  batch_pool pool;
  const auto tally = [&](std::string_view a, std::string_view b, std::string_view filler) {
    batch_builder builder(type, pool, rows_of_any_length());
    std::byte* row = builder.append();
    std::memset(row, 0, type.row_bytes());
    builder.put_string(row + type[2].offset, filler);  // so that strings lie elsewhere in the heap
    builder.put_string(row + type[0].offset, a);
    builder.put_string(row + type[2].offset, b);
    return tallier.tally(builder.take());
  };
  EXPECT_EQ(tally("ab", "c", ""), tally("ab", "c", "moved"));
  EXPECT_NE(tally("ab", "c", ""), tally("a", "bc", ""));
  EXPECT_NE(tally("ab", "", ""), tally("", "ab", ""));
  EXPECT_NE(tally("ab", "c", ""), tally("ab", "d", ""));
}

}  // namespace
}  // namespace flowrun::record
