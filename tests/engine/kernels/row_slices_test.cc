#include "engine/kernels/row_slices.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/support/random_rows.h"

namespace flowrun::kernels {
namespace {

using record::batch;
using record::random_rows;
using record::row_place;
using record::type_of;

struct shape {
  record::row_type type;
  record::key key;
};
std::vector<shape> shapes() {
  return {{type_of({{"a", "u32"}, {"b", "bytes[16]"}}), {{0, false, 0, 0}}},
          {type_of({{"a", "u8"}, {"b", "bytes[30]"}}), {{1, true, 0, 0}, {0, false, 0, 0}}},
          {type_of({{"a", "string"}, {"b", "u64"}}), {{0, false, 0, 0}}},
          {type_of({{"a", "string"}, {"b", "string"}}), {{1, true, 0, 0}, {0, false, 0, 0}}}};
}

// Some ascending sequences as blocks have them: rows from the front, strings from the back.
class sequences {
 public:
  sequences(const shape& s, size_t num_sequences, size_t num_rows, uint64_t distinct)
      : shape_(s), rows_(s.type, s.key), compare_(s.type, s.key) {
    random_rows source;
    source.distinct = distinct;
    for (uint32_t q = 0; q < num_sequences; ++q) {
      std::vector<row_place> sorted;
      for (const batch& b : batches_.emplace_back(source.batches(s.type, pool_, num_rows, 4096)))
        for (size_t i = 0; i < b.num_rows; ++i) sorted.push_back({b.row(i), b.heap});
      std::stable_sort(sorted.begin(), sorted.end(), [&](const row_place& a, const row_place& b) {
        return compare_.compare(a.row, a.heap, b.row, b.heap) < 0;
      });
      size_t num_bytes = 0;
      for (const row_place& r : sorted) num_bytes += s.type.row_bytes() + rows_.heap_bytes(r.row);
      std::vector<std::byte>& block = blocks_.emplace_back(num_bytes);
      size_t front = 0, back = num_bytes;
      for (const row_place& r : sorted) {
        back = rows_.place(r.row, r.heap, block.data(), block.data() + front, back);
        front += s.type.row_bytes();
      }
      spans.push_back({{block.data(), block.data()}, nullptr, sorted.size(), s.type.row_bytes(), q});
    }
  }

  // All rows as a stable merge gives them.
  std::vector<row_place> merged() const {
    std::vector<row_place> all;
    for (const row_span& s : spans)
      for (size_t i = 0; i < s.num_rows; ++i) all.push_back(s[i]);
    std::stable_sort(all.begin(), all.end(), [&](const row_place& a, const row_place& b) { return order(a, b) < 0; });
    return all;
  }
  int order(const row_place& a, const row_place& b) const { return compare_.compare(a.row, a.heap, b.row, b.heap); }
  record::word128 prefix(const row_place& r) const {
    return record::key_prefix(shape_.type, shape_.key)(r.row, r.heap);
  }

  std::vector<row_span> spans;

 private:
  const shape& shape_;
  const wide_rows rows_;
  const record::row_comparator compare_;
  record::batch_pool pool_;
  std::vector<std::vector<batch>> batches_;
  std::vector<std::vector<std::byte>> blocks_;
};

void expect_same_rows(const std::vector<row_place>& got, const std::vector<row_place>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i].row, expected[i].row) << "row " << i;
}

TEST(row_slices, slice_by_slice_as_a_stable_merge) {
  for (const shape& s : shapes()) {
    for (const uint64_t distinct : {uint64_t{0}, uint64_t{3}, uint64_t{1}}) {
      for (const size_t stride_bytes : {size_t{1}, size_t{700}, size_t{1} << 30}) {
        sequences input(s, 7, 300, distinct);
        const std::vector<row_place> expected = input.merged();
        const row_slices slices(s.type, s.key);
        const std::vector<bool> ends(input.spans.size(), true);
        std::vector<row_place> all, places;
        std::vector<size_t> counts;
        std::vector<row_span> left = input.spans;
        while (all.size() < expected.size()) {
          std::erase_if(left, [](const row_span& span) { return span.num_rows == 0; });
          slices.cut(left, ends, std::nullopt, stride_bytes, counts);
          std::vector<row_span> parts;
          for (size_t i = 0; i < left.size(); ++i) {
            parts.push_back(left[i].first(counts[i]));
            left[i].drop(counts[i]);
          }
          slices.merge(parts, false, places);
          ASSERT_FALSE(places.empty());
          all.insert(all.end(), places.begin(), places.end());
        }
        expect_same_rows(all, expected);
      }
    }
  }
}

TEST(row_slices, unique_keeps_the_first_of_equal_rows) {
  for (const shape& s : shapes()) {
    for (const uint64_t distinct : {uint64_t{0}, uint64_t{3}}) {
      const sequences input(s, 5, 200, distinct);
      std::vector<row_place> expected = input.merged();
      expected.erase(std::unique(expected.begin(), expected.end(),
                                 [&](const row_place& a, const row_place& b) { return input.order(a, b) == 0; }),
                     expected.end());
      std::vector<row_place> places;
      row_slices(s.type, s.key).merge(input.spans, true, places);
      expect_same_rows(places, expected);
    }
  }
}

