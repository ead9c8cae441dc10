// Values that are written as missing: in CSV and JSON lines, beside a plain loop, and read again as they were.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "engine/base/error.h"
#include "tests/operators/harness.h"
#include "tests/support/temporary_directory.h"

namespace flowrun::operators::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

// Some of each kind of value, and texts that look like what stands for a missing one.
std::string written(const temporary_directory& dir, const std::string& name) {
  std::mt19937_64 random(3);
  const char* const texts[] = {"", "NULL", "\"NULL\"", "\"\"", "x", "\"a,b\"", "\"say \"\"hi\"\"\""};
  std::string out;
  for (int i = 0; i < 3000; ++i)
    out +=
        fmt::format("{},{},{},{}\n", i, random() % 3 == 0 ? "NULL" : std::to_string(static_cast<int>(random() % 9)),
                    random() % 3 == 0 ? "NULL" : "2026-01-0" + std::to_string(1 + random() % 9), texts[random() % 7]);
  return dir.write(name, out);
}

constexpr const char* type = "{id: u32, amount: f64, when: date, name: string}";
constexpr const char* told = "{amount: no_amount, when: no_when, name: no_name}";

std::string reader(const std::string& node, const std::string& path, const std::string& more = {}) {
  return node + ": {op: file.read_csv, with: {path: " + path + ", type: " + type +
         ", null_values: [\"NULL\"], missing: " + told + more + "}}\n";
}

TEST(written_missing, csv_reads_again_as_it_was) {
  const temporary_directory dir;
  const std::string in = reader("in", written(dir, "in.csv"));
  const rows expected = run(in + "out: {op: test.sink, in: in}\n", {}).sinks["out"];
  for (const unsigned threads : {1U, 3U})
    for (const size_t batch_bytes : {size_t{1}, size_t{300}, size_t{1} << 18}) {
      run(in + "out: {op: file.write_csv, in: in, with: {path: " + dir / "out.csv" +
              ", null_text: \"NULL\", header: true, names: {amount: \"Amount, in \\\"EUR\\\"\"}, missing: " + told +
              "}}\n",
          {}, {.batch_bytes = batch_bytes, .threads = threads});
      EXPECT_EQ(dir.read("out.csv").substr(0, dir.read("out.csv").find('\n')),
                "id,\"Amount, in \"\"EUR\"\"\",when,name");
      const std::string again =
          reader("in", dir / "out.csv", ", columns: header, names: {amount: \"Amount, in \\\"EUR\\\"\"}");
      EXPECT_EQ(run(again + "out: {op: test.sink, in: in}\n", {}).sinks["out"], expected);
    }
}

TEST(written_missing, json_lines_read_again_as_they_were) {
  const temporary_directory dir;
  const std::string in = reader("in", written(dir, "in.csv"));
  const rows expected = run(in + "out: {op: test.sink, in: in}\n", {}).sinks["out"];
  run(in + "out: {op: file.write_json_lines, in: in, with: {path: " + dir / "out.jsonl" +
          ", names: {name: user.name}, missing: " + told + "}}\n",
      {});
  EXPECT_EQ(run("in: {op: file.read_json_lines, with: {path: " + dir / "out.jsonl" + ", type: " + type +
                    ", names: {name: user.name}, missing: " + told + "}}\nout: {op: test.sink, in: in}\n",
                {})
                .sinks["out"],
            expected);
}

TEST(written_missing, a_text_that_looks_like_a_missing_value_needs_quotes) {
  const temporary_directory dir;
  const std::string in = reader("in", dir.write("in.csv", "1,2,2026-01-01,\"NULL\"\n"));
  const auto sink = [&](const std::string& more) {
    return in + "out: {op: file.write_csv, in: in, with: {path: " + dir / "out.csv" + more + "}}\n";
  };
  run(sink(", null_text: \"NULL\", missing: " + std::string(told)), {});
  EXPECT_EQ(dir.read("out.csv"), "1,2,2026-01-01,\"NULL\"\n");
  run(sink(", missing: {amount: no_name}"), {});  // one column may tell of another
  EXPECT_EQ(dir.read("out.csv"), "1,2,2026-01-01,NULL,false,false\n");
  try {
    run(sink(", quote: \"\", null_text: \"NULL\", missing: " + std::string(told)), {});
    ADD_FAILURE() << "a text was written as a missing value";
  } catch (const error& e) {
    EXPECT_EQ(e.kind(), error_kind::bad_data);
    EXPECT_THAT(e.what(),
                HasSubstr("column 'name' holds \"NULL\", which without quotes would be read as a missing value"));
  }
}

TEST(written_missing, faults) {
  const temporary_directory dir;
  const auto said = [&](const std::string& more) {
    return faults_of(reader("in", dir / "in.csv") + "out: {op: file.write_csv, in: in, with: {path: o" + more + "}}\n");
  };
  EXPECT_THAT(said(", missing: {amount: no_amont}"), Contains(HasSubstr("the rows have no column 'no_amont'")));
  EXPECT_THAT(said(", missing: {amount: id}"), Contains(HasSubstr("the column 'id' is u32")));
  EXPECT_THAT(said(", missing: {amount: no_when, no_when: no_name}"),
              Contains(HasSubstr("the column 'no_when' tells what is missing, and can't be missing itself")));
  EXPECT_THAT(said(", missing: {amunt: no_when}"), Contains(HasSubstr("no column 'amunt'")));
  EXPECT_THAT(said(", null_text: \"NULL\""), Contains(HasSubstr("nothing says which are missing")));
  EXPECT_THAT(said(", null_text: \"a,b\", missing: {amount: no_amount}"), Contains(HasSubstr("would need quotes")));
  EXPECT_THAT(said(", names: {amount: x}"), Contains(HasSubstr("there is no header")));
  EXPECT_THAT(said(", header: true, names: {amount: id}"),
              Contains(HasSubstr("the columns 'id' and 'amount' would both be \"id\" of the header")));
  EXPECT_THAT(said(", header: true, quote: \"\", names: {amount: \"a,b\"}"),
              Contains(HasSubstr("\"a,b\" can't be written without quotes")));
}

}  // namespace
}  // namespace flowrun::operators::testing
