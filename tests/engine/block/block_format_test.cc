// Sealed blocks: intact ones pass, every flipped bit and every wrong place is noticed.
#include "engine/block/block_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/engine/block/recognisable_blocks.h"
#include "tests/support/error_of.h"

namespace flowrun::block {
namespace {

using ::testing::HasSubstr;

std::vector<std::byte> sealed(uint64_t stream, uint64_t index, uint32_t block_bytes = 512, uint64_t generation = 0) {
  std::vector<std::byte> block(block_bytes);
  fill_payload(block.data(), block_bytes, stream, index);
  block_header fields;
  fields.stream = stream;
  fields.index = index;
  fields.generation = generation;
  fields.num_rows = 12;
  fields.rows_bytes = 100;
  fields.heap_bytes = 50;
  fields.flags = 3;
  seal(block.data(), block_bytes, fields);
  return block;
}

const block_place place{4, 9, 0, "/scratch/a", 8192};

TEST(block_format, an_intact_block_gives_its_header_back) {
  const auto block = sealed(4, 9);
  const block_header header = verify(block.data(), 512, place);
  EXPECT_EQ(header.stream, 4u);
  EXPECT_EQ(header.index, 9u);
  EXPECT_EQ(header.num_rows, 12u);
  EXPECT_EQ(header.rows_bytes, 100u);
  EXPECT_EQ(header.heap_bytes, 50u);
  EXPECT_EQ(header.flags, 3u);
  EXPECT_EQ(header.block_bytes, 512u);
  EXPECT_TRUE(has_payload(block.data(), 512, 4, 9));
}

TEST(block_format, every_single_bit_flip_is_noticed) {
  auto block = sealed(4, 9);
  for (size_t bit = 0; bit < block.size() * 8; ++bit) {
    block[bit / 8] ^= std::byte{1} << (bit % 8);
    EXPECT_THROW(verify(block.data(), 512, place), error) << bit;
    block[bit / 8] ^= std::byte{1} << (bit % 8);
  }
  EXPECT_NO_THROW(verify(block.data(), 512, place));
}

TEST(block_format, a_flip_names_disk_offset_and_block) {
  auto block = sealed(4, 9);
  block[300] ^= std::byte{16};
  const error e = error_of([&] { verify(block.data(), 512, place); });
  EXPECT_EQ(e.kind(), error_kind::io);
  EXPECT_THAT(e.what(), HasSubstr("scratch block damaged: /scratch/a at offset 8192: expected block 9 of run 4"));
  EXPECT_THAT(e.what(), HasSubstr("checksum"));
  EXPECT_THAT(e.hint(), HasSubstr("check the disk"));
}

TEST(block_format, intact_blocks_in_the_wrong_place_are_noticed) {
  const auto other_run = sealed(5, 9), other_index = sealed(4, 10), stale = sealed(4, 9, 512, 1);
  EXPECT_THAT(error_of([&] { verify(other_run.data(), 512, place); }).what(), HasSubstr("found block 9 of run 5"));
  EXPECT_THAT(error_of([&] { verify(other_index.data(), 512, place); }).what(), HasSubstr("found block 10 of run 4"));
  EXPECT_THAT(error_of([&] { verify(stale.data(), 512, place); }).what(), HasSubstr("generation 1, intact but"));
}

TEST(block_format, zeros_and_cut_blocks_are_noticed) {
  const std::vector<std::byte> zeros(512);
  EXPECT_THAT(error_of([&] { verify(zeros.data(), 512, place); }).what(), HasSubstr("as if never written"));
  const auto block = sealed(4, 9);
  EXPECT_THROW(verify(block.data(), 256, place), error);
  EXPECT_THAT(error_of([&] { verify(block.data(), 64, place); }).what(), HasSubstr("only 64 bytes"));
}

TEST(block_format, a_payload_that_does_not_fit_is_our_bug) {
  std::vector<std::byte> block(512);
  block_header fields;
  fields.rows_bytes = 400;
  fields.heap_bytes = 49;
  EXPECT_EQ(error_of([&] { seal(block.data(), 512, fields); }).kind(), error_kind::internal);
}

}  // namespace
}  // namespace flowrun::block
