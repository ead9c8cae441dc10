// First rows that were kept in a file, sound and not.
#include "engine/sort/kept_first_rows.h"

#include <gtest/gtest.h>

#include <cstring>

#include "engine/kernels/wide_rows.h"
#include "tests/support/random_rows.h"

namespace flowrun::sort {
namespace {

class kept_first_rows : public ::testing::Test {
 protected:
  kept_first_rows() {
    settings_.type = record::type_of({{"n", "u64"}, {"name", "string"}, {"x", "f64"}});
    settings_.key = {{1, false, 0, 0}};
    record::batch_pool pool;
    record::random_rows source;
    source.max_string_bytes = 40;
    const record::batch rows = source.one_batch(settings_.type, pool, 5);
    const kernels::wide_rows copies(settings_.type, settings_.key);
    std::vector<std::byte> copy;
    for (size_t i = 0; i < rows.num_rows; ++i) {
      copies.copy_key(rows.row(i), rows.heap, copy);
      runs::run_block block;
      block.first_row_at = run_.first_rows.size();
      run_.blocks.push_back(block);
      run_.first_rows.insert(run_.first_rows.end(), copy.begin(), copy.end());
    }
  }

  bool is_known(const runs::run& run) const {
    std::vector<runs::run> runs = {run};
    forget_unsound_first_rows(settings_, runs);
    return runs[0].knows_first_rows;
  }

  sort_settings settings_;
  runs::run run_;
};

TEST_F(kept_first_rows, sound_ones_stay) {
  EXPECT_TRUE(is_known(run_));
  settings_.key = {{0, false, 0, 0}};  // a number: prefixes are whole keys
  run_.first_rows.clear();
  EXPECT_TRUE(is_known(run_));
}

TEST_F(kept_first_rows, what_ends_too_early_is_forgotten) {
  while (!run_.first_rows.empty()) {
    run_.first_rows.pop_back();
    EXPECT_FALSE(is_known(run_)) << run_.first_rows.size();
  }
}

TEST_F(kept_first_rows, strings_that_lie_elsewhere_are_forgotten) {
  for (const record::string_ref wrong : {record::string_ref{~uint32_t{0}, 1}, {0, ~uint32_t{0}}, {5, 1'000'000}}) {
    runs::run run = run_;
    std::memcpy(run.first_rows.data() + run.blocks[2].first_row_at, &wrong, sizeof wrong);
    EXPECT_FALSE(is_known(run));
  }
}

}  // namespace
}  // namespace flowrun::sort
