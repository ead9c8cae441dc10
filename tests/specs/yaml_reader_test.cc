// A sound job becomes a JobSpec with every position.
#include "specs/yaml_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "specs/value.h"
#include "tests/specs/reading.h"
#include "tests/support/temporary_directory.h"

namespace flowrun::specs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(yaml_reader, reads_the_job_of_the_description) {
  const read_result result = read_job(testing::out_degree, "job.yaml", {{"input", "edges.txt"}});
  ASSERT_THAT(testing::faults_of(result), ElementsAre());
  const JobSpec& job = result.job;
  EXPECT_EQ(job.version(), 1u);
  EXPECT_EQ(job.name(), "out-degree");
  EXPECT_EQ(job.file(), "job.yaml");
  ASSERT_EQ(job.params_size(), 2);
  EXPECT_TRUE(job.params(0).required());
  EXPECT_EQ(job.params(0).value(), "edges.txt");
  EXPECT_EQ(job.params(1).type(), PARAM_BYTES);
  EXPECT_EQ(job.resources().memory_bytes(), uint64_t{1} << 30);
  ASSERT_EQ(job.resources().scratch_size(), 2);
  EXPECT_EQ(job.resources().scratch(1).path(), "/mnt/nvme1/flowrun");
  EXPECT_EQ(job.resources().scratch(1).limit_bytes(), uint64_t{200} << 30);
  EXPECT_EQ(job.resources().scratch(1).position().line(), 12);
  ASSERT_EQ(job.types_size(), 1);
  EXPECT_EQ(job.types(0).columns(1).name(), "dst");
  EXPECT_EQ(job.types(0).columns(1).type(), "u64");
  EXPECT_EQ(job.types(0).columns(1).type_position().column(), 25);
  ASSERT_EQ(job.nodes_size(), 6);
  const Node& edges = job.nodes(0);
  EXPECT_EQ(edges.id(), "edges");
  EXPECT_EQ(edges.op(), "file.read_csv");
  EXPECT_EQ(edges.input_form(), INPUT_NONE);
  EXPECT_EQ(edges.on_error().action(), OnError::PORT);
  EXPECT_EQ(edges.on_error().port(), "bad");
  EXPECT_EQ(edges.on_error().max_ratio(), 0.5);
  ASSERT_TRUE(find(edges.with(), "path"));
  EXPECT_EQ(text(*find(edges.with(), "path")), "edges.txt");
  const Node& rejects = job.nodes(5);
  EXPECT_EQ(rejects.input_form(), INPUT_SINGLE);
  EXPECT_EQ(rejects.inputs(0).from_node(), "edges");
  EXPECT_EQ(rejects.inputs(0).from_port(), "bad");
  EXPECT_EQ(job.tests_size(), 1);
}

TEST(yaml_reader, keeps_the_position_of_every_key_and_value) {
  const read_result result = read_job(
      "flowrun: 1\nnodes:\n  a:\n    op: x\n    with:\n      by: [b, \"c\"]\n      n:\n        - 5\n", "job.yaml");
  ASSERT_THAT(testing::faults_of(result), ElementsAre());
  const Node& node = result.job.nodes(0);
  EXPECT_EQ(where("f", node.position()), (source_position{"f", 3, 3}));
  EXPECT_EQ(where("f", node.op_position()), (source_position{"f", 4, 9}));
  const Entry* by = find_entry(node.with(), "by");
  EXPECT_EQ(where("f", by->key_position()), (source_position{"f", 6, 7}));
  EXPECT_EQ(where("f", by->value().position()), (source_position{"f", 6, 11}));
  EXPECT_EQ(where("f", by->value().list().items(1).position()), (source_position{"f", 6, 15}));
  EXPECT_TRUE(by->value().list().items(1).scalar().quoted());
  EXPECT_FALSE(by->value().list().items(0).scalar().quoted());
  EXPECT_EQ(where("f", find(node.with(), "n")->list().items(0).position()), (source_position{"f", 8, 11}));
}

