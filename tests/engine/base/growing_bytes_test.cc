#include "engine/base/growing_bytes.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <vector>

namespace flowrun {
namespace {

TEST(growing_bytes, hold_what_a_deque_holds) {
  std::mt19937_64 random(1);
  growing_bytes bytes;
  std::deque<std::byte> expected;
  for (int i = 0; i < 2000; ++i) {
    std::vector<std::byte> more(random() % (i % 100 == 0 ? 3'000'000 : 300));
    for (size_t k = 0; k < more.size(); k += 7) more[k] = static_cast<std::byte>(random());
    bytes.append(more.data(), more.size());
    expected.insert(expected.end(), more.begin(), more.end());
    const size_t gone = i % 50 == 49 ? expected.size() / 2 : 0;
    bytes.erase_front(gone);
    expected.erase(expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(gone));
    ASSERT_EQ(bytes.size(), expected.size());
    if (i % 97 == 0) {
      ASSERT_TRUE(std::equal(expected.begin(), expected.end(), bytes.data()));
    }
    if (i % 500 == 499) {
      bytes.clear();
      expected.clear();
    }
  }
}

TEST(growing_bytes, of_none_are_no_memory) {
  growing_bytes bytes;
  bytes.append(nullptr, 0);
  bytes.erase_front(0);
  EXPECT_EQ(bytes.size(), 0U);
  EXPECT_EQ(bytes.data(), nullptr);
}

}  // namespace
}  // namespace flowrun
