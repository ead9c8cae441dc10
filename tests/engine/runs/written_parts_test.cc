// What a run writer tells of parts that are on the disks.
#include <gtest/gtest.h>

#include "engine/runs/run_writer.h"
#include "tests/support/scratch_rig.h"

namespace flowrun::runs {
namespace {

// A block of one row whose first row, as run::first_rows has it, is `row_bytes` long.
void add_block(run_writer& writer, unsigned row_bytes) {
  std::byte* payload = nullptr;
  while ((payload = writer.payload(nullptr)) == nullptr) static_cast<void>(writer.flush(nullptr));
  payload[0] = std::byte(row_bytes);
  const std::vector<std::byte> row(row_bytes, std::byte(row_bytes));
  writer.submit(1, 1, 0, row_bytes, row.data(), row.size());
}

TEST(written_parts, are_all_blocks_in_order_and_each_once) {
  scratch_rig rig({.on_disk = true});
  run_writer writer(rig.blocks(), tiny_block, 3);
  std::vector<std::pair<uint64_t, std::vector<run>>> told;
  writer.tell_of_written([&](uint64_t mark, std::vector<run> parts) { told.emplace_back(mark, std::move(parts)); });
  writer.begin_run();
  add_block(writer, 1);
  add_block(writer, 2);
  writer.mark(10);
  add_block(writer, 3);  // goes on with the run
  writer.mark(20);
  writer.begin_run();
  add_block(writer, 4);
  writer.begin_run();
  add_block(writer, 5);
  writer.mark(30);
  writer.mark(40);  // nothing came
  while (!writer.flush(nullptr).is_done()) {
  }
  ASSERT_EQ(told.size(), 4u);
  const auto first_rows = [](const run& r) {
    std::string out;
    for (size_t i = 0; i < r.blocks.size(); ++i)
      out += std::to_string(static_cast<int>(r.first_rows.at(r.blocks[i].first_row_at)));
    return out;
  };
  EXPECT_EQ(told[0].first, 10u);
  ASSERT_EQ(told[0].second.size(), 1u);
  EXPECT_EQ(first_rows(told[0].second[0]), "12");
  ASSERT_EQ(told[1].second.size(), 1u);
  EXPECT_EQ(first_rows(told[1].second[0]), "3");
  EXPECT_EQ(told[1].second[0].stream, told[0].second[0].stream);
  ASSERT_EQ(told[2].second.size(), 2u);
  EXPECT_EQ(first_rows(told[2].second[0]), "4");
  EXPECT_EQ(first_rows(told[2].second[1]), "5");
  EXPECT_NE(told[2].second[1].stream, told[2].second[0].stream);
  EXPECT_EQ(told[3].first, 40u);
  EXPECT_TRUE(told[3].second.empty());
  const std::vector<run> all = writer.take();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].blocks[0].id, told[0].second[0].blocks[0].id);
  EXPECT_EQ(all[0].blocks[2].id, told[1].second[0].blocks[0].id);
  for (const run& r : all)
    for (const run_block& b : r.blocks) rig.blocks().free(b.id);
}

}  // namespace
}  // namespace flowrun::runs
