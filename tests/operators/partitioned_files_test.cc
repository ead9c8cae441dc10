// Sinks whose path names columns, on real files: each row is in the file of its values, in the order of the input.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <random>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "tests/operators/harness.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"

namespace flowrun::operators::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using contents = std::map<std::string, std::string>;

// The files below a directory.
contents files_in(const std::string& directory) {
  contents out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    out[entry.path().lexically_relative(directory).string()] = {std::istreambuf_iterator<char>(in), {}};
  }
  return out;
}

run_result run_with_files(const std::string& nodes, const std::map<std::string, rows>& inputs,
                          run_options options = {}) {
  options.backend = io::backend_kind::threads;
  return run(nodes, inputs, options);
}

struct example {
  rows input;
  contents csv, lines, left_out;
};

example random_example(uint64_t seed, size_t num_rows, size_t num_values) {
  std::mt19937_64 random(seed);
  example out;
  for (size_t i = 0; i < num_rows; ++i) {
    const std::string country = fmt::format("c{}", random() % num_values);
    const uint64_t year = 2000 + random() % 3;
    const std::string name(random() % 30, static_cast<char>('a' + i % 26));
    out.input.push_back(fmt::format("{},{},{}", country, year, name));
    const std::string file = fmt::format("{}/y={}.csv", country, year);
    out.csv[file] += fmt::format("{},{},{}\n", country, year, name);
    std::string& left = out.left_out[file];
    left += (left.empty() ? "name\n" : "") + name + "\n";
    out.lines[fmt::format("{}.txt", year)] += name + "\n";
  }
  return out;
}

const std::string in_node = "in: {op: test.rows, with: {type: {country: string, year: u16, name: string}}}\n";

TEST(partitioned_files, rows_go_where_their_values_say) {
  uint64_t seed = 0;
  for (const size_t num_values : {1U, 50U})
    for (const size_t batch_bytes : {200U, 1U << 18})
      for (const unsigned threads : {1U, 3U})
        for (const uint64_t memory : {256 * KiB, 8 * MiB}) {
          const temporary_directory dir;
          const example e = random_example(++seed, 2000, num_values);
          const std::string nodes =
              in_node + "csv: {op: file.write_csv, in: in, with: {path: \"" + dir / "csv/{country}/y={year}.csv" +
              "\"}}\n" + "left: {op: file.write_csv, in: in, with: {path: \"" + dir / "left/{country}/y={year}.csv" +
              "\", header: true, path_columns: leave_out}}\n" +
              "lines: {op: file.write_lines, in: in, with: {path: \"" + dir / "lines/{year}.txt" +
              "\", column: name}}\n";
          const run_result result = run_with_files(
              nodes, {{"in", e.input}},
              {.seed = seed, .most_rows = 300, .batch_bytes = batch_bytes, .memory_bytes = memory, .threads = threads});
          EXPECT_EQ(files_in(dir / "csv"), e.csv);
          EXPECT_EQ(files_in(dir / "left"), e.left_out);
          EXPECT_EQ(files_in(dir / "lines"), e.lines);
          EXPECT_GT(result.file_written_bytes, 0U);
        }
}

TEST(partitioned_files, packed_rows) {
  const temporary_directory dir;
  const std::string nodes =
      "in: {op: test.rows, with: {type: {a: u8, k: string, b: u16}}}\n"
      "out: {op: file.write_rows, in: in, with: {path: \"" +
      dir / "{k}.rows" + "\", path_columns: leave_out}}\n" +
      "fixed: {op: map, in: in, with: {a: a, b: b}}\n"
      "all: {op: file.write_rows, in: fixed, with: {path: \"" +
      dir / "all/{a}" + "\"}}\n";
  run_with_files(nodes, {{"in", {"1,x,258", "2,y,3", "1,x,4"}}});
  EXPECT_EQ(files_in(dir.path()), (contents{{"x.rows", std::string("\x01\x02\x01\x01\x04\0", 6)},
                                            {"y.rows", std::string("\x02\x03\0", 3)},
                                            {"all/1", std::string("\x01\x02\x01\x01\x04\0", 6)},
                                            {"all/2", std::string("\x02\x03\0", 3)}}));
}

