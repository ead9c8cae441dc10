// Slices that several threads merge come out in order, and equal keys meet, also across slices.

#include "engine/sort/slice_lanes.h"

#include <gtest/gtest.h>

#include "tests/engine/sort/sort_rig.h"
#include "tests/support/error_of.h"

namespace flowrun::sort {
namespace {

using record::row_place;

// Rows (k u64, n u64, v bytes[8]).
const record::row_type type = type_of({{"k", "u64"}, {"n", "u64"}, {"v", "bytes[8]"}});

struct row {
  uint64_t k = 0;
  uint64_t n = 0;
  uint64_t v = 0;
  bool operator==(const row&) const = default;
};

class adding_n final : public row_combiner {
 public:
  void add(std::byte* into, const std::byte* other) const override {
    const uint64_t sum = record::load_unsigned(into + 8, 8) + record::load_unsigned(other + 8, 8);
    std::memcpy(into + 8, &sum, sizeof sum);
  }
};

kernels::row_span span_of(const std::vector<row>& rows, uint32_t sequence) {
  const auto* bytes = reinterpret_cast<const std::byte*>(rows.data());
  return {{bytes, bytes}, nullptr, rows.size(), sizeof(row), sequence};
}

row row_at(const row_place& place) {
  row out;
  std::memcpy(&out, place.row, sizeof out);
  return out;
}

// Ascending sequences, cut into slices and merged in lanes.
class lanes : public testing::TestWithParam<unsigned> {
 protected:
  void make_input(uint64_t distinct, size_t num_sequences = 5, size_t num_rows = 700) {
    std::mt19937_64 random(distinct);
    sequences_.assign(num_sequences, {});
    all_.clear();
    for (std::vector<row>& s : sequences_) {
      for (size_t i = 0; i < num_rows; ++i) s.push_back({random() % distinct, 1 + random() % 9, random()});
      std::stable_sort(s.begin(), s.end(), [](const row& a, const row& b) { return a.k < b.k; });
      all_.insert(all_.end(), s.begin(), s.end());
    }
    std::stable_sort(all_.begin(), all_.end(), [](const row& a, const row& b) { return a.k < b.k; });
  }

  // One run through the lanes.
  std::vector<row> run(slice_lanes& lanes, const kernels::row_slices& slices, size_t stride_bytes) {
    task_queue::sleeper sleeper(queue_);
    std::vector<kernels::row_span> left;
    for (const std::vector<row>& s : sequences_) left.push_back(span_of(s, static_cast<uint32_t>(left.size())));
    std::vector<row> out;
    std::vector<size_t> counts;
    for (;;) {
      while (!left.empty() && lanes.has_room()) {
        slices.cut(left, std::vector<bool>(left.size(), true), std::nullopt, stride_bytes, counts);
        kernels::row_slice slice;
        for (size_t i = 0; i < left.size(); ++i) {
          if (counts[i] > 0) slice.parts.push_back(left[i].first(counts[i]));
          left[i].drop(counts[i]);
        }
        std::erase_if(left, [](const kernels::row_span& s) { return s.num_rows == 0; });
        lanes.start(std::move(slice));
      }
      if (left.empty()) lanes.close();
      std::span<const row_place> rows;
      const outcome s = lanes.next(rows, sleeper);
      if (s.is_blocked()) {
        sleeper.wait();
        continue;
      }
      if (s.is_done()) {
        if (left.empty()) return out;
        continue;
      }
      EXPECT_FALSE(rows.empty());
      for (const row_place& place : rows) out.push_back(row_at(place));
      lanes.pop();
    }
  }

  std::vector<row> merged(const sort_settings& settings, size_t num_lanes, size_t stride_bytes) {
    const kernels::row_slices slices(settings.type, settings.key);
    slice_lanes lanes(slices, settings, queue_.poster(), num_lanes);
    const std::vector<std::vector<row>> original = sequences_;  // combining changes rows
    const std::vector<row> first = run(lanes, slices, stride_bytes);
    sequences_ = original;
    EXPECT_TRUE(run(lanes, slices, stride_bytes) == first) << "something is left of the first run in the second";
    return first;
  }

  task_queue queue_{GetParam()};
  std::vector<std::vector<row>> sequences_;
  std::vector<row> all_;
};

TEST_P(lanes, keep_order_and_fold_equal_keys) {
  for (const uint64_t distinct : {uint64_t{1}, uint64_t{3}, uint64_t{500}, uint64_t{1'000'000}}) {
    for (const size_t num_lanes : {1, 2, 5}) {
      for (const size_t stride_bytes : {size_t{1}, size_t{2'000}, size_t{1} << 30}) {
        make_input(distinct);
        sort_settings settings = sort_by(type, columns({0}));
        EXPECT_TRUE(merged(settings, num_lanes, stride_bytes) == all_) << distinct;

        std::vector<row> once, sums;
        for (const row& r : all_) {
          if (once.empty() || once.back().k != r.k) {
            once.push_back(r);
            sums.push_back(r);
          } else {
            sums.back().n += r.n;
          }
        }
        settings.combiner = std::make_shared<adding_n>();
        EXPECT_TRUE(merged(settings, num_lanes, stride_bytes) == sums) << distinct;
        settings.combiner = nullptr;
        settings.unique = true;
        make_input(distinct);
        for (std::vector<row>& s : sequences_)  // sequences have each key once
          s.erase(std::unique(s.begin(), s.end(), [](const row& a, const row& b) { return a.k == b.k; }), s.end());
        EXPECT_TRUE(merged(settings, num_lanes, stride_bytes) == once) << distinct;
      }
    }
  }
}

TEST_P(lanes, hand_on_what_a_merge_throws) {
  class failing final : public row_combiner {
   public:
    void add(std::byte*, const std::byte*) const override { throw error(error_kind::bad_data, "not to be added"); }
  };
  make_input(3);
  sort_settings settings = sort_by(type, columns({0}));
  settings.combiner = std::make_shared<failing>();
  for (const size_t num_lanes : {1, 4}) {
    const kernels::row_slices slices(settings.type, settings.key);
    slice_lanes lanes(slices, settings, queue_.poster(), num_lanes);
    EXPECT_EQ(error_of([&] { run(lanes, slices, 1'000); }).kind(), error_kind::bad_data);
  }
}

INSTANTIATE_TEST_SUITE_P(threads, lanes, testing::Values(0U, 3U));

}  // namespace
}  // namespace flowrun::sort