TEST(yaml_reader, input_forms) {
  const read_result result = read_job(
      "flowrun: 1\nnodes:\n  a: {op: x}\n  b: {op: x}\n  j: {op: join, in: {left: a, right: b.rest}}\n  m: {op: merge, "
      "in: [a, b.x]}\n",
      "job.yaml");
  ASSERT_THAT(testing::faults_of(result), ElementsAre());
  const Node& join = result.job.nodes(2);
  EXPECT_EQ(join.input_form(), INPUT_NAMED);
  EXPECT_EQ(join.inputs(1).port(), "right");
  EXPECT_EQ(join.inputs(1).from_node(), "b");
  EXPECT_EQ(join.inputs(1).from_port(), "rest");
  EXPECT_EQ(join.inputs(1).position().column(), 38);
  const Node& merge = result.job.nodes(3);
  EXPECT_EQ(merge.input_form(), INPUT_LIST);
  ASSERT_EQ(merge.inputs_size(), 2);
  EXPECT_EQ(merge.inputs(1).from_port(), "x");
}

TEST(yaml_reader, resources_in_their_forms) {
  auto resources = [](const std::string& text) {
    const read_result result = read_job("flowrun: 1\nnodes:\n  a: {op: x}\nresources: " + text + "\n", "job.yaml");
    EXPECT_THAT(testing::faults_of(result), ElementsAre()) << text;
    return result.job.resources();
  };
  EXPECT_EQ(resources("{memory: 50%}").memory_percent(), 50.0);
  EXPECT_FALSE(resources("{memory: 50%}").has_memory_bytes());
  EXPECT_EQ(resources("{memory: 512MiB, threads: 3}").threads(), 3u);
  EXPECT_EQ(resources("{scratch: /a}").scratch(0).path(), "/a");
  EXPECT_EQ(resources("{scratch: [/a, {path: /b, limit: 1GB}]}").scratch(1).limit_bytes(), 1'000'000'000u);
  EXPECT_EQ(resources("{block_size: 4KiB}").block_bytes(), 4096u);
  EXPECT_EQ(resources("{scratch: [{path: /b, weight: 250.5}]}").scratch(0).weight(), 250.5);
  EXPECT_FALSE(resources("{scratch: /a}").scratch(0).has_weight());
  EXPECT_EQ(resources("{scratch_limit: 2GiB}").scratch_limit_bytes(), 2147483648u);
  EXPECT_EQ(resources("{depth: 1024}").depth(), 1024u);
  EXPECT_EQ(resources("{allocation: striping}").allocation(), STRIPING);
  EXPECT_EQ(resources("{allocation: simple_randomised}").allocation(), SIMPLE_RANDOMISED);
  EXPECT_EQ(resources("{allocation: fully_randomised}").allocation(), FULLY_RANDOMISED);
  EXPECT_EQ(resources("{allocation: randomised_cycling}").allocation(), RANDOMISED_CYCLING);
  EXPECT_EQ(resources("{io_order: writes_first}").io_order(), WRITES_FIRST);
  EXPECT_EQ(resources("{io_order: arrival}").io_order(), ARRIVAL);
  EXPECT_FALSE(resources("{depth: 1}").has_allocation());
  EXPECT_FALSE(resources("{depth: 1}").has_io_order());
  EXPECT_FALSE(resources("").has_threads());
}

TEST(yaml_reader, wrong_resources) {
  auto only = [](const std::string& text) {
    return testing::only_fault("flowrun: 1\nnodes:\n  a: {op: x}\nresources: " + text + "\n");
  };
  for (const char* weight : {"0", "-1", "inf", "nan", "fast", "[1]"})
    EXPECT_THAT(only("{scratch: [{path: /b, weight: " + std::string(weight) + "}]}").expected,
                HasSubstr("a number above 0"))
        << weight;
  for (const char* depth : {"0", "1025", "-1", "1.5", "many"})
    EXPECT_EQ(only("{depth: " + std::string(depth) + "}").expected, "a whole number from 1 to 1024") << depth;
  for (const auto& [block, hint] : std::vector<std::pair<std::string, std::string>>{{"1000", "write 4096"},
                                                                                    {"4095", "write 4096"},
                                                                                    {"5000", "write 4096 or 8192"},
                                                                                    {"100KB", "write 98304 or 102400"},
                                                                                    {"3GiB", "write 1073741824"}}) {
    const fault found = only("{block_size: " + block + "}");
    EXPECT_EQ(found.message, "block_size is " + block);
    EXPECT_EQ(found.expected, "a multiple of 4096 bytes, from 4KiB to 1GiB");
    EXPECT_EQ(found.hint, hint);
    EXPECT_EQ(found.where.line, 4u) << block;
  }
  EXPECT_EQ(only("{scratch_limit: 0}").message, "'scratch_limit' is 0");
  const fault allocation = only("{allocation: randomized_cycling}");
  EXPECT_EQ(allocation.message, "allocation can't be 'randomized_cycling'");
  EXPECT_EQ(allocation.hint, "did you mean 'randomised_cycling'?");
  EXPECT_EQ(allocation.where.column, 25);
  EXPECT_EQ(only("{io_order: lifo}").expected, "one of alternating, writes_first, arrival");
  EXPECT_EQ(only("{io_order: }").expected, "one of alternating, writes_first, arrival");
}

TEST(yaml_reader, several_faults_at_once_with_carets) {
  const read_result result = read_job(
      "flowrun: 2\nnodes:\n  edges: {op: generate}\n  sorted: {op: sort, in: edgse, wiht: {by: [a]}}\n", "job.yaml");
  EXPECT_EQ(render(result.faults, result.text),
            "job.yaml:1:10: error: version 2 of the job language is not known\n"
            "  1 | flowrun: 2\n"
            "    |          ^\n"
            "  expected: flowrun: 1\n"
            "  help: this program reads version 1\n"
            "job.yaml:4:26: error: there is no node 'edgse'\n"
            "  4 |   sorted: {op: sort, in: edgse, wiht: {by: [a]}}\n"
            "    |                          ^\n"
            "  expected: one of edges, sorted\n"
            "  help: did you mean 'edges'?\n"
            "job.yaml:4:33: error: unknown key 'wiht' in a node; the operator's own parameters go under with:\n"
            "  4 |   sorted: {op: sort, in: edgse, wiht: {by: [a]}}\n"
            "    |                                 ^\n"
            "  expected: one of op, in, scalars, with, on_error, doc\n"
            "  help: did you mean 'with'?\n"
            "3 faults in job.yaml\n");
}

TEST(yaml_reader, files) {
  try {
    read_job_file("/no/such/job.yaml");
    FAIL() << "no error";
  } catch (const error& e) {
    EXPECT_EQ(e.kind(), error_kind::missing_input);
    EXPECT_STREQ(e.what(), "can't open the job /no/such/job.yaml: No such file or directory");
    EXPECT_THAT(e.hint(), HasSubstr("path of a job file"));
  }
  const temporary_directory where;
  const std::string directory = where.path();
  for (const char* name : {"a.yaml", "b.yml", "c.yaml", "d.yaml"}) where.write(name, "flowrun: 1");
  try {
    read_job_file(directory);
    FAIL() << "no error";
  } catch (const error& e) {
    EXPECT_EQ(e.kind(), error_kind::missing_input);
    EXPECT_THAT(e.what(), HasSubstr("it is a directory"));
    EXPECT_THAT(e.hint(), HasSubstr(directory + "/a.yaml, " + directory + "/b.yml, " + directory + "/c.yaml, …"));
  }
  EXPECT_THAT(testing::faults_of(read_job_file("/dev/zero")), ElementsAre(HasSubstr("larger than 4.00 MiB")));
  const std::string path = where.write("job.yaml", testing::out_degree);
  const read_result result = read_job_file(path, {{"input", "x"}});
  EXPECT_TRUE(result.faults.empty());
  EXPECT_EQ(result.job.file(), path);
  EXPECT_EQ(result.text, testing::out_degree);
}

}  // namespace
}  // namespace flowrun::specs