TEST(partitioned_files, every_kind_of_value_has_a_name) {
  const temporary_directory dir;
  const std::string nodes =
      "in: {op: test.rows, with: {type: {s: string, b: bool, i: i32, days: i32, t: \"bytes[2]\"}}}\n"
      "dated: {op: map, in: in, with: {s: s, b: b, i: i, d: to_date(days), n: \"to_decimal(i, 1)\", t: t}}\n"
      "out: {op: file.write_lines, in: dated, with: {column: s, path: \"" +
      dir / "{s}/{b}/{i}/{d}/{n}/{t}" + "\"}}\n";
  run_with_files(nodes, {{"in", {",true,-5,19782,ab", "../x,false,7,0,/."}}});
  EXPECT_EQ(files_in(dir.path()), (contents{{"__HIVE_DEFAULT_PARTITION__/true/-5/2024-02-29/-5.0/ab", "\n"},
                                            {"%2E.%2Fx/false/7/1970-01-01/7.0/%2F.", "../x\n"}}));
}

TEST(partitioned_files, without_rows_there_are_no_files) {
  const temporary_directory dir;
  run_with_files(
      in_node + "out: {op: file.write_csv, in: in, with: {header: true, path: \"" + dir / "new/{year}.csv" + "\"}}\n",
      {{"in", {}}});
  EXPECT_EQ(dir.num_entries(), 0U);
}

TEST(partitioned_files, braces_that_are_written_twice_are_braces) {
  const temporary_directory dir;
  run_with_files(
      in_node + "out: {op: file.write_lines, in: in, with: {column: name, path: \"" + dir / "a{{b}}" + "\"}}\n",
      {{"in", {"x,1,y"}}});
  EXPECT_EQ(files_in(dir.path()), (contents{{"a{b}", "y\n"}}));
}

TEST(partitioned_files, errors_leave_nothing) {
  const temporary_directory dir;
  const auto problem = [&](const std::string& path, const std::string& more, const rows& input,
                           uint64_t memory = 4 * MiB) {
    const error e = error_of([&] {
      run_with_files(in_node + "out: {op: file.write_csv, in: in, with: {" + more + "path: \"" + dir / path + "\"}}\n",
                     {{"in", input}}, {.memory_bytes = memory});
    });
    EXPECT_EQ(dir.num_entries(), 0U);
    return fmt::format("{}: {}", e.exit_code(), e.what());
  };
  rows many;
  for (int i = 0; i < 2000; ++i) many.push_back(fmt::format("c{},1,n", i));
  EXPECT_THAT(problem("{country}", "max_files: 7, ", many),
              HasSubstr("out: the rows would go to more than 7 files, since country has so many values"));
  EXPECT_THAT(problem("{country}", "", many, 100 * KiB), HasSubstr("files take more memory than 50.0 KiB"));
  EXPECT_THAT(problem("{country}-{name}", "", {"a-b,1,c", "a,1,b-c"}),
              HasSubstr("would go to one file, " + dir / "a-b-c" + ": a-b and c, and a and b-c"));
  EXPECT_THAT(problem("{name}", "", {"a,1," + std::string(300, 'x')}), HasSubstr("a name in it has 300 bytes"));
}

TEST(partitioned_files, compressed) {
  const temporary_directory dir;
  rows input;
  for (int i = 0; i < 20000; ++i) input.push_back(fmt::format("c{},1,name {}", i % 7, i));
  for (const char* ending : {"gz", "zst"}) {
    const std::string files = dir / ending;
    run_with_files(
        in_node + "out: {op: file.write_csv, in: in, with: {path: \"" + files + "/{country}.csv." + ending + "\"}}\n",
        {{"in", input}}, {.threads = 3});
    std::string paths;
    for (int i = 0; i < 7; ++i) paths += fmt::format("{}{}/c{}.csv.{}", i > 0 ? ", " : "", files, i, ending);
    const run_result back = run_with_files("read: {op: file.read_csv, with: {path: [" + paths +
                                               "], type: {country: string, year: u16, name: string}}}\n"
                                               "out: {op: test.sink, in: read}\n",
                                           {});
    rows expected;
    for (int c = 0; c < 7; ++c)
      for (const auto& row : input)
        if (row.starts_with(fmt::format("c{},", c))) expected.push_back(row);
    EXPECT_TRUE(back.sinks.at("out") == expected) << ending;
  }
}

