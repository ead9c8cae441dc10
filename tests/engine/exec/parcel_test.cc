// What one part of a node hands to the next: it comes out as it went in, and as nothing else.
#include "engine/exec/parcel.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/engine/exec/pipeline_rig.h"

namespace flowrun::exec {
namespace {

TEST(parcel, counts_as_it_says_and_holds_what_was_put_in) {
  const record::batch parcel = make_parcel(std::string("a piece of text"), 3, 15);
  EXPECT_EQ(parcel.num_rows, 3U);
  EXPECT_EQ(parcel.num_bytes(), 15U);
  EXPECT_NE(parcel.heap, make_parcel(std::string("another"), 1, 7).heap);  // what shares a heap is counted once
  EXPECT_EQ(open_parcel<std::string>(parcel), "a piece of text");
}

TEST(parcel, is_opened_as_what_it_holds_only) {
  const record::batch parcel = make_parcel(std::string("text"), 1, 4);
  EXPECT_THROW(open_parcel<std::vector<char>>(parcel), error);
  EXPECT_THROW(open_parcel<const char*>(parcel), error);
  record::batch rows = batch_of({1, 2});
  EXPECT_THROW(open_parcel<std::string>(rows), error);
  EXPECT_THROW(open_parcel<std::string>(record::batch{}), error);
  rows.owner = std::make_shared<std::string>("not a parcel");
  EXPECT_THROW(open_parcel<std::string>(rows), error);
}

TEST(parcel, its_content_dies_with_its_last_copy) {
  auto watched = std::make_shared<int>(1);
  record::batch parcel = make_parcel(watched, 1, 4);
  const std::weak_ptr<int> alive = std::exchange(watched, nullptr);
  record::batch copy = parcel;
  parcel = {};
  EXPECT_EQ(*open_parcel<std::shared_ptr<int>>(copy), 1);
  copy = {};
  EXPECT_TRUE(alive.expired());
}

// Texts from a head, through a pipeline with several workers, to a stage that opens them.
class length_stage final : public parcel_stage<std::string> {
 public:
  void open(const std::string& text, output& out) const override { out.emit(batch_of({text.size()})); }
};

TEST(parcel, goes_through_a_pipeline_in_order) {
  auto head = std::make_unique<function_source>([next = size_t{0}](output& out, waker&) mutable {
    if (next == 200) return outcome::done();
    ++next;
    out.emit(make_parcel(std::string(next, 'x'), 1, next));
    return outcome::ready();
  });
  std::vector<uint64_t> lengths;
  auto sink = std::make_unique<function_sink>([&](record::batch& in, output&, waker&) {
    for (const uint64_t n : numbers_of(in)) lengths.push_back(n);
    return outcome::ready();
  });
  pipeline_rig rig({3, 3, 4});
  rig.run(chain(std::move(head), stages_of(stage(std::make_unique<length_stage>()), stage(std::move(sink)))));
  ASSERT_EQ(lengths.size(), 200U);
  for (size_t i = 0; i < lengths.size(); ++i) EXPECT_EQ(lengths[i], i + 1);
}

}  // namespace
}  // namespace flowrun::exec
