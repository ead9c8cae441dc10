// What the grammar refuses, and how it says so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/specs/reading.h"

namespace flowrun::specs {
namespace {

using ::testing::ElementsAre;
using testing::faults_in;
using ::testing::HasSubstr;
using testing::only_fault;
using ::testing::StartsWith;

const std::string sound = "flowrun: 1\nnodes:\n  a: {op: x}\n";

std::string with_node(const std::string& node) { return sound + "  b: " + node + "\n"; }

TEST(grammar, top_level) {
  EXPECT_THAT(faults_in("nodes:\n  a: {op: x}\n"), ElementsAre("1:1 the job doesn't say its version"));
  EXPECT_THAT(faults_in("flowrun: one\nnodes:\n  a: {op: x}\n"), ElementsAre("1:10 'one' is no value for flowrun"));
  EXPECT_THAT(faults_in("flowrun: [1]\nnodes:\n  a: {op: x}\n"), ElementsAre("1:10 'flowrun' is a list"));
  EXPECT_THAT(faults_in("flowrun: 1\n"), ElementsAre("1:1 the job has no nodes"));
  EXPECT_THAT(faults_in("flowrun: 1\nnodes:\n"), ElementsAre("2:1 the job has no nodes"));
  EXPECT_THAT(faults_in("flowrun: 1\nnodes: {}\n"), ElementsAre("2:1 the job has no nodes"));
  EXPECT_THAT(faults_in("flowrun: 1\nnodes:\n  - {op: x}\n"), ElementsAre("3:3 'nodes' is a list"));
  EXPECT_EQ(only_fault(sound + "resorces: {}\n").hint, "did you mean 'resources'?");
  EXPECT_EQ(only_fault(sound + "steps: {}\n").hint, "here it is called 'nodes'");
  EXPECT_EQ(only_fault(sound + "subgraphs: {}\n").hint, "here it is called 'graphs'");
  EXPECT_THAT(faults_in(sound + "name: [a]\ndoc:\ntests: 5\n"),
              ElementsAre("4:7 'name' is a list", "5:1 'doc' has no value", "6:8 'tests' is text"));
  EXPECT_THAT(faults_in(sound + "params:\nresources:\ntypes:\ntests:\n"), ElementsAre());
  EXPECT_THAT(faults_in(sound + "tests:\n  - hello\n"), ElementsAre("5:5 a test is text"));
}

TEST(grammar, nodes) {
  EXPECT_THAT(faults_in(with_node("{in: a}")), ElementsAre("4:3 the node 'b' has no op"));
  EXPECT_THAT(faults_in(with_node("")), ElementsAre("4:3 'b' has no value"));
  EXPECT_THAT(faults_in(with_node("sort")), ElementsAre("4:6 'b' is text"));
  EXPECT_THAT(faults_in(with_node("{op: [x]}")), ElementsAre("4:11 'op' is a list"));
  EXPECT_THAT(faults_in(with_node("{op: x, with: 5}")), ElementsAre("4:20 'with' is text"));
  EXPECT_THAT(faults_in(with_node("{op: x, with: }")), ElementsAre());
  EXPECT_THAT(faults_in(sound + "  9b: {op: x}\n"), ElementsAre("4:3 '9b' is no name for a node"));
  EXPECT_THAT(faults_in(sound + "  b.c: {op: x}\n"), ElementsAre("4:3 'b.c' is no name for a node"));
  EXPECT_EQ(only_fault(with_node("{op: x, inputs: a}")).hint, "here it is called 'in'");
  EXPECT_THAT(only_fault(with_node("{op: x, limit: 5}")).message, HasSubstr("parameters go under with:"));
}

TEST(grammar, inputs) {
  EXPECT_THAT(faults_in(with_node("{op: x, in: a.b.c}")), ElementsAre("4:18 'a.b.c' names no output"));
  EXPECT_THAT(faults_in(with_node("{op: x, in: \"a, b\"}")), ElementsAre("4:18 'a, b' names no output"));
  EXPECT_THAT(faults_in(with_node("{op: x, in: a.}")), ElementsAre("4:18 'a.' names no output"));
  EXPECT_THAT(faults_in(with_node("{op: x, in: }")), ElementsAre("4:14 'in' has no value"));
  EXPECT_THAT(faults_in(with_node("{op: x, in: []}")), ElementsAre("4:18 an empty list of inputs"));
  EXPECT_THAT(faults_in(with_node("{op: x, in: {}}")), ElementsAre("4:18 an empty map of inputs"));
  EXPECT_THAT(faults_in(with_node("{op: x, in: [[a]]}")), ElementsAre("4:19 an input is a list"));
  EXPECT_THAT(faults_in(with_node("{op: x, in: {left: a, 2: a}}")), ElementsAre("4:28 '2' is no name for an input"));
}

TEST(grammar, on_error) {
  EXPECT_THAT(faults_in(with_node("{op: x, on_error: skip}")), ElementsAre());
  EXPECT_THAT(faults_in(with_node("{op: x, on_error: {to: fail}}")), ElementsAre());
  EXPECT_THAT(faults_in(with_node("{op: x, on_error: {max_ratio: 0.5}}")),
              ElementsAre("4:24 on_error doesn't say where the rows go"));
  EXPECT_THAT(faults_in(with_node("{op: x, on_error: {to: bad, max_ratio: 1.5}}")),
              ElementsAre("4:45 max_ratio is 1.5"));
  EXPECT_THAT(faults_in(with_node("{op: x, on_error: {to: bad, max_ratio: half}}")),
              ElementsAre("4:45 'half' is no value for max_ratio"));
  EXPECT_THAT(faults_in(with_node("{op: x, on_error: {to: a b}}")), ElementsAre("4:29 'a b' is no name for a port"));
  EXPECT_THAT(faults_in(with_node("{op: x, on_error: [a]}")), ElementsAre("4:24 'on_error' is a list"));
  EXPECT_EQ(only_fault(with_node("{op: x, on_error: {to: bad, max_ration: 0.1}}")).hint, "did you mean 'max_ratio'?");
}

TEST(grammar, resources) {
  auto faults = [](const std::string& text) { return faults_in(sound + "resources: {" + text + "}\n"); };
  EXPECT_THAT(faults("memory: lots"), ElementsAre("4:21 'lots' is no value for memory"));
  EXPECT_THAT(faults("memory: 0"), ElementsAre("4:21 'memory' is 0"));
  EXPECT_THAT(faults("memory: 150%"), ElementsAre("4:21 '150%' is no share of the memory"));
  EXPECT_THAT(faults("memory: x%"), ElementsAre("4:21 'x%' is no share of the memory"));
  EXPECT_THAT(faults("memory: [1]"), ElementsAre("4:21 'memory' is a list"));
  EXPECT_THAT(faults("threads: 0"), ElementsAre("4:22 threads is 0"));
  EXPECT_THAT(faults("threads: -2"), ElementsAre("4:22 '-2' is no value for threads"));
  EXPECT_THAT(faults("scratch: "), ElementsAre("4:13 'scratch' names no directory"));
  EXPECT_THAT(faults("scratch: [{limit: 1GB}]"), ElementsAre("4:23 a scratch directory without path"));
  EXPECT_THAT(faults("scratch: [{path: /a, limit: 1 potato}]"), ElementsAre("4:41 '1 potato' is no value for limit"));
  EXPECT_THAT(faults("scratch: \"\""), ElementsAre("4:22 the path of a scratch directory is empty"));
  EXPECT_EQ(only_fault(sound + "resources: {memmory: 1GiB}\n").hint, "did you mean 'memory'?");
}

TEST(grammar, types) {
  auto one = [](const std::string& text) { return only_fault(sound + "types:\n  t: {" + text + "}\n"); };
  EXPECT_THAT(faults_in(sound + "types:\n  t: {a: u24, b: \"bytes[65536]\", c: string, d: bool, e: f32}\n"),
              ElementsAre());
  EXPECT_EQ(one("a: u46").hint, "did you mean 'u16'?");
  EXPECT_EQ(one("a: strng").hint, "did you mean 'string'?");
  EXPECT_EQ(one("a: int64").hint, "here it is called 'i64'");
  EXPECT_EQ(one("a: Integer").hint, "here it is called 'i64'");
  EXPECT_EQ(one("a: uint8_t").hint, "here it is called 'u8'");
  EXPECT_EQ(one("a: U64").hint, "here it is called 'u64'");
  EXPECT_EQ(one("a: smallint").hint, "here it is called 'i16'");
  EXPECT_EQ(one("a: bytes").hint, "say how many: \"bytes[16]\"");
  EXPECT_EQ(one("a: \"bytes[0]\"").message, "'bytes[0]' is out of range");
  EXPECT_EQ(one("a: \"bytes[70000]\"").message, "'bytes[70000]' is out of range");
  EXPECT_EQ(one("a: \"bytes[010]\"").message, "unknown type 'bytes[010]'");
  EXPECT_EQ(one("a: bytes[10]").hint, "write \"bytes[10]\", with the quotes around all of the text");
  EXPECT_THAT(one("a-b: u8").message, HasSubstr("no name for a column"));
  EXPECT_THAT(one("").message, HasSubstr("has no columns"));
  EXPECT_EQ(one("a: u46").where, (source_position{"job.yaml", 5, 10}));
  EXPECT_THAT(faults_in(sound + "types:\n  u8: {a: u8}\n  t: u8\n"),
              ElementsAre("5:3 'u8' is a value type already", "6:6 't' is text"));
}

TEST(references, unknown_and_own_nodes) {
  const fault f = only_fault(with_node("{op: x, in: {left: a, right: aa.rest}}"));
  EXPECT_EQ(f.message, "there is no node 'aa'");
  EXPECT_EQ(f.where, (source_position{"job.yaml", 4, 35}));
  EXPECT_EQ(f.hint, "did you mean 'a'?");
  EXPECT_THAT(faults_in(with_node("{op: x, in: b}")), ElementsAre("4:18 the node 'b' reads its own output"));
}

TEST(references, circles_are_named_in_the_direction_of_the_rows) {
  EXPECT_THAT(faults_in("flowrun: 1\nnodes:\n  a: {op: x, in: c}\n  b: {op: x, in: a}\n  c: {op: x, in: b}\n"),
              ElementsAre("4:18 the nodes run in a circle: a → b → c → a"));
  EXPECT_THAT(
      faults_in(
          "flowrun: 1\nnodes:\n  a: {op: x, in: b}\n  b: {op: x, in: a}\n  c: {op: x, in: d}\n  d: {op: x, in: c}\n"),
      ElementsAre(HasSubstr("circle: a → b → a"), HasSubstr("circle: c → d → c")));
}

TEST(references, a_fork_that_meets_again_is_no_circle) {
  EXPECT_THAT(
      faults_in(
          "flowrun: 1\nnodes:\n  m: {op: merge, in: [b, c]}\n  a: {op: x}\n  b: {op: x, in: a}\n  c: {op: x, in: a}\n"),
      ElementsAre());
}

TEST(references, long_chains_and_long_circles) {
  std::string chain = "flowrun: 1\nnodes:\n  n0: {op: x}\n";
  for (int i = 1; i < 10'000; ++i)
    chain += "  n" + std::to_string(i) + ": {op: x, in: n" + std::to_string(i - 1) + "}\n";
  EXPECT_THAT(faults_in(chain), ElementsAre());
  const std::string back = "  n0: {op: x}\n";
  chain.replace(chain.find(back), back.size(), "  n0: {op: x, in: n9999}\n");
  EXPECT_THAT(faults_in(chain),
              ElementsAre(HasSubstr(
                  "circle: n0 → n1 → n2 → n3 → n4 → n5 → n6 → … → n9995 → n9996 → n9997 → n9998 → n9999 → n0")));
}

}  // namespace
}  // namespace flowrun::specs