TEST(partitioned_files, faults) {
  const auto faults = [](const std::string& with, const std::string& op = "file.write_csv") {
    return faults_of(
        "in: {op: generate, with: {rows: 3, columns: {i: i, x: f64(i), s: \"'a'\"}}}\n"
        "out: {op: " +
        op + ", in: in, with: {" + with + "}}\n");
  };
  EXPECT_THAT(
      faults("path: \"out/{ii}.csv\""),
      ElementsAre(HasSubstr("2:54: 'in' has no column 'ii' (expected: one of i, x, s) (help: did you mean 'i'?)")));
  EXPECT_THAT(faults("path: \"out/{unknown}.csv\""),
              ElementsAre(HasSubstr("(help: a brace that belongs to the name is written twice")));
  EXPECT_THAT(faults("path: \"out/{x}.csv\""), ElementsAre(HasSubstr("2:54: column 'x' is f64")));
  EXPECT_THAT(faults("path: \"out/{i.csv\""), ElementsAre(HasSubstr("2:53: no '}' belongs to this '{'")));
  EXPECT_THAT(faults("path: \"out/{i}{s}.csv\""), ElementsAre(HasSubstr("nothing stands between {i} and {s}")));
  EXPECT_THAT(faults("path: \"out/{i}.csv\", max_files: 0"), ElementsAre(HasSubstr("there can't be 0 files")));
  EXPECT_THAT(faults("path: out/i.csv, max_files: 5"), ElementsAre(HasSubstr("the path names no column")));
  EXPECT_THAT(faults("path: out/i.csv, path_columns: leave_out"), ElementsAre(HasSubstr("the path names no column")));
  EXPECT_THAT(faults("path: \"{i}/{s}\", path_columns: leave_out", "file.write_rows"), ElementsAre());
  EXPECT_THAT(faults("path: \"{i}\"", "file.write_rows"), ElementsAre(HasSubstr("leave 's' out with a map")));
  EXPECT_THAT(faults("path: \"{s}\"", "file.write_rows"),
              ElementsAre(HasSubstr("path_columns: leave_out, since the path tells it")));
  EXPECT_THAT(faults("path: \"{i}\", path_columns: leave_out", "file.write_lines"),
              ElementsAre(HasSubstr("path_columns")));
  EXPECT_THAT(
      faults_of("in: {op: generate, with: {rows: 3, columns: {i: i}}}\n"
                "out: {op: file.write_rows, in: in, with: {path: \"{i}\", index: true, path_columns: leave_out}}\n"),
      ElementsAre(HasSubstr("the path names all columns"), HasSubstr("an index belongs to one file")));
}

TEST(partitioned_files, files_that_others_use_are_refused) {
  const auto faults = [](const std::string& one, const std::string& other) {
    return faults_of(
        "in: {op: generate, with: {rows: 3, columns: {i: i, j: i}}}\n"
        "a: {op: file.write_csv, in: in, with: {path: \"" +
        one +
        "\"}}\n"
        "b: {op: file.write_csv, in: in, with: {path: \"" +
        other + "\"}}\n");
  };
  EXPECT_THAT(faults("out/{i}.csv", "out/7.csv"),
              ElementsAre(HasSubstr("'a' and 'b' may both write one file, as 'out/{i}.csv' and as 'out/7.csv'")));
  EXPECT_THAT(faults("out/{i}.csv", "out/{j}.csv"), ElementsAre(HasSubstr("may both write one file")));
  EXPECT_THAT(faults("out/i={i}.csv", "out/j={j}.csv"), ElementsAre());
  EXPECT_THAT(faults_of("in: {op: file.read_csv, with: {path: d/x.csv, type: {k: u8}}}\n"
                        "a: {op: file.write_csv, in: in, with: {path: \"d/{k}.csv\"}}\n"),
              ElementsAre(HasSubstr("'a' writes 'd/{k}.csv', which may be 'd/x.csv', which 'in' reads")));
}

}  // namespace
}  // namespace flowrun::operators::testing
