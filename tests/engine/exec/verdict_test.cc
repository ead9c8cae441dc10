// What is said to have bounded a run, from reports that are made up.
#include "engine/exec/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "engine/base/units.h"
#include "tests/support/temporary_directory.h"

namespace flowrun::exec {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct made_up {
  std::string id, role;
  double busy = 0, io = 0;
};

// Ten seconds on two threads.
RunReport run_of(double cpu, const std::vector<made_up>& nodes, const std::vector<double>& disks = {},
                 uint64_t merge_passes = 0) {
  RunReport out;
  out.set_wall_seconds(10);
  out.set_cpu_seconds(cpu);
  out.set_threads(2);
  out.set_memory_budget_bytes(64 * MiB);
  for (const made_up& n : nodes) {
    auto* node = out.add_nodes();
    node->set_id(n.id);
    node->set_op(n.role);
    node->set_role(n.role);
    node->set_busy_seconds(n.busy);
    node->mutable_blocked_seconds()->set_io(n.io);
  }
  for (const double busy : disks) {
    auto* disk = out.add_disks();
    disk->set_path("/disk" + std::to_string(out.disks_size()));
    disk->set_busy_seconds(busy);
  }
  if (merge_passes > 0) {
    auto* sort = out.add_sorts();
    sort->set_id("s");
    sort->set_merge_passes(merge_passes);
  }
  return out;
}

struct expected {
  std::string what;
  RunReport report;
  surroundings around;
  std::string kind, name, words;
  double gain;
};

TEST(verdict, names_the_limit_and_what_would_help) {
  const temporary_directory where;
  const std::string pipe = where / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const plan::other_memory fewer{128 * MiB, 2, 1, 400, 200};
  const plan::other_memory none{GiB, 1, 0, 400, 0};
  const std::vector<expected> table = {
      {"one disk", run_of(4, {{"in", "source", 2, 1}}, {9}, 1), {}, "disk", "/disk1", "-T a directory", 0.45},
      {"the busier of two", run_of(4, {}, {3, 9.5}, 1), {}, "disk", "/disk2", "95 %", 0.95 / 3},
      {"rows that would fit", run_of(4, {}, {9}, 1), {2, none, {}}, "disk", "/disk1", "-m 1024MiB", 0.7},
      {"passes", run_of(4, {}, {8}, 2), {2, fewer, {}}, "memory", "s", "-m 128MiB instead of 64.0 MiB", 0.4},
      {"passes, unknown sizes", run_of(4, {}, {8}, 3), {}, "memory", "s", "needed 3 merge passes", 0},
      {"a file that comes slowly",
       run_of(2, {{"in", "source", 1, 9}, {"out", "sink", 1, 1}}),
       {2, {}, {{"in", "a.csv"}}},
       "input",
       "a.csv",
       "the node 'in' waited for it 90 % of the time",
       0.8},
      {"a pipe",
       run_of(2, {{"in", "source", 1, 9}}),
       {2, {}, {{"in", "-"}}},
       "input",
       "standard input",
       "what writes to it faster",
       0.8},
      {"a pipe with a name",
       run_of(2, {{"in", "source", 1, 9}}),
       {2, {}, {{"in", pipe}}},
       "input",
       pipe,
       "what writes to it faster",
       0.8},
      {"a file that is written slowly",
       run_of(2, {{"in", "source", 1, 2}, {"out", "sink", 1, 8}}),
       {2, {}, {{"out", "b.csv"}}},
       "output",
       "b.csv",
       ".zst",
       0.6},
      {"all threads",
       run_of(19, {{"m", "stateless", 16}, {"in", "source", 3}}),
       {8, {}, {}},
       "processor",
       "m",
       "-j 8 instead of 2",
       0.95 * 0.75},
      {"all threads of the machine",
       run_of(19, {{"m", "stateless", 16}, {"in", "source", 3}}),
       {2, {}, {}},
       "processor",
       "m",
       "84 % of that by the node 'm'",
       0},
      {"one node",
       run_of(11, {{"s", "ordered", 9.5}, {"in", "source", 1}}),
       {8, {}, {}},
       "node",
       "s",
       "one thread at a time",
       0.95 - 0.075},
      {"nothing", run_of(6, {{"m", "stateless", 3}}, {4}), {}, "nothing", "/disk1", "more than 40 %", 0},
  };
  for (const expected& e : table) {
    const RunReport::Limit found = limit_of(e.report, e.around);
    EXPECT_EQ(found.kind(), e.kind) << e.what;
    EXPECT_EQ(found.name(), e.name) << e.what;
    EXPECT_NEAR(found.gain(), e.gain, 0.01) << e.what;
    const std::string said = sentence_of(found);
    EXPECT_THAT(said, HasSubstr(e.words)) << e.what;
    EXPECT_THAT(said, Not(HasSubstr("''"))) << e.what;
  }
}

TEST(verdict, of_a_run_of_no_time) {
  RunReport report;
  EXPECT_EQ(limit_of(report, {}).kind(), "nothing");
  EXPECT_THAT(sentence_of(limit_of(report, {})), HasSubstr("over too soon"));
}

}  // namespace
}  // namespace flowrun::exec
