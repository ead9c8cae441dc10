// params:, -p and ${…}.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "specs/expand.h"
#include "specs/parameters.h"
#include "specs/value.h"
#include "tests/specs/reading.h"

namespace flowrun::specs {
namespace {

using ::testing::ElementsAre;
using testing::faults_in;
using ::testing::HasSubstr;
using testing::only_fault;
using ::testing::StartsWith;
using options = std::map<std::string, std::string>;

std::string job(const std::string& params, const std::string& value) {
  return "flowrun: 1\nparams: {" + params + "}\nnodes:\n  a:\n    op: x\n    with:\n      k: " + value + "\n";
}

// The text of k, or the faults.
std::string expanded(const std::string& params, const std::string& value, const options& given = {}) {
  const read_result result = read_job(job(params, value), "job.yaml", given);
  std::string faults;
  for (const std::string& line : testing::faults_of(result)) faults += line + ";";
  return faults.empty() ? text(*find(result.job.nodes(0).with(), "k")) : faults;
}

TEST(parameters, defaults_and_options) {
  EXPECT_EQ(expanded("n: {type: int, default: 5}", "a${n}b"), "a5b");
  EXPECT_EQ(expanded("n: {type: int, default: 5}", "\"${n}\"", {{"n", "-7"}}), "-7");
  EXPECT_EQ(expanded("n: {type: int, default: 5}", "x > ${n} and y < ${n}"), "x > 5 and y < 5");
  EXPECT_EQ(expanded("s: {type: string, default: \"\"}", "\"[${s}]\""), "[]");
  EXPECT_EQ(expanded("a: {type: path, default: /d}, b: {type: path, default: \"${a}/e\"}", "${b}"), "/d/e");
}

TEST(parameters, one_pass_only) {
  EXPECT_EQ(expanded("a: {type: string, default: x}, b: {type: string, default: \"$${a}\"}", "${b}"), "${a}");
}

TEST(parameters, dollars) {
  EXPECT_EQ(expanded("", "$${x}"), "${x}");
  EXPECT_EQ(expanded("", "a$b $"), "a$b $");
  EXPECT_EQ(expanded("", "$$$$"), "$$");
}

TEST(parameters, very_many_in_one_text) {
  std::string text, expected;
  for (int i = 0; i < 200'000; ++i) text += "${a}", expected += 'x';
  EXPECT_EQ(expanded("a: {type: string, default: x}", text), expected);
  // Those within names count where a fault says its place.
  EXPECT_THAT(faults_in(job("", "$${ ${a${b} ${c}")),
              ElementsAre("7:14 a '${' inside of another", "7:22 there is no parameter 'c'"));
}

TEST(parameters, ranges) {
  const std::string n = "n: {type: int, min: 1, max: 8}";
  for (const char* good : {"1", "8", "0x3"}) EXPECT_EQ(expanded(n, "${n}", {{"n", good}}), good);
  for (const char* bad : {"0", "9", "-1", "18446744073709551615"}) {
    const fault f = only_fault(job(n, "${n}"), {{"n", bad}});
    EXPECT_EQ(f.message, std::string("'") + bad + "' is out of range for the parameter 'n'");
    EXPECT_EQ(f.expected, "1 to 8");
    EXPECT_EQ(f.where.file, std::string("-p n=") + bad);
  }
  EXPECT_EQ(only_fault(job("n: {type: int, min: -5, default: -6}", "${n}")).expected, "at least -5");
  EXPECT_EQ(expanded("n: {type: int, min: -5, default: -5}", "${n}"), "-5");
  EXPECT_EQ(only_fault(job("n: {type: bytes, max: 1GiB, default: 1025MiB}", "${n}")).expected, "at most 1GiB");
  EXPECT_EQ(only_fault(job("n: {type: float, min: 0, max: 0.5, default: 0.6}", "${n}")).expected, "0 to 0.5");
  // Beyond what a double can tell apart.
  const std::string large = "n: {type: int, max: 18446744073709551614}";
  EXPECT_EQ(expanded(large, "${n}", {{"n", "18446744073709551614"}}), "18446744073709551614");
  EXPECT_EQ(only_fault(job(large, "${n}"), {{"n", "18446744073709551615"}}).expected, "at most 18446744073709551614");
}

TEST(parameters, ranges_that_are_none) {
  EXPECT_THAT(only_fault(job("n: {type: string, min: 1, default: x}", "${n}")).message,
              HasSubstr("a parameter of type string has no 'min'"));
  EXPECT_THAT(only_fault(job("n: {type: int, min: x, default: 1}", "${n}")).message, HasSubstr("'x' is no int"));
  EXPECT_THAT(only_fault(job("n: {type: int, default: '08'}", "${n}")).expected, HasSubstr("without leading zeros"));
  EXPECT_THAT(only_fault(job("n: {type: int, min: 5, max: 4, default: 5}", "${n}")).message,
              HasSubstr("'max' of the parameter 'n' is less than its 'min'"));
  EXPECT_THAT(only_fault(job("n: {type: int, minimum: 5, default: 5}", "${n}")).hint, HasSubstr("'min'"));
}

TEST(parameters, types_are_checked) {
  struct sample {
    const char *type, *good, *bad;
  };
  for (const auto& [type, good, bad] :
       {sample{"int", "-3", "x"}, sample{"int", "18446744073709551615", "1.5"}, sample{"float", "1e3", "nan"},
        sample{"bool", "true", "yes"}, sample{"bytes", "64MiB", "64 potatoes"}, sample{"path", "a", ""}}) {
    const std::string params = std::string("p: {type: ") + type + "}";
    EXPECT_EQ(expanded(params, "${p}", {{"p", good}}), good);
    EXPECT_THAT(faults_in(job(params, "${p}"), {{"p", bad}}),
                ElementsAre(std::string("-p p=") + bad + " '" + bad + "' is no " + type + " for the parameter 'p'"));
  }
  EXPECT_THAT(faults_in(job("p: {type: int, default: many}", "${p}")),
              ElementsAre("2:34 the default 'many' is no int for the parameter 'p'"));
  EXPECT_THAT(faults_in(job("p: {type: string}", "${p}"), {{"p", "\xFF"}}), ElementsAre(HasSubstr("not UTF-8")));
}

TEST(parameters, enums) {
  const std::string params = "kind: {type: enum, values: [inner, left], default: inner}";
  EXPECT_EQ(expanded(params, "${kind}", {{"kind", "left"}}), "left");
  const fault f = only_fault(job(params, "${kind}"), {{"kind", "lefft"}});
  EXPECT_EQ(f.where.file, "-p kind=lefft");
  EXPECT_EQ(f.expected, "one of inner, left");
  EXPECT_EQ(f.hint, "did you mean 'left'?");
  EXPECT_THAT(faults_in(job("kind: {type: enum, default: a}", "1")), ElementsAre("2:10 the enum 'kind' has no values"));
  EXPECT_THAT(faults_in(job("kind: {type: int, values: [1], default: 1}", "1")),
              ElementsAre(HasSubstr("only an enum has values")));
}

TEST(parameters, missing_ones_are_reported_once) {
  const fault f = only_fault(job("input: {type: path, required: true}", "${input}${input}"));
  EXPECT_EQ(f.where, (source_position{"job.yaml", 2, 10}));
  EXPECT_EQ(f.message, "the parameter 'input' is required and has no value");
  EXPECT_EQ(f.hint, "give it with -p input=PATH");
  EXPECT_THAT(faults_in("flowrun: 1\nparams: {m: {type: bytes}}\nresources: {memory: \"${m}\"}\nnodes:\n  a: {op: x, "
                        "in: \"${m}\"}\n"),
              ElementsAre(StartsWith("2:10 the parameter 'm' is required")));
}

TEST(parameters, optional_ones_without_value_fault_where_used) {
  EXPECT_EQ(expanded("o: {type: int, required: false}", "5"), "5");
  EXPECT_THAT(faults_in(job("o: {type: int, required: false}", "5${o}")),
              ElementsAre("7:11 the parameter 'o' has no value in this run"));
}

TEST(parameters, unknown_option) {
  const fault f = only_fault(job("input: {type: path, default: a}", "${input}"), {{"inptu", "b"}});
  EXPECT_EQ(f.where, (source_position{"-p inptu=b", 0, 0}));
  EXPECT_EQ(f.hint, "did you mean 'input'?");
}

TEST(parameters, unknown_name_at_its_exact_column) {
  const fault f = only_fault(job("input: {type: path, default: a}", "$${x} ${input} ${inptu}"));
  EXPECT_EQ(f.where, (source_position{"job.yaml", 7, 25}));
  EXPECT_EQ(f.message, "there is no parameter 'inptu'");
  EXPECT_EQ(f.hint, "did you mean 'input'?");
  // in a block of text, some lines down
  EXPECT_THAT(faults_in(job("input: {type: path, default: a}", "|\n        one ${input}\n        two ${nope}")),
              ElementsAre("9:13 there is no parameter 'nope'"));
  EXPECT_THAT(faults_in(job("", "${x}")), ElementsAre("7:10 there is no parameter 'x'"));
}

TEST(parameters, wrong_uses) {
  EXPECT_THAT(faults_in(job("", "a ${x")), ElementsAre("7:12 '${' without '}'"));
  EXPECT_THAT(faults_in(job("n: {type: path, default: a}", "b/${env:NOT_SET:-${n}}")),
              ElementsAre("7:12 a '${' inside of another"));
  EXPECT_THAT(faults_in(job("n: {type: int, default: 1}", "${n:-5}")),
              ElementsAre(HasSubstr("a default for a parameter stands in its declaration")));
  EXPECT_THAT(
      faults_in("flowrun: 1\nparams: {n: {type: int, default: 1}}\nnodes:\n  a: {op: x, with: {\"${n}\": 1}}\n"),
      ElementsAre("4:21 a parameter in a key"));
  EXPECT_THAT(faults_in(job("b: {type: path, default: \"${a}\"}, a: {type: path, default: x}", "1")),
              ElementsAre("2:36 the parameter 'a' has no value yet: it is declared here or further down"));
  EXPECT_THAT(faults_in(job("a: {type: path, default: \"${a}\"}", "1")),
              ElementsAre("2:36 the parameter 'a' has no value yet: it is declared here or further down"));
  EXPECT_THAT(faults_in(job("b: {type: path, default: \"${c}\"}", "1")), ElementsAre("2:36 there is no parameter 'c'"));
}

TEST(parameters, wrong_declarations) {
  EXPECT_THAT(faults_in(job("n: {default: 1}", "${n}")), ElementsAre("2:10 the parameter 'n' has no type"));
  EXPECT_EQ(only_fault(job("n: {type: integer, default: 1}", "${n}")).hint, "here it is called 'int'");
  EXPECT_EQ(only_fault(job("n: {type: strin, default: 1}", "${n}")).hint, "did you mean 'string'?");
  EXPECT_THAT(faults_in(job("n: {type: int, required: true, default: 1}", "${n}")),
              ElementsAre("2:35 a required parameter with a default"));
  EXPECT_THAT(faults_in(job("n: 5", "${n}")), ElementsAre("2:13 'n' is text"));
  EXPECT_THAT(faults_in(job("n.m: {type: int, default: 1}", "1")),
              ElementsAre("2:10 'n.m' is no name for a parameter"));
  EXPECT_THAT(faults_in(job("n: {type: int, default: [1]}", "${n}")), ElementsAre("2:34 'default' is a list"));
  EXPECT_THAT(faults_in("flowrun: 1\nparams: [a]\nnodes:\n  a: {op: x}\n", {{"a", "1"}}),
              ElementsAre("2:9 'params' is a list"));
}

// The expander alone, with an environment of its own.
std::vector<std::string> expand_with_environment(std::string& word) {
  fault_sink faults("f");
  const source_text source("");
  expander variables(
      [](const std::string& name) -> std::optional<std::string> {
        if (name == "HOME") return "/home/a";
        if (name == "EMPTY") return "";
        if (name == "WRONG") return "\xFF";
        return std::nullopt;
      },
      source, faults);
  Value v;
  v.mutable_scalar()->set_text(word);
  variables.expand(v);
  word = text(v);
  std::vector<std::string> messages;
  for (const fault& f : faults.take()) messages.push_back(f.message);
  return messages;
}

TEST(expand, environment) {
  std::string word = "${env:HOME}/x ${env:NONE:-d/e} ${env:EMPTY:-e} [${env:EMPTY}] ${env:NONE:-}";
  EXPECT_THAT(expand_with_environment(word), ElementsAre());
  EXPECT_EQ(word, "/home/a/x d/e e [] ");
  word = "${env:NONE}";
  EXPECT_THAT(expand_with_environment(word), ElementsAre("the environment variable NONE is not set"));
  word = "${env:A B}";
  EXPECT_THAT(expand_with_environment(word), ElementsAre(HasSubstr("is no name of an environment variable")));
  word = "${env:WRONG}";
  EXPECT_THAT(expand_with_environment(word), ElementsAre(HasSubstr("is not UTF-8")));
}

TEST(expand, insertions_are_bounded) {
  std::string value;
  for (int i = 0; i < 100; ++i) value += "${s}";
  EXPECT_THAT(faults_in(job("s: {type: string}", value), {{"s", std::string(1 << 20, 'x')}}),
              ::testing::Each(HasSubstr("more than 16 MiB of text")));
  EXPECT_FALSE(faults_in(job("s: {type: string}", value), {{"s", std::string(1 << 20, 'x')}}).empty());
}

}  // namespace
}  // namespace flowrun::specs
