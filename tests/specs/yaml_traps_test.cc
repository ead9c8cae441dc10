// One test for each thing that yaml-cpp lets slip, reads wrongly or says badly.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "specs/yaml_tree.h"
#include "tests/specs/reading.h"

namespace flowrun::specs {
namespace {

using ::testing::ElementsAre;
using testing::faults_in;
using ::testing::HasSubstr;
using testing::job_with;
using testing::only_fault;
using ::testing::StartsWith;

const std::string head = "flowrun: 1\nnodes:\n  a: {op: generate}\n";

TEST(yaml_traps, second_document_is_a_fault) {
  EXPECT_THAT(faults_in(head + "---\nflowrun: 1\n"), ElementsAre("4:1 a second document"));
  EXPECT_THAT(faults_in("---\n" + head + "...\n"), ElementsAre());
}

TEST(yaml_traps, a_key_without_a_space_behind_its_colon) {
  const std::string begin = "flowrun: 1\nnodes:\n  a:\n    ";
  for (const std::string behind : {"\n    in: x\n", "\n\n    # why\n    with: {by: [v]}\n"}) {
    const fault f = only_fault(begin + "op:sort" + behind);
    EXPECT_EQ(f.where, (source_position{"job.yaml", 4, 5})) << behind;
    EXPECT_EQ(f.message, "a space is missing after the colon in 'op:sort'");
    EXPECT_EQ(f.expected, "op: sort");
  }
  EXPECT_THAT(faults_in(begin + "op: sort\n    in: x\n    with:[a]\n  b: {op: map}\n"),
              ElementsAre("6:5 a space is missing after the colon in 'with:[a]'"));
  EXPECT_THAT(faults_in(begin + "in: x\n    op:sort  \n  b: {op: map}\n"),
              ElementsAre("5:5 a space is missing after the colon in 'op:sort'"));
  EXPECT_THAT(faults_in("flowrun:1\nnodes: {}\n"),
              ElementsAre("1:1 a space is missing after the colon in 'flowrun:1'"));
  EXPECT_THAT(faults_in(begin + "op: sort\n    doc: see\n      https://x\n      and: more\n"),
              ElementsAre(StartsWith("7:")));
  EXPECT_THAT(faults_in("flowrun: 1\nnodes:\n  a: {op:sort}\n"),
              ElementsAre("3:3 the node 'a' has no op", "3:7 a space is missing after the colon in 'op:sort'"));
  EXPECT_THAT(faults_in("flowrun: 1\nnodes:\n  a: {op: sort, in: b, with: {by:[y]}}\n"),
              ElementsAre("3:31 a space is missing after the colon in 'by:[y]'"));
  EXPECT_THAT(faults_in("flowrun: 1\nnodes:\n  a: {op: sort, in: b, with:{by: y}}\n"),
              ElementsAre("3:24 a space is missing after the colon in 'with:{by: y}'"));
}

TEST(yaml_traps, escapes_are_characters_of_utf8) {
  fault_sink faults("job.yaml");
  const auto tree = read_yaml(source_text("a: \"1\\_2\\N3\\L4\\xA05\\u00e96\"\n\"k\\_\": 1\n"), faults);
  ASSERT_TRUE(tree && faults.take().empty());
  EXPECT_EQ(text(tree->map().entries(0).value()),
            "1\xC2\xA0"
            "2\xC2\x85"
            "3\xE2\x80\xA8"
            "4\xC2\xA0"
            "5\xC3\xA9"
            "6");
  EXPECT_EQ(tree->map().entries(1).key(), "k\xC2\xA0");
}

TEST(yaml_traps, text_after_the_document_is_a_fault) {
  EXPECT_THAT(faults_in("{flowrun: 1, nodes: {a: {op: generate}}}\nb: 1\n"),
              ElementsAre(StartsWith("2:1 text after the end of the job")));
}

TEST(yaml_traps, cycle_through_an_anchor) {
  EXPECT_THAT(faults_in(job_with("{b: &x [*x]}")), ElementsAre(StartsWith("3:33 an alias inside its own anchor")));
  EXPECT_THAT(faults_in(job_with("{b: &x {c: [1, *x]}}")),
              ElementsAre(StartsWith("3:40 an alias inside its own anchor")));
}

TEST(yaml_traps, an_alias_copies_the_value) {
  const read_result result = read_job(job_with("{b: &x [1, 2], c: *x}"), "job.yaml");
  ASSERT_TRUE(result.faults.empty());
  const Value* copy = find(result.job.nodes(0).with(), "c");
  ASSERT_TRUE(copy && is_list(*copy));
  EXPECT_EQ(to_uint(copy->list().items(1)), 2u);
}

TEST(yaml_traps, unknown_alias) {
  const fault f = only_fault(job_with("{where: *x}"));
  EXPECT_THAT(f.message, HasSubstr("an alias (*name) of an anchor that is not defined"));
  EXPECT_THAT(f.hint, HasSubstr("in quotes"));
  EXPECT_EQ(f.where.line, 3);
}

TEST(yaml_traps, merge_keys_are_refused) {
  const fault f = only_fault("flowrun: 1\nnodes:\n  a: &x {op: generate}\n  b:\n    <<: *x\n    op: sort\n");
  EXPECT_THAT(f.message, HasSubstr("merge keys"));
  EXPECT_EQ(f.where, (source_position{"job.yaml", 5, 5}));
}

TEST(yaml_traps, duplicate_keys_name_the_first) {
  EXPECT_THAT(faults_in(head + "  b: {op: sort, op: map, in: a}\n  a: {op: map}\n"),
              ElementsAre("4:17 the key 'op' stands here twice; the first is in line 4",
                          "5:3 the key 'a' stands here twice; the first is in line 3"));
  const read_result result = read_job(head + "  a: {op: map}\n", "job.yaml");
  ASSERT_EQ(result.job.nodes_size(), 1);
  EXPECT_EQ(result.job.nodes(0).op(), "generate");
}

TEST(yaml_traps, octal_looking_numbers) {
  const fault f = only_fault(job_with("{rows: 010}"));
  EXPECT_EQ(f.where, (source_position{"job.yaml", 3, 32}));
  EXPECT_THAT(f.message, HasSubstr("'010' looks octal"));
  EXPECT_EQ(f.hint, "write 10, or \"010\" in quotes if it is text");
  EXPECT_THAT(only_fault(job_with("{rows: -007}")).hint, StartsWith("write -7,"));
  EXPECT_THAT(only_fault(job_with("{rows: 00}")).hint, StartsWith("write 0,"));
  EXPECT_THAT(faults_in(job_with("{rows: [0, 10, 0.5, 0x10, \"010\", 0o17, 1e05]}")), ElementsAre());
}

TEST(yaml_traps, depth_bomb) {
  for (const char* bracket : {"[", "{a: "}) {
    std::string text = "flowrun: 1\nnodes: ";
    for (int i = 0; i < 100'000; ++i) text += bracket;
    EXPECT_THAT(faults_in(text), ElementsAre(StartsWith("2:"))) << bracket;
    EXPECT_THAT(only_fault(text).message, HasSubstr("nested more than 32 levels deep"));
  }
  std::string blocks;
  for (int i = 0; i < 600; ++i) blocks += std::string(static_cast<size_t>(i), ' ') + "a:\n";
  EXPECT_THAT(only_fault(blocks).message, HasSubstr("nested more than 32 levels deep"));
  std::string dashes = "nodes: \n ";
  for (int i = 0; i < 600; ++i) dashes += "- ";
  EXPECT_THAT(only_fault(dashes).message, HasSubstr("nested more than 32 levels deep"));
}

TEST(yaml_traps, depth_through_aliases) {
  std::string text = "flowrun: 1\nnodes:\n  a:\n    op: x\n    with:\n      k0: &k0 [1]\n";
  for (int i = 1; i < 60; ++i) {
    const std::string k = "k" + std::to_string(i);
    text += "      " + k + ": &" + k + " [*k" + std::to_string(i - 1) + "]\n";
  }
  EXPECT_THAT(only_fault(text).message, HasSubstr("nested more than 32 levels deep"));
}

TEST(yaml_traps, the_deepest_job_survives_protobuf) {
  std::string with = "{a: 1}";
  for (int i = 4; i < max_depth; ++i) with = "{a: " + with + "}";
  const read_result result = read_job(job_with(with), "job.yaml");
  ASSERT_THAT(testing::faults_of(result), ElementsAre());
  JobSpec copy;
  ASSERT_TRUE(copy.ParseFromString(result.job.SerializeAsString()));
  EXPECT_EQ(copy.SerializeAsString(), result.job.SerializeAsString());
  EXPECT_THAT(only_fault(job_with("{a: " + with + "}")).message, HasSubstr("levels deep"));
}

TEST(yaml_traps, alias_bomb_of_values) {
  std::string text = "flowrun: 1\nnodes:\n  a:\n    op: x\n    with:\n      k0: &k0 [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\n";
  for (int i = 1; i < 12; ++i) {
    text += "      k" + std::to_string(i) + ": &k" + std::to_string(i) + " [";
    for (int j = 0; j < 10; ++j) text += (j ? ", *k" : "*k") + std::to_string(i - 1);
    text += "]\n";
  }
  EXPECT_EQ(only_fault(text).message, "more than 100,000 values once every alias is copied out");
}

TEST(yaml_traps, alias_bomb_of_text) {
  std::string text =
      "flowrun: 1\nnodes:\n  a:\n    op: x\n    with:\n      k: &k \"" + std::string(1'000'000, 'x') + "\"\n      l: [";
  for (int j = 0; j < 100; ++j) text += j ? ", *k" : "*k";
  EXPECT_THAT(only_fault(text + "]\n").message, HasSubstr("more than 16 MiB of text"));
}

TEST(yaml_traps, too_many_values) {
  std::string text = "flowrun: 1\nnodes: [";
  for (int i = 0; i < 200'000; ++i) text += "1,";
  EXPECT_EQ(only_fault(text + "]\n").message, "more than 100,000 values");
}

TEST(yaml_traps, file_too_large) {
  const fault f = only_fault(head + "# " + std::string(5 << 20, 'x'));
  EXPECT_THAT(f.message, HasSubstr("larger than 4.00 MiB"));
}

TEST(yaml_traps, tags_are_refused) {
  const fault f = only_fault(job_with("{k: !!python/object:os.system ls}"));
  EXPECT_THAT(f.message, HasSubstr("a tag (tag:yaml.org,2002:python/object:os.system)"));
  EXPECT_EQ(f.where, (source_position{"job.yaml", 3, 29}));
  EXPECT_THAT(only_fault(job_with("{where: !blocked}")).hint, HasSubstr("text that begins with '!' in quotes"));
  EXPECT_THAT(only_fault(job_with("{by: !!seq [a]}")).message, StartsWith("a tag"));
}

TEST(yaml_traps, text_that_begins_with_a_sign_of_yaml) {
  for (const char* with : {"{where: !! x}", "{where: !<a b}", "{where: & x}", "{where: * x}", "{where: `x`}"})
    EXPECT_THAT(only_fault(job_with(with)).hint, HasSubstr("in quotes")) << with;
  EXPECT_THAT(only_fault("flowrun: 1\ndoc: > 5 rows\n").hint, HasSubstr("text that begins with '|' or '>' in quotes"));
}

TEST(yaml_traps, keys_that_are_not_text) {
  EXPECT_THAT(faults_in(job_with("{[a, b]: 1}")), ElementsAre("3:26 a key that is a list or a map"));
  EXPECT_THAT(faults_in(job_with("{{a: b}: 1}")), ElementsAre("3:26 a key that is a list or a map"));
  EXPECT_THAT(faults_in(job_with("{~: 1}")), ElementsAre("3:26 a key that is not text"));
  EXPECT_THAT(faults_in(job_with("{a: &x b, *x : 1}")), ElementsAre("3:35 a key that is not text"));
}

TEST(yaml_traps, words_that_a_bracket_cuts) {
  struct sample {
    std::string with, word;
    int column;
  };
  for (const auto& [with, word, column] :
       {sample{"{type: bytes[10], x: 1}", "bytes[10]", 32}, sample{"{by: key[0:10]}", "key[0:10]", 30},
        sample{"{let: {d: row[-1].x}}", "row[-1].x", 35}, sample{"{path: ${x}}", "${x}", 32},
        sample{"{by: [key[0:10], b]}", "key[0:10]", 31}, sample{"[${x}]", "${x}", 26}}) {
    const fault f = only_fault(job_with(with));
    EXPECT_THAT(f.message, StartsWith("'" + word + "' needs quotes here")) << with;
    EXPECT_THAT(f.hint, StartsWith("write \"" + word + "\"")) << with;
    EXPECT_EQ(f.where, (source_position{"job.yaml", 3, column})) << with;
  }
}

TEST(yaml_traps, brackets_that_stay_open) {
  EXPECT_THAT(faults_in("flowrun: 1\nnodes:\n  a: {op: generate\n"), ElementsAre("3:6 this '{' is never closed"));
  EXPECT_THAT(faults_in("flowrun: 1\nnodes: {a: {op: x}"), ElementsAre("2:8 this '{' is never closed"));
  EXPECT_THAT(faults_in("flowrun: 1\nnodes:\n  a: {op: sort, in: [b, c\n"),
              ElementsAre("3:21 this '[' is never closed"));
}

TEST(yaml_traps, a_comma_inside_an_expression) {
  const fault f = only_fault(job_with("{where: min(a, b)}"));
  EXPECT_EQ(f.message, "'b)' has no value");
  EXPECT_THAT(f.hint, HasSubstr("quotes"));
}

TEST(yaml_traps, indentation_and_colons) {
  EXPECT_THAT(faults_in("flowrun: 1\nnodes:\n  a: {op: x}\n b: {op: y}\n"),
              ElementsAre(StartsWith("4:2 this does not continue the map")));
  EXPECT_THAT(faults_in("flowrun: 1\ndoc: a: b\n"), ElementsAre(StartsWith("2:7 a ':' where no value can begin")));
  EXPECT_THAT(faults_in("flowrun: 1\ndoc: \"abc\n"),
              ElementsAre("2:1 text in quotes begins after this and never ends"));
  EXPECT_THAT(faults_in("flowrun: 1\nnodes:\n  a: {op: 'x}\n\n"),
              ElementsAre("3:7 text in quotes begins after this and never ends"));
  EXPECT_THAT(faults_in("flowrun: 1\ndoc: @abc\n"), ElementsAre("2:6 a character that can't begin text"));
  EXPECT_THAT(faults_in("flowrun: 1\ndoc: \"\\q\"\n"), ElementsAre(HasSubstr("an unknown escape")));
}

TEST(yaml_traps, empty_texts) {
  for (const char* text : {"", "\n\n", "# only a comment\n", "---\n", "~\n"})
    EXPECT_THAT(faults_in(text), ElementsAre("1:1 the job is empty")) << text;
  EXPECT_THAT(faults_in("hello\n"), ElementsAre("1:1 the job is text"));
  EXPECT_THAT(faults_in("- a\n"), ElementsAre("1:1 the job is a list"));
}

TEST(yaml_traps, byte_order_mark_and_crlf) {
  EXPECT_THAT(faults_in("\xEF\xBB\xBF"
                        "flowrun: 1\r\nnodes:\r\n  a: {op: generate}\r\n  b: {op: sort, in: c}\r\n"),
              ElementsAre("4:21 there is no node 'c'"));
}

TEST(yaml_traps, columns_count_bytes) {
  EXPECT_THAT(faults_in("flowrun: 1\nnodes:\n  a: {doc: \"\u00e4\u20ac\", opp: x, op: generate}\n"),
              ElementsAre(StartsWith("3:21 unknown key 'opp'")));
}

}  // namespace
}  // namespace flowrun::specs