// Sequences in one arena: by their entries alone where keys have at most 12 bytes, by rows where they are longer.
TEST(row_slices, sequences_in_one_arena) {
  std::vector<shape> all = shapes();
  all.push_back({type_of({{"a", "bytes[12]"}, {"b", "bytes[9]"}}), {{0, true, 0, 0}}});
  all.push_back({type_of({{"a", "bytes[13]"}, {"b", "bytes[9]"}}), {{0, false, 0, 0}}});
  for (const shape& s : all) {
    for (const uint64_t distinct : {uint64_t{0}, uint64_t{3}, uint64_t{1}}) {
      record::batch_pool pool;
      random_rows source;
      source.distinct = distinct;
      const batch arena = source.one_batch(s.type, pool, 1'000);
      const record::key_prefix prefix(s.type, s.key);
      const record::row_comparator compare(s.type, s.key);
      auto place = [&](record::word128 entry) {
        return row_place{arena.row(static_cast<uint32_t>(entry)), arena.heap};
      };
      auto order = [&](record::word128 a, record::word128 b) {
        const int by_key = compare.compare(place(a).row, arena.heap, place(b).row, arena.heap);
        return by_key != 0 ? by_key < 0 : static_cast<uint32_t>(a) < static_cast<uint32_t>(b);
      };
      std::vector<record::word128> entries;
      for (size_t i = 0; i < arena.num_rows; ++i) entries.push_back((prefix(arena.row(i), arena.heap) >> 32 << 32) | i);
      std::vector<record::word128> sorted = entries;
      std::sort(sorted.begin(), sorted.end(), order);
      std::vector<row_span> left;
      size_t first = 0;
      for (const size_t last : {300, 301, 500, 1'000}) {
        std::sort(entries.begin() + static_cast<std::ptrdiff_t>(first),
                  entries.begin() + static_cast<std::ptrdiff_t>(last), order);
        left.push_back({{arena.row(0), arena.heap},
                        entries.data() + first,
                        last - first,
                        s.type.row_bytes(),
                        static_cast<uint32_t>(left.size())});
        first = last;
      }
      const row_slices slices(s.type, s.key);
      std::vector<row_place> expected, once, all_places, places;
      for (const record::word128 entry : sorted) {
        const row_place row = place(entry);
        if (once.empty() || compare.compare(once.back().row, once.back().heap, row.row, row.heap) != 0)
          once.push_back(row);
        expected.push_back(row);
      }
      slices.merge(left, true, places);
      expect_same_rows(places, once);
      while (all_places.size() < expected.size()) {
        std::vector<size_t> counts;
        slices.cut(left, std::vector<bool>(left.size(), true), std::nullopt, 1'000, counts);
        std::vector<row_span> parts;
        for (size_t i = 0; i < left.size(); ++i) {
          parts.push_back(left[i].first(counts[i]));
          left[i].drop(counts[i]);
        }
        std::erase_if(left, [](const row_span& span) { return span.num_rows == 0; });
        slices.merge(parts, false, places);
        ASSERT_FALSE(places.empty());
        all_places.insert(all_places.end(), places.begin(), places.end());
      }
      expect_same_rows(all_places, expected);
    }
  }
}

// What lies behind the first row that is not loaded yet stays; of equal rows those of later sequences do, too.
TEST(row_slices, nothing_passes_the_bound) {
  for (const shape& s : shapes()) {
    for (const uint64_t distinct : {uint64_t{0}, uint64_t{3}}) {
      const sequences input(s, 4, 100, distinct);
      const row_slices slices(s.type, s.key);
      const std::vector<bool> ends(input.spans.size(), true);
      std::vector<size_t> counts;
      for (size_t at = 0; at < 100; at += 9) {
        const uint32_t sequence = at % 4;
        const row_place row = input.spans[2][at];
        slices.cut(input.spans, ends, row_bound{row, input.prefix(row), sequence}, size_t{1} << 30, counts);
        for (size_t i = 0; i < input.spans.size(); ++i) {
          for (size_t n = 0; n < input.spans[i].num_rows; ++n) {
            const int order = input.order(input.spans[i][n], row);
            EXPECT_EQ(n < counts[i], order < 0 || (order == 0 && i <= sequence));
          }
        }
      }
    }
  }
}

TEST(row_slices, a_stride_is_not_passed_but_by_one_row) {
  const shape s = shapes()[2];
  const sequences input(s, 3, 400, 0);
  const wide_rows rows(s.type, s.key);
  std::vector<size_t> counts;
  for (const size_t stride_bytes : {size_t{1}, size_t{100}, size_t{1'000}}) {
    row_slices(s.type, s.key).cut(input.spans, std::vector<bool>(3, false), std::nullopt, stride_bytes, counts);
    size_t total = 0;
    for (size_t i = 0; i < 3; ++i) {
      size_t num_bytes = 0;
      for (size_t n = 0; n < counts[i]; ++n) num_bytes += s.type.row_bytes() + rows.heap_bytes(input.spans[i][n].row);
      EXPECT_TRUE(num_bytes <= stride_bytes || counts[i] == 1) << num_bytes;
      total += counts[i];
    }
    EXPECT_GT(total, 0U);
  }
}

}  // namespace
}  // namespace flowrun::kernels
