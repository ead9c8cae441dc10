#include "engine/sort/repeats.h"

#include <gtest/gtest.h>

#include "tests/engine/sort/sort_fixture.h"

namespace flowrun::sort {
namespace {

batch one(record::batch_pool& pool, const std::vector<uint64_t>& values) {
  std::vector<batch> batches = numbers(pool, values);
  return batches.empty() ? batch{} : batches.front();
}

std::vector<uint64_t> pushed(repeat_remover& remover, batch rows) {
  remover.push(rows);
  std::vector<uint64_t> out(rows.num_rows);
  for (size_t i = 0; i < rows.num_rows; ++i) std::memcpy(&out[i], rows.row(i), 8);
  return out;
}

TEST(repeat_remover, drops_what_the_batch_before_ended_with) {
  record::batch_pool pool;
  repeat_remover remover(8);
  using values = std::vector<uint64_t>;
  EXPECT_EQ(pushed(remover, one(pool, {0, 1, 2})), (values{0, 1, 2}));
  EXPECT_EQ(pushed(remover, one(pool, {2, 3})), (values{3}));
  EXPECT_EQ(pushed(remover, one(pool, {4, 5})), (values{4, 5}));
  EXPECT_EQ(pushed(remover, one(pool, {5})), (values{}));
  EXPECT_EQ(pushed(remover, one(pool, {})), (values{}));
  EXPECT_EQ(pushed(remover, one(pool, {5, 6})), (values{6}));
  EXPECT_EQ(pushed(remover, one(pool, {6, 6, 7})), (values{7}));
}

TEST(repeat_remover, the_first_batch_is_never_cut) {
  record::batch_pool pool;
  repeat_remover remover(8);
  EXPECT_EQ(pushed(remover, one(pool, {0})), (std::vector<uint64_t>{0}));  // not mistaken for an initial state of zeros
}

TEST(repeat_remover, outlives_the_batches_it_saw) {
  repeat_remover remover(8);
  {
    record::batch_pool pool;
    pushed(remover, one(pool, {7, 8}));
  }
  record::batch_pool pool;
  EXPECT_EQ(pushed(remover, one(pool, {8, 9})), (std::vector<uint64_t>{9}));
}

}  // namespace
}  // namespace flowrun::sort
