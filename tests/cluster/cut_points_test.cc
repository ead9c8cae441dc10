// Where runs are cut, beside what a sort of all rows says.
#include "cluster/cut_points.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "cluster/exchange_file.h"
#include "tests/support/random_rows.h"
#include "tests/support/temporary_directory.h"

namespace flowrun::cluster {
namespace {

// Sorted runs of a stream, as files and as rows.
class runs {
 public:
  runs(const temporary_directory& home, const std::string& name, record::row_type type, record::key key)
      : home_(home), name_(name), type_(std::move(type)), key_(std::move(key)), compare_(type_, key_) {}

  void add(record::random_rows& random, size_t num_rows, size_t frame_bytes) {
    struct ordered {
      const runs* of;
      bool operator()(const record::batch& a, const record::batch& b) const {
        return of->compare_.compare(a.rows, a.heap, b.rows, b.heap) < 0;
      }
    };
    std::vector<record::batch> rows;
    for (const record::batch& b : random.batches(type_, pool_, num_rows))
      for (size_t i = 0; i < b.num_rows; ++i) rows.push_back(b.slice(i, 1));
    std::stable_sort(rows.begin(), rows.end(), ordered{this});
    exchange_encoder encoder(type_, frame_bytes);
    for (const record::batch& row : rows) encoder.add(row);
    const std::string name = fmt::format("{}{}", name_, paths_.size());
    encoder.finish(home_ / name);
    const std::span<const std::byte> bytes = encoder.pending();
    paths_.push_back(home_.write(name, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
    rows_.push_back(std::move(rows));
  }

  sorted_stream stream() const { return {paths_, type_, key_}; }
  const std::vector<std::vector<record::batch>>& rows() const { return rows_; }
  std::string content(const record::batch& row) const { return record::content_of(type_, row.rows, row.heap); }
  int compare(const record::batch& a, const record::batch& b) const {
    return compare_.compare(a.rows, a.heap, b.rows, b.heap);
  }

  // The rows of part `part` as merged, ties by run.
  std::vector<record::batch> merged(const cut_rows& cuts, size_t part, size_t stream) const {
    std::vector<record::batch> out;
    for (size_t r = 0; r < rows_.size(); ++r)
      for (uint64_t i = cuts[part][stream][r]; i < cuts[part + 1][stream][r]; ++i) out.push_back(rows_[r][i]);
    std::stable_sort(out.begin(), out.end(),
                     [this](const record::batch& a, const record::batch& b) { return compare(a, b) < 0; });
    return out;
  }
  std::vector<record::batch> all() const {
    std::vector<record::batch> out;
    for (const auto& run : rows_) out.insert(out.end(), run.begin(), run.end());
    std::stable_sort(out.begin(), out.end(),
                     [this](const record::batch& a, const record::batch& b) { return compare(a, b) < 0; });
    return out;
  }

 private:
  const temporary_directory& home_;
  const std::string name_;
  const record::row_type type_;
  const record::key key_;
  const record::row_comparator compare_;
  record::batch_pool pool_;
  std::vector<std::string> paths_;
  std::vector<std::vector<record::batch>> rows_;
};

std::vector<std::string> contents(const runs& of, const std::vector<record::batch>& rows) {
  std::vector<std::string> out;
  for (const record::batch& row : rows) out.push_back(of.content(row));
  return out;
}

// The parts, laid one behind the other, are the merge; rows that are equal in the first `kept` parts of the key are in
// one of them.
void expect_right(const std::vector<const runs*>& streams, const cut_rows& cuts, size_t num_parts,
                  const std::vector<record::row_comparator>& prefixes) {
  ASSERT_EQ(cuts.size(), num_parts + 1);
  for (size_t s = 0; s < streams.size(); ++s) {
    std::vector<std::string> got;
    for (size_t part = 0; part < num_parts; ++part) {
      const std::vector<std::string> more = contents(*streams[s], streams[s]->merged(cuts, part, s));
      got.insert(got.end(), more.begin(), more.end());
    }
    EXPECT_EQ(got, contents(*streams[s], streams[s]->all()));
  }
  if (prefixes.empty()) return;
  // Of every two streams, rows of an earlier part are before those of a later one.
  for (size_t part = 0; part + 1 < num_parts; ++part)
    for (size_t a = 0; a < streams.size(); ++a)
      for (size_t b = 0; b < streams.size(); ++b) {
        const std::vector<record::batch> left = streams[a]->merged(cuts, part, a);
        for (size_t later = part + 1; later < num_parts && !left.empty(); ++later) {
          const std::vector<record::batch> right = streams[b]->merged(cuts, later, b);
          if (right.empty()) continue;
          EXPECT_LT(prefixes[a * streams.size() + b].compare(left.back().rows, left.back().heap, right.front().rows,
                                                             right.front().heap),
                    0);
        }
      }
}

TEST(cut_points, parts_are_the_merge_of_the_runs) {
  const record::row_type wide = record::type_of({{"k", "u16"}, {"name", "string"}, {"x", "bytes[6]"}, {"v", "i64"}});
  const record::row_type narrow = record::type_of({{"v", "u32"}, {"k", "u16"}});
  for (unsigned seed = 1; seed <= 60; ++seed) {
    const temporary_directory home;
    record::random_rows random;
    random.random.seed(seed);
    random.distinct = random.below(3) == 0 ? 0 : 1 + random.below(40);
    const record::key key = {{0, random.below(2) == 0, 0, 0}, {1, false, 0, 0}, {2, true, 1, 3}};
    runs first(home, "a", wide, key);
    for (size_t r = 0, n = 1 + random.below(5); r < n; ++r)
      first.add(random, random.below(4) == 0 ? 0 : random.below(900), 1 + random.below(9000));
    const size_t num_parts = 1 + random.below(6);
    expect_right({&first}, cut_points({first.stream()}, num_parts, 0), num_parts, {});
    const size_t kept = 1 + random.below(3);
    const record::key front(key.begin(), key.begin() + static_cast<std::ptrdiff_t>(kept));
    expect_right({&first}, cut_points({first.stream()}, num_parts, kept), num_parts, {{wide, front}});
    // Another stream, of other rows, by the same key.
    const record::key second_key = {{1, key[0].descending, 0, 0}, {0, false, 0, 0}};
    runs second(home, "b", narrow, second_key);
    for (size_t r = 0, n = 1 + random.below(3); r < n; ++r) second.add(random, random.below(2000), 4096);
    const record::key one = {key[0]}, other = {second_key[0]};
    expect_right({&first, &second}, cut_points({first.stream(), second.stream()}, num_parts, 1), num_parts,
                 {{wide, one}, {wide, one, narrow, other}, {narrow, other, wide, one}, {narrow, other}});
  }
}

TEST(cut_points, parts_are_of_about_one_size) {
  const temporary_directory home;
  record::random_rows random;
  const record::row_type type = record::type_of({{"k", "u64"}});
  runs all(home, "a", type, {{0, false, 0, 0}});
  for (int r = 0; r < 4; ++r) all.add(random, 20000, 65536);
  const cut_rows cuts = cut_points({all.stream()}, 5, 1);
  for (size_t part = 0; part < 5; ++part) {
    uint64_t rows = 0;
    for (size_t r = 0; r < 4; ++r) rows += cuts[part + 1][0][r] - cuts[part][0][r];
    EXPECT_NEAR(static_cast<double>(rows), 16000, 4 * 512 + 1);
  }
  // One key: it can be divided where that doesn't matter, and not where it does.
  random.distinct = 1;
  runs same(home, "b", type, {{0, false, 0, 0}});
  for (int r = 0; r < 4; ++r) same.add(random, 20000, 65536);
  const cut_rows divided = cut_points({same.stream()}, 5, 0);
  for (size_t part = 0; part < 5; ++part) {
    uint64_t rows = 0;
    for (size_t r = 0; r < 4; ++r) rows += divided[part + 1][0][r] - divided[part][0][r];
    EXPECT_NEAR(static_cast<double>(rows), 16000, 4 * 512 + 1);
  }
  const cut_rows together = cut_points({same.stream()}, 5, 1);
  size_t num_full = 0;
  for (size_t part = 0; part < 5; ++part) num_full += together[part + 1][0][0] > together[part][0][0];
  EXPECT_EQ(num_full, 1U);
}

// Of the streams together.
uint64_t rows_of_part(const cut_rows& cuts, size_t part) {
  uint64_t rows = 0;
  for (size_t s = 0; s < cuts[part].size(); ++s)
    for (size_t r = 0; r < cuts[part][s].size(); ++r) rows += cuts[part + 1][s][r] - cuts[part][s][r];
  return rows;
}

TEST(cut_points, descending_keys_of_two_streams_come_out_even) {
  const temporary_directory home;
  record::random_rows random;
  const record::row_type left_type = record::type_of({{"k", "u64"}}),
                         right_type = record::type_of({{"s", "string"}, {"k", "u64"}});
  const record::key left_key = {{0, true, 0, 0}}, right_key = {{1, true, 0, 0}};
  runs left(home, "a", left_type, left_key), right(home, "b", right_type, right_key);
  for (int r = 0; r < 3; ++r) left.add(random, 9000, 16384);
  for (int r = 0; r < 2; ++r) right.add(random, 6000, 16384);
  const cut_rows cuts = cut_points({left.stream(), right.stream()}, 4, 1);
  expect_right({&left, &right}, cuts, 4,
               {{left_type, left_key},
                {left_type, left_key, right_type, right_key},
                {right_type, right_key, left_type, left_key},
                {right_type, right_key}});
  for (size_t part = 0; part < 4; ++part)
    EXPECT_NEAR(static_cast<double>(rows_of_part(cuts, part)), 39000.0 / 4, 5 * 512 + 1);
  // The same files are cut at the same rows.
  EXPECT_EQ(cut_points({left.stream(), right.stream()}, 4, 1), cuts);
}

TEST(cut_points, few_rows_and_none) {
  const temporary_directory home;
  record::random_rows random;
  const record::row_type type = record::type_of({{"k", "u64"}, {"s", "string"}});
  const record::key key = {{0, false, 0, 0}, {1, true, 0, 0}};
  for (const size_t num_rows : {0, 1, 2, 3})
    for (const size_t kept : {0, 1, 2}) {
      runs few(home, fmt::format("few{}-{}-", num_rows, kept), type, key);
      few.add(random, 0, 1);
      few.add(random, num_rows, 1);
      few.add(random, 0, 1);
      const record::key front(key.begin(), key.begin() + static_cast<std::ptrdiff_t>(kept));
      const std::vector<record::row_comparator> prefixes =
          kept == 0 ? std::vector<record::row_comparator>() : std::vector<record::row_comparator>{{type, front}};
      expect_right({&few}, cut_points({few.stream()}, 8, kept), 8, prefixes);
    }
  // A stream without a run.
  const cut_rows none = cut_points({{{}, type, key}}, 3, 1);
  EXPECT_EQ(none, cut_rows(4, {{}}));
}

// Rows that are equal in the front of the key are many, and those before and after them few.
TEST(cut_points, a_key_that_most_rows_have_stays_in_one_part) {
  const temporary_directory home;
  const record::row_type type = record::type_of({{"k", "u16"}, {"x", "u64"}});
  const record::key key = {{0, false, 0, 0}, {1, false, 0, 0}};
  for (unsigned seed = 1; seed <= 10; ++seed) {
    record::random_rows random;
    random.random.seed(seed);
    runs skewed(home, fmt::format("s{}-", seed), type, key);
    for (int r = 0; r < 3; ++r) {
      random.distinct = r == 0 ? 0 : 2;
      skewed.add(random, 300 + random.below(3000), 4096);
    }
    for (const size_t num_parts : {2, 5, 9}) {
      expect_right({&skewed}, cut_points({skewed.stream()}, num_parts, 1), num_parts, {{type, {key[0]}}});
      expect_right({&skewed}, cut_points({skewed.stream()}, num_parts, 0), num_parts, {});
    }
  }
}

// Behind rows that are equal, and more than a part should have, the others are shared by the parts that are left.
TEST(cut_points, rows_beside_a_frequent_key_come_out_even) {
  const temporary_directory home;
  const record::row_type type = record::type_of({{"k", "u64"}});
  const record::key key = {{0, false, 0, 0}};
  record::random_rows random;
  runs all(home, "f", type, key);
  random.distinct = 1;
  for (int r = 0; r < 3; ++r) all.add(random, 30000, 16384);
  random.distinct = 0;
  all.add(random, 12000, 16384);
  const cut_rows cuts = cut_points({all.stream()}, 7, 1);
  expect_right({&all}, cuts, 7, {{type, key}});
  std::vector<uint64_t> rows;
  for (size_t part = 0; part < 7; ++part) rows.push_back(rows_of_part(cuts, part));
  std::sort(rows.begin(), rows.end());
  EXPECT_LE(rows.back(), 90000U + 4 * 512);
  EXPECT_LE(rows[5], 12000U / 6 + 4 * 512);
  EXPECT_GT(rows[0], 0U);
}

// Long rows have few samples, and between two of them lie many frames.
TEST(cut_points, samples_may_be_far_apart) {
  const temporary_directory home;
  const record::row_type type = record::type_of({{"k", "u16"}, {"s", "string"}});
  const record::key key = {{0, false, 0, 0}, {1, false, 0, 0}};
  for (unsigned seed = 1; seed <= 6; ++seed) {
    record::random_rows random;
    random.random.seed(seed);
    random.distinct = seed % 3 == 0 ? 5 : 0;
    random.string_prefix.assign(20'000, 'x');
    runs all(home, fmt::format("r{}-", seed), type, key);
    for (const size_t num_rows : {700, 40, 333}) all.add(random, num_rows, 1 + random.below(60'000));
    EXPECT_LT(exchange_samples::load(all.stream().paths[0], type, exchange_index::load(all.stream().paths[0], type))
                  .rows()
                  .size(),
              60U);
    for (const size_t num_parts : {2, 7, 40}) {
      const cut_rows cuts = cut_points({all.stream()}, num_parts, 0);
      expect_right({&all}, cuts, num_parts, {});
      for (size_t part = 0; part < num_parts; ++part)
        EXPECT_LE(rows_of_part(cuts, part), 1073 / num_parts + 3 * 700 / 26) << num_parts;
      expect_right({&all}, cut_points({all.stream()}, num_parts, 1), num_parts, {{type, {key[0]}}});
      expect_right({&all}, cut_points({all.stream()}, num_parts, 2), num_parts, {{type, key}});
    }
  }
}

}  // namespace
}  // namespace flowrun::cluster
