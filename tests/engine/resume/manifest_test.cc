// What one process notes is what the next one finds; what doesn't fit is named.
#include "engine/resume/manifest.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <array>
#include <filesystem>
#include <functional>

#include "engine/resume/record_file.h"
#include "engine/resume/resume.pb.h"
#include "engine/resume/resume_directory.h"
#include "tests/support/temporary_directory.h"

namespace flowrun::resume {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class manifest_test : public ::testing::Test {
 protected:
  manifest_test() { identity_ = {"job.yaml", 1, {{"the job", "abc", true}, {"the memory budget", "1 MiB"}}, {}}; }

  // A process that attaches, does something, and ends. Its scratch has a file of its own.
  template <class Work>
  void process(Work work) {
    manifest notes({where_.path()}, identity_);
    reasons_ = notes.reasons_to_start_over();
    block::manager_options options;
    options.disks = {{.path = where_.path(), .kept_file = notes.kept_file(0)}};
    options.backend = backend_.get();
    options.reserve_step = 64 * KiB;
    block::block_manager blocks(std::move(options));
    blocks.open_all();
    notes.attach(blocks, [this](const std::string& text) { warnings_ += text; });
    work(notes, blocks);
    notes.end();
  }

  static runs::run run_of(block::block_manager& blocks, uint64_t stream, size_t num_blocks) {
    runs::run out;
    out.stream = stream;
    out.block_bytes = 4096;
    for (size_t i = 0; i < num_blocks; ++i) {
      runs::run_block b;
      b.id = blocks.allocate(0, 4096);
      b.first = (record::word128{stream} << 64U) | i;
      b.first_row_at = out.first_rows.size();
      b.num_rows = 10;
      out.first_rows.push_back(std::byte(i));
      out.num_rows += b.num_rows;
      out.blocks.push_back(b);
    }
    return out;
  }

