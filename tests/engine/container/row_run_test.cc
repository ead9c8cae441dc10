// Rows that were written as runs come back in their order, whatever their kind, and the runs are freed as they are
// read.
#include "engine/container/row_run.h"

#include <gtest/gtest.h>

#include "tests/engine/container/row_kinds.h"
#include "tests/support/scratch_rig.h"
#include "tests/support/wakers.h"

namespace flowrun::container {
namespace {

using rows = std::vector<std::string>;

void push(row_run_writer& writer, std::vector<batch> input) {
  blocking_waker w;
  for (batch& b : input)
    while (writer.push(b, w).is_blocked()) w.wait();
}

std::vector<runs::run> flushed(row_run_writer& writer) {
  blocking_waker w;
  while (writer.flush(w).is_blocked()) w.wait();
  return writer.take();
}

rows rows_of(scratch_rig& rig, const row_type& type, std::vector<runs::run> runs) {
  row_run_reader reader(type, rig.blocks(), std::move(runs));
  blocking_waker w;
  rows out;
  for (;;) {
    batch b;
    const outcome o = reader.next(b, w);
    if (o.is_done()) return out;
    if (o.is_blocked()) w.wait();
    for (size_t i = 0; i < b.num_rows; ++i) out.push_back(record::content_of(type, b.row(i), b.heap));
  }
}

TEST(row_run, gives_back_what_was_pushed) {
  for (const bool on_disk : {false, true}) {
    for (row_kind kind : row_kinds()) {
      if (kind.max_string_bytes > 1000) kind.max_string_bytes = 90'000;  // longer than a block of 64 KiB
      SCOPED_TRACE(testing::Message() << to_string(kind.type) << (on_disk ? ", on disk" : ""));
      scratch_rig rig({.on_disk = on_disk});
      const std::vector<batch> first = some_rows(rig.pool(), kind, 700'000, 1);
      const std::vector<batch> second = some_rows(rig.pool(), kind, 300, 2);
      row_run_writer writer(kind.type, rig.blocks());
      EXPECT_TRUE(flushed(writer).empty());
      push(writer, first);
      std::vector<runs::run> of_first = flushed(writer);
      push(writer, second);
      std::vector<runs::run> of_second = flushed(writer);
      EXPECT_GT(rig.blocks().used_bytes(), 700'000U);
      EXPECT_EQ(rows_of(rig, kind.type, std::move(of_second)), record::contents_of(kind.type, second));
      EXPECT_EQ(rows_of(rig, kind.type, std::move(of_first)), record::contents_of(kind.type, first));
      EXPECT_EQ(rig.blocks().used_bytes(), 0U);
    }
  }
}

TEST(row_run, frees_what_nobody_takes) {
  scratch_rig rig;
  const row_kind kind = row_kinds().front();
  {
    row_run_writer writer(kind.type, rig.blocks());
    push(writer, some_rows(rig.pool(), kind, 300'000, 1));
  }
  EXPECT_EQ(rig.blocks().used_bytes(), 0U);
}

}  // namespace
}  // namespace flowrun::container