  const temporary_directory where_;
  const std::unique_ptr<io::backend> backend_ = io::make_backend(io::backend_kind::threads);
  job_identity identity_;
  std::vector<std::string> reasons_;
  std::string warnings_;
};

TEST_F(manifest_test, the_next_process_finds_runs_and_where_to_go_on) {
  block::block_id first;
  process([&](manifest& notes, block::block_manager& blocks) {
    kept_sort& sort = notes.sort("by_k");
    sort.note_position(0, {{5}, {}}, std::nullopt);
    sort.note_position(25, {{6, 7}, {"state", std::string(1, 0)}}, record::row_tally{25, 77});
    runs::run run = run_of(blocks, blocks.next_stream_id(), 2);
    first = run.blocks[0].id;
    sort.written(20, {run});
    runs::run more = run_of(blocks, run.stream, 1);
    sort.written(30, {more, run_of(blocks, blocks.next_stream_id(), 1)});
    notes.sort("other").complete(record::row_tally{1, 2});
  });
  process([&](manifest& notes, block::block_manager& blocks) {
    const sort_progress& found = notes.sort("by_k").before();
    EXPECT_EQ(found.rows_taken, 30u);
    EXPECT_THAT(found.position.source, ElementsAre(6, 7));
    EXPECT_THAT(found.position.states, ElementsAre("state", std::string(1, 0)));
    EXPECT_EQ(found.rows_to_skip, 5u);
    EXPECT_EQ(found.before_position, (record::row_tally{25, 77}));
    EXPECT_EQ(found.all, std::nullopt);
    EXPECT_EQ(notes.sort("other").before().all, (record::row_tally{1, 2}));
    EXPECT_FALSE(found.is_complete);
    ASSERT_EQ(found.runs.size(), 2u);
    EXPECT_EQ(found.runs[0].num_rows, 30u);
    ASSERT_EQ(found.runs[0].blocks.size(), 3u);
    EXPECT_EQ(found.runs[0].blocks[0].id, first);
    EXPECT_EQ(found.runs[0].blocks[1].first, (record::word128{found.runs[0].stream} << 64U) | 1);
    EXPECT_EQ(found.runs[0].blocks[2].first_row_at, 2u);
    EXPECT_TRUE(notes.sort("other").is_complete());
    EXPECT_EQ(blocks.used_bytes(), 4u * 4096);
    EXPECT_GT(blocks.next_stream_id() ^ found.runs[1].stream, 1'000'000u);  // numbered from elsewhere
  });
  EXPECT_THAT(reasons_, IsEmpty());
  EXPECT_EQ(warnings_, "");
}

TEST_F(manifest_test, space_is_used_again_when_a_sort_is_released) {
  process([&](manifest& notes, block::block_manager& blocks) {
    runs::run run = run_of(blocks, 1, 4);
    notes.sort("a").written(40, {run});
    for (const runs::run_block& b : run.blocks) blocks.free(b.id);
    EXPECT_EQ(blocks.used_bytes(), 4u * 4096);
    notes.sort("a").release();
    notes.end();
    EXPECT_EQ(blocks.used_bytes(), 0u);
  });
  process([&](manifest& notes, block::block_manager& blocks) {
    EXPECT_TRUE(notes.sort("a").before().is_released);
    EXPECT_EQ(blocks.used_bytes(), 0u);
  });
}

TEST_F(manifest_test, a_merged_run_takes_the_place_of_its_parts) {
  uint64_t streams[4];
  process([&](manifest& notes, block::block_manager& blocks) {
    kept_sort& sort = notes.sort("a");
    std::vector<runs::run> parts;
    for (uint64_t& stream : streams) parts.push_back(run_of(blocks, stream = blocks.next_stream_id(), 2));
    sort.written(80, {parts[0], parts[1], parts[2]});
    const runs::run made = run_of(blocks, streams[3], 4);
    for (const size_t i : {1, 2})
      for (const runs::run_block& b : parts[i].blocks) blocks.free(b.id);
    EXPECT_EQ(blocks.used_bytes(), 12u * 4096);  // those that were merged are kept until that is noted
    sort.merged({streams[1], streams[2]}, made);
    notes.end();
    EXPECT_EQ(blocks.used_bytes(), 8u * 4096);
  });
  process([&](manifest& notes, block::block_manager& blocks) {
    const sort_progress& found = notes.sort("a").before();
    ASSERT_EQ(found.runs.size(), 2u);
    EXPECT_EQ(found.runs[0].stream, streams[0]);
    EXPECT_EQ(found.runs[1].stream, streams[3]);
    EXPECT_EQ(found.runs[1].num_rows, 40u);
    EXPECT_EQ(blocks.used_bytes(), 6u * 4096);
    for (const runs::run& r : found.runs)
      for (const runs::run_block& b : r.blocks) blocks.free(b.id);
    notes.sort("a").release();
    notes.end();
    EXPECT_EQ(blocks.used_bytes(), 0u);
  });
}

TEST_F(manifest_test, the_next_process_finds_the_part_of_an_output) {
  const std::string path = where_.path() + "/.out.flowrun-resume-1";
  const auto mark = [&](manifest& notes, block::block_manager&) {
    where_.write(".out.flowrun-resume-1", "0123456789");
    const std::shared_ptr<io::file> content = io::file::open(path, io::open_mode::read);
    notes.output("out").written(content, path, 4, {{1}, {}});
    notes.output("out").written(content, path, 8, {{2, 3}, {}});
  };
  process(mark);
  const auto found = [&](manifest& notes, block::block_manager&) {
    EXPECT_EQ(notes.output("out").before().path, path);
    EXPECT_EQ(notes.output("out").before().num_bytes, 8u);
    EXPECT_THAT(notes.output("out").before().position.source, ElementsAre(2, 3));
  };
  process(found);
  process(found);
  const auto lost = [&](manifest& notes, block::block_manager&) {
    EXPECT_EQ(notes.output("out").before().num_bytes, 0u);
    EXPECT_FALSE(std::filesystem::exists(path));
  };
  std::filesystem::resize_file(path, 7);
  process(lost);
  process(mark);
  std::filesystem::rename(path, path + "2");
  where_.write(".out.flowrun-resume-1", "of another file");
  process(lost);
  // Its inode has the number of the one that was removed, as often happens.
  process(mark);
  std::filesystem::rename(path, path + "3");
  where_.write(".out.flowrun-resume-1", "of another file");
  const std::string records = manifest_in(where_.path(), identity_.key);
  Record last;
  ASSERT_TRUE(last.ParseFromString(records_of(records).whole.back()));
  ASSERT_EQ(last.output().num_bytes(), 8u);
  struct stat another {};
  ASSERT_EQ(::stat(path.c_str(), &another), 0);
  last.mutable_output()->set_inode(another.st_ino);
  record_file(records).append(last.SerializeAsString());
  process(lost);
  process(mark);
  identity_.facts[0].value = "another job";
  process(lost);
}

TEST_F(manifest_test, the_next_process_finds_the_state_of_a_loop) {
  process([&](manifest& notes, block::block_manager& blocks) {
    kept_loop& loop = notes.loop("levels");
    loop.written(
        {3, {7}, {{"cur", {run_of(blocks, 1, 2)}}, {"prev", {run_of(blocks, 2, 1)}}}, {{run_of(blocks, 3, 1)}}});
    loop.written({5, {8}, {{"cur", {run_of(blocks, 4, 3)}}}, {{run_of(blocks, 5, 1)}}});
    notes.end();
    EXPECT_EQ(blocks.used_bytes(), 6u * 4096);  // what was carried before has made room
  });
  process([&](manifest& notes, block::block_manager& blocks) {
    const loop_progress& found = notes.loop("levels").before();
    EXPECT_EQ(found.iteration, 5u);
    EXPECT_THAT(found.scalars, ElementsAre(8));
    ASSERT_EQ(found.carried.size(), 2u);
    ASSERT_EQ(found.carried.at("cur").size(), 1u);
    EXPECT_EQ(found.carried.at("cur")[0].num_rows, 30u);
    EXPECT_EQ(found.carried.at("prev")[0].stream, 2u);
    ASSERT_EQ(found.collected.size(), 1u);
    ASSERT_EQ(found.collected[0].size(), 2u);
    EXPECT_EQ(found.collected[0][1].stream, 5u);
    EXPECT_EQ(blocks.used_bytes(), 6u * 4096);
    EXPECT_EQ(notes.loop("other").before().iteration, 0u);
  });
}

TEST_F(manifest_test, what_has_changed_is_named_and_nothing_is_used) {
  const auto note = [&](manifest& notes, block::block_manager& blocks) {
    notes.sort("a").written(20, {run_of(blocks, 1, 2)});
  };
  const auto nothing = [&](manifest& notes, block::block_manager& blocks) {
    EXPECT_EQ(notes.sort("a").before().rows_taken, 0u);
    EXPECT_EQ(blocks.used_bytes(), 0u);
  };
  process(note);
  identity_.facts[0].value = "abd";
  process(nothing);
  EXPECT_THAT(reasons_, ElementsAre("the job has changed"));
  process(note);
  identity_.facts[1].value = "2 MiB";
  EXPECT_THAT(summary_for({where_.path()}, identity_).reasons_to_start_over,
              ElementsAre("the memory budget was 1 MiB and is 2 MiB"));
  process(nothing);
  EXPECT_THAT(reasons_, ElementsAre("the memory budget was 1 MiB and is 2 MiB"));
  process([&](manifest& notes, block::block_manager& blocks) {
    note(notes, blocks);
    notes.spoil("a disk failed");
  });
  process(nothing);
  EXPECT_THAT(reasons_, ElementsAre("a disk failed"));
  where_.write("in", "content");
  identity_.inputs = {look_at_input(where_.path() + "/in")};
  process(nothing);
  EXPECT_THAT(reasons_, ElementsAre(HasSubstr("was no input")));
  process(note);
  where_.write("in", "c0ntent");
  identity_.inputs = {look_at_input(where_.path() + "/in")};
  process(nothing);
  EXPECT_THAT(reasons_, ElementsAre(HasSubstr("the content of")));
}

// A record that is whole, with a right checksum, and says what no process has written.
TEST_F(manifest_test, a_record_that_cannot_be_is_named_and_nothing_is_used) {
  const auto block = [](Record& record) -> Block& {
    SortWritten& written = *record.mutable_written();
    written.set_node("a");
    written.set_rows_taken(10);
    RunPart& part = *written.add_runs();
    part.set_stream(1);
    part.set_block_bytes(4096);
    Block& out = *part.add_blocks();
    out.set_num_bytes(4096);
    out.set_num_rows(10);
    return out;
  };
  const std::vector<std::function<void(Record&)>> wrong = {
      [&](Record& r) { block(r).set_disk(7); },
      [&](Record& r) { block(r).set_offset(~uint64_t{0} - 4095); },
      [&](Record& r) { block(r).set_offset(100); },
      [&](Record& r) { block(r).set_num_bytes(0); },
      [&](Record& r) { block(r).set_first_row_at(1); },
      [&](Record& r) {
        const Block one = block(r);
        *r.mutable_written()->mutable_runs(0)->add_blocks() = one;  // twice the same place
      },
      [&](Record& r) {
        block(r);
        r.mutable_written()->set_rows_to_skip(11);
      },
      [&](Record& r) {
        block(r);
        RunPart part = r.written().runs(0);
        part.set_block_bytes(8192);
        part.clear_blocks();
        *r.mutable_written()->add_runs() = part;
      },
      [&](Record& r) { r.mutable_identity()->set_format(1); },
      [&](Record& r) { r.mutable_spoiled(); },  // and says not why
  };
  for (size_t i = 0; i < wrong.size(); ++i) {
    process([](manifest&, block::block_manager& blocks) { blocks.allocate(0, 4096); });
    Record record;
    wrong[i](record);
    record_file(manifest_in(where_.path(), identity_.key)).append(record.SerializeAsString());
    process([&](manifest& notes, block::block_manager& blocks) {
      EXPECT_EQ(notes.sort("a").before().rows_taken, 0u) << i;
      EXPECT_EQ(blocks.used_bytes(), 0u) << i;
    });
    EXPECT_THAT(reasons_, Contains("its manifest is damaged")) << i;
  }
  for (const char* then : {"", "a disk failed"}) {  // what is damaged stays so, whatever comes behind it
    std::array<Record, 2> records;
    block(records[0]);
    records[0].mutable_written()->set_rows_to_skip(11);
    records[1].mutable_spoiled()->set_why(then);
    for (const Record& one : records)
      record_file(manifest_in(where_.path(), identity_.key)).append(one.SerializeAsString());
    process([](manifest& notes, block::block_manager&) { EXPECT_EQ(notes.sort("a").before().rows_taken, 0u); });
    EXPECT_THAT(reasons_, ElementsAre("its manifest is damaged"));
  }
  record_file(manifest_in(where_.path(), identity_.key)).append("\xFF\xFF");  // no record at all
  process([](manifest&, block::block_manager&) {});
  EXPECT_THAT(reasons_, ElementsAre("its manifest is damaged"));
}

TEST_F(manifest_test, success_removes_everything) {
  process([&](manifest& notes, block::block_manager& blocks) {
    notes.sort("a").written(20, {run_of(blocks, 1, 2)});
    notes.remove();
  });
  EXPECT_TRUE(std::filesystem::is_empty(where_.path()));
}

}  // namespace
}  // namespace flowrun::resume
