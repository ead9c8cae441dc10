// The file operators on real files: what is written reads back, errors name the place, counters count.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <random>
#include <thread>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "tests/operators/harness.h"
#include "tests/support/temporary_directory.h"

namespace flowrun::operators::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// With transfers that take their time.
run_result run_files(const std::string& nodes, run_options options = {}) {
  options.backend = io::backend_kind::threads;
  return run(nodes, {}, options);
}

// "exit code: message" of the error that the job ends with.
std::string error_of(const std::string& nodes, const run_options& options = {}) {
  try {
    run_files(nodes, options);
  } catch (const error& e) {
    return fmt::format("{}: {}", e.exit_code(), e.what());
  }
  ADD_FAILURE() << "the job ended well";
  return {};
}

std::string random_bytes(size_t num_bytes, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string out(num_bytes, '\0');
  for (char& c : out) c = static_cast<char>(random());
  return out;
}

TEST(file_rows, copies_files_of_any_width_and_batch_size) {
  const temporary_directory dir;
  for (const auto& [type, row_bytes] :
       std::vector<std::pair<std::string, size_t>>{{"{a: u8}", 1},
                                                   {"{a: u64, b: u64}", 16},
                                                   {"{a: u24, b: \"bytes[97]\"}", 100},
                                                   {"{a: \"bytes[65536]\", b: u8}", 65537}}) {
    const std::string content = random_bytes(row_bytes * (3 * MiB / row_bytes + 5), row_bytes);
    dir.write("in", content);
    const std::string nodes = "in: {op: file.read_rows, with: {path: " + dir / "in" + ", type: " + type + "}}\n" +
                              "out: {op: file.write_rows, in: in, with: {path: " + dir / "out" + "}}\n";
    for (const size_t batch_bytes : {size_t{5000}, size_t{1} << 18}) {
      for (const bool direct : {false, true}) {
        const run_result result = run(nodes, {},
                                      {.batch_bytes = batch_bytes,
                                       .memory_bytes = 1 << 20,
                                       .backend = io::backend_kind::automatic,
                                       .direct = direct});
        ASSERT_TRUE(dir.read("out") == content) << type;
        EXPECT_EQ(result.file_read_bytes, content.size());
        EXPECT_EQ(result.file_total_bytes, content.size());
        EXPECT_EQ(result.file_written_bytes, content.size());
      }
    }
  }
  EXPECT_EQ(dir.num_entries(), 2U);
}

TEST(file_rows, range_and_several_files) {
  const temporary_directory dir;
  dir.write("a", "00112233445566778899");
  dir.write("b", "");
  dir.write("c", "xxyy");
  const auto copy = [&](const std::string& with) {
    run_files("in: {op: file.read_rows, with: {type: {a: \"bytes[2]\"}, " + with + "}}\n" +
              "out: {op: file.write_rows, in: in, with: {path: " + dir / "out" + "}}\n");
    return dir.read("out");
  };
  const std::string a = "path: " + dir / "a";
  EXPECT_EQ(copy(a + ", range: \"3:5\""), "3344");
  EXPECT_EQ(copy(a + ", range: \"8:\""), "8899");
  EXPECT_EQ(copy(a + ", range: \":1\""), "00");
  EXPECT_EQ(copy(a + ", range: \"9:100\""), "99");
  EXPECT_EQ(copy(a + ", range: \"50:100\""), "");
  EXPECT_EQ(copy("path: [" + dir / "c" + ", " + dir / "b" + ", " + dir / "a" + "]"), "xxyy00112233445566778899");
}

TEST(file_rows, a_truncated_file_is_refused) {
  const temporary_directory dir;
  const std::string path = dir.write("short", std::string(35, 'x'));
  EXPECT_EQ(error_of("in: {op: file.read_rows, with: {path: " + path + ", type: {a: u64, b: u64}}}\n" +
                     "out: {op: file.write_rows, in: in, with: {path: " + dir / "out" + "}}\n"),
            "65: " + path + ": 35 bytes are 2 rows of 16 bytes and 3 bytes more");
  EXPECT_FALSE(dir.has("out"));
}

TEST(file_rows, a_truncated_pipe_is_refused_too) {
  const temporary_directory dir;
  const std::string pipe = dir / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(pipe, std::ios::binary) << std::string(8 * 1000 + 5, 'x'); });
  EXPECT_THAT(error_of("in: {op: file.read_rows, with: {path: " + pipe + ", type: {a: u64}}}\n" +
                       "out: {op: file.write_rows, in: in, with: {path: " + dir / "out" + "}}\n"),
              AllOf(StartsWith("65: "), HasSubstr("8005 bytes are 1000 rows of 8 bytes and 5 bytes more")));
  writer.join();
}

TEST(file_rows, sorted_by_is_checked) {
  const temporary_directory dir;
  std::string content;
  for (int i = 0; i < 1000; ++i) content += {static_cast<char>(i / 100), static_cast<char>(100 - i % 100)};
  const auto nodes = [&](const std::string& sorted_by) {
    return "in: {op: file.read_rows, with: {path: " + dir / "in" + ", type: {a: u8, b: u8}, sorted_by: " + sorted_by +
           "}}\n" + "out: {op: file.write_rows, in: in, with: {path: " + dir / "out" + "}}\n";
  };
  dir.write("in", content);
  run_files(nodes("[a, -b]"), {.batch_bytes = 10});
  EXPECT_EQ(dir.read("out"), content);
  content[2 * 777 + 1] = 127;  // b descends within an a
  dir.write("in", content);
  for (const size_t batch_bytes : {size_t{2}, size_t{10}, size_t{100000}})
    EXPECT_EQ(error_of(nodes("[a, -b]"), {.batch_bytes = batch_bytes}),
              "65: " + dir / "in" + ": row 777 (counted from 0) comes before its predecessor by a, -b");
}

TEST(file_rows, faults) {
  const temporary_directory dir;
  const std::vector<std::string> faults = faults_of(
      "a: {op: file.read_rows, with: {path: x, type: {s: string}}}\n"
      "b: {op: file.read_rows, with: {path: x, type: {n: u8}, range: \"5:2\"}}\n"
      "c: {op: file.read_rows, with: {path: [x, y], type: {n: u8}, range: \"5:7\"}}\n"
      "d: {op: file.read_csv, with: {path: x, type: {s: string}}}\n"
      "w: {op: file.write_rows, in: d, with: {path: y}}\n"
      "e: {op: file.read_csv, with: {path: x, type: {s: u8}, delimiter: \"::\", quote: x}}\n"
      "f: {op: file.read_lines, with: {path: x, delimiter: ab}}\n"
      "g: {op: file.read_csv, with: {path: x, type: {s: string, t: string}}}\n"
      "l: {op: file.write_lines, in: g, with: {path: z}}\n");
  const auto says = [&](const std::string& text) { EXPECT_THAT(faults, Contains(HasSubstr(text))); };
  says("column 's' is a string, which has no fixed width");
  says("'5:2' is no range of rows");
  says("a range needs a single file");
  says("column 's' of 'd' is a string");
  says("the delimiter \"::\" is not one byte");
  says("\"x\" can't be the quote");
  says("the delimiter \"ab\" is not one byte");
  says("it is not clear which column of {s: string, t: string} is the line");
}

TEST(file_csv, malformed_lines_go_where_on_error_says) {
  const temporary_directory dir;
  const std::string path = dir.write("edges.txt", "1 2\n1 2\nx\n3 4\n5 6 7\n8 -1\n");
  const auto nodes = [&](const std::string& on_error, bool port) {
    return "edges: {op: file.read_csv, with: {path: " + path + ", delimiter: \" \", type: {src: u64, dst: u32}}" +
           on_error + "}\nout: {op: file.write_csv, in: edges, with: {path: " + dir / "out" + "}}\n" +
           (port ? "bad: {op: file.write_lines, in: edges.bad, with: {path: " + dir / "bad" + "}}\n" +
                       "why: {op: file.write_csv, in: edges.bad, with: {path: " + dir / "why" + "}}\n"
                 : "");
  };
  for (const size_t batch_bytes : {size_t{1}, size_t{7}, size_t{100000}}) {
    const run_options options{.batch_bytes = batch_bytes};
    EXPECT_EQ(error_of(nodes("", false), options), "65: " + path + ":3:1: expected 2 fields, got 1");
    const run_result skipped = run_files(nodes(", on_error: skip", false), options);
    EXPECT_EQ(dir.read("out"), "1,2\n1,2\n3,4\n");
    EXPECT_EQ(skipped.rejected_rows, 3U);
    run_files(nodes(", on_error: {to: bad, max_ratio: 0.5}", true), options);
    EXPECT_EQ(dir.read("out"), "1,2\n1,2\n3,4\n");
    EXPECT_EQ(dir.read("bad"), "x\n5 6 7\n8 -1\n");
    EXPECT_EQ(dir.read("why"),
              "x,3,1,\"expected 2 fields, got 1\"\n5 6 7,5,5,\"expected 2 fields, got 3\"\n"
              "8 -1,6,3,\"expected u32 (0 to 4294967295), got \"\"-1\"\"\"\n");
    EXPECT_THAT(error_of(nodes(", on_error: {to: bad, max_ratio: 0.4}", true), options),
                AllOf(HasSubstr("3 of 6 lines were rejected"), HasSubstr(path + ":3:1: expected 2 fields, got 1")));
  }
}

TEST(file_csv, reads_several_files_and_writes_a_header) {
  const temporary_directory dir;
  dir.write("a", "k;v\n1;one\n2;'t;w''o'\n");
  dir.write("b", "k;v\r\n3;three\r\n");
  run_files("in: {op: file.read_csv, with: {path: [" + dir / "a" + ", " + dir / "b" +
            "], delimiter: \";\", quote: \"'\", header: true, type: {k: u40, v: string}}}\n" +
            "out: {op: file.write_csv, in: in, with: {path: " + dir / "sub/out.csv" +
            ", header: true, delimiter: \"\\t\"}}\n");
  EXPECT_EQ(dir.read("sub/out.csv"), "k\tv\n1\tone\n2\tt;w'o\n3\tthree\n");
  dir.write("a", "k\n");
  run_files("in: {op: file.read_csv, with: {path: " + dir / "a" + ", header: true, type: {k: u8}}}\n" +
            "out: {op: file.write_csv, in: in, with: {path: " + dir / "empty.csv" + ", header: true}}\n");
  EXPECT_EQ(dir.read("empty.csv"), "k\n");
}

TEST(file_csv, a_header_must_name_the_columns_in_order) {
  const temporary_directory dir;
  const auto message = [&](const std::string& content, const std::string& type) {
    return error_of("in: {op: file.read_csv, with: {path: " + dir.write("in", content) + ", header: true, type: " +
                    type + "}}\n" + "out: {op: file.write_csv, in: in, with: {path: " + dir / "out.csv" + "}}\n");
  };
  EXPECT_THAT(message("a,b\n1,2\n", "{b: u8, a: u8}"), HasSubstr(":1: the header says a, b; the type has b, a"));
  EXPECT_THAT(message("a,\"b\n\"\"c\"\"\"\r\n1,2\n", "{a: u8, b: u8}"), HasSubstr("says a, \"b\\n\\\"c"));
  EXPECT_THAT(message("a,b\n", "{a: u8, b: u8, c: u8}"), HasSubstr("says a, b; the type has a, b, c"));
  EXPECT_THAT(message("a,b,\n", "{a: u8, b: u8}"), HasSubstr("says a, b, \"\""));
  EXPECT_THAT(message("1,2\n", "{a: u8, b: u8}"), HasSubstr("says 1, 2;"));
  EXPECT_THAT(message("a, b\n1,2\n", "{a: u8, b: u8}"), HasSubstr("says a, \" b\""));
  EXPECT_FALSE(dir.has("out.csv"));
  for (const std::string header : {"a,b", "\"a\",\"b\"\r\n", "\xEF\xBB\xBF\"a\",b\n"}) {
    run_files("in: {op: file.read_csv, with: {path: " + dir.write("in", header) +
              ", header: true, type: {a: u8, b: u8}}}\n" +
              "out: {op: file.write_csv, in: in, with: {path: " + dir / "out.csv" + "}}\n");
    EXPECT_EQ(dir.read("out.csv"), "");
  }
}

TEST(file_lines, may_be_as_long_as_the_memory_allows) {
  const temporary_directory dir;
  const std::string path = dir.write("in", std::string(12'000'000, 'x') + "\nshort\n");
  const std::string nodes = "in: {op: file.read_lines, with: {path: " + path + "}}\n" +
                            "out: {op: file.write_lines, in: in, with: {path: " + dir / "out" + "}}\n";
  run_options options;
  options.memory_bytes = 64 << 20;
  run_files(nodes, options);
  EXPECT_EQ(dir.read("out"), dir.read("in"));
  // A quarter of the job's memory, whatever its reader has.
  dir.write("in", "short\n" + std::string(17'000'000, 'x') + "\n");
  options.memory_bytes = 16 << 20;
  EXPECT_THAT(error_of(nodes, options), HasSubstr(path + ":2: a line is longer than 12.0 MiB"));
}

TEST(file_lines, are_copied_byte_for_byte) {
  const temporary_directory dir;
  std::string content;
  std::mt19937_64 random(5);
  for (int i = 0; i < 3000; ++i) {
    for (size_t n = random() % 3 == 0 ? 0 : random() % (i % 500 == 0 ? 300000 : 50); n > 0; --n)
      content += static_cast<char>(random() % 256 == '\n' ? ' ' : random() % 5 == 0 ? '\0' : 'a' + random() % 26);
    content += i % 7 == 0 ? "\r\n" : "\n";
  }
  const auto copy = [&](const std::string& text, const run_options& options) {
    run_files("in: {op: file.read_lines, with: {path: " + dir.write("in", text) + "}}\n" +
                  "out: {op: file.write_lines, in: in, with: {path: " + dir / "out" + "}}\n",
              options);
    return dir.read("out");
  };
  for (const size_t batch_bytes : {size_t{300}, size_t{1} << 18}) {
    EXPECT_TRUE(copy(content, {.batch_bytes = batch_bytes, .memory_bytes = 1 << 20}) == content);
    EXPECT_EQ(copy("a\nb", {.batch_bytes = batch_bytes}), "a\nb\n");
    EXPECT_EQ(copy("", {.batch_bytes = batch_bytes}), "");
    EXPECT_EQ(copy("\n", {.batch_bytes = batch_bytes}), "\n");
  }
  dir.write("names", std::string("a\0b\nc\0", 6));
  run_files("in: {op: file.read_lines, with: {path: " + dir / "names" + ", delimiter: \"\\0\"}}\n" +
            "out: {op: file.write_csv, in: in, with: {path: " + dir / "out" + "}}\n");
  EXPECT_EQ(dir.read("out"), "a\n\"b\nc\"\n");
  run_files("in: {op: file.read_lines, with: {path: " + dir / "names" + ", delimiter: \"\\0\"}}\n" +
            "out: {op: file.write_lines, in: in, with: {path: " + dir / "out" + ", delimiter: \"\\0\"}}\n");
  EXPECT_EQ(dir.read("out"), dir.read("names"));
  EXPECT_THAT(faults_of("in: {op: file.read_lines, with: {path: " + dir / "names" + "}}\n" +
                        "out: {op: file.write_lines, in: in, with: {path: " + dir / "out" + ", delimiter: ab}}\n"),
              ElementsAre(HasSubstr("is not one byte")));
}

TEST(file_operators, a_missing_input_and_an_impossible_output_say_why) {
  const temporary_directory dir;
  const std::string in = "in: {op: file.read_lines, with: {path: " + dir / "none" + "}}\n";
  EXPECT_THAT(error_of(in + "out: {op: file.write_lines, in: in, with: {path: " + dir / "out" + "}}\n"),
              AllOf(StartsWith("66: "), HasSubstr(dir / "none"), HasSubstr("No such file or directory")));
  dir.write("some", "x\n");
  EXPECT_THAT(error_of("in: {op: file.read_lines, with: {path: [" + dir / "some" + ", " + dir / "none" + "]}}\n" +
                       "out: {op: file.write_lines, in: in, with: {path: " + dir / "out" + "}}\n"),
              StartsWith("66: "));
  EXPECT_THAT(error_of("in: {op: file.read_lines, with: {path: " + dir / "some" + "}}\n" +
                       "out: {op: file.write_lines, in: in, with: {path: " + dir / "some" + "/out}}\n"),
              StartsWith("73: "));
  EXPECT_FALSE(dir.has("out"));
}

TEST(generate, rows_do_not_depend_on_batches) {
  const temporary_directory dir;
  const auto rows = [&](const std::string& with, size_t batch_bytes) {
    run_files("in: {op: generate, with: {" + with + "}}\n" +
                  "out: {op: file.write_csv, in: in, with: {path: " + dir / "out" + "}}\n",
              {.batch_bytes = batch_bytes});
    return dir.read("out");
  };
  EXPECT_EQ(rows("rows: 4, kind: counter", 100), "0\n1\n2\n3\n");
  EXPECT_EQ(rows("rows: 3, first: 7, columns: {i: i, square: \"u32(i * i)\"}", 1), "7,49\n8,64\n9,81\n");
  EXPECT_EQ(rows("rows: 0, kind: random", 100), "");
  for (const std::string with : {"rows: 5000, kind: random, seed: 3", "rows: 5000, kind: rmat, scale: 12",
                                 "rows: 500, kind: records, ascii: true, first: 3",
                                 "rows: 3000, columns: {a: \"rand(1, i) % 10\", b: \"string(i)\"}"})
    EXPECT_TRUE(rows(with, 13) == rows(with, 1 << 18)) << with;
}

TEST(generate, records_are_those_of_the_sort_benchmark) {
  const temporary_directory dir;
  run_files("in: {op: generate, with: {rows: 3000, kind: records}}\nout: {op: file.write_rows, in: in, with: {path: " +
            dir / "records" + "}}\n");
  EXPECT_EQ(dir.read("records").size(), 300'000U);
  EXPECT_EQ(dir.read("records").substr(0, 8), "JimGrayR");
}

TEST(generate, faults) {
  const std::vector<std::string> faults = faults_of(
      "a: {op: generate, with: {rows: 1}}\n"
      "b: {op: generate, with: {rows: 1, kind: counter, columns: {x: i}}}\n"
      "c: {op: generate, with: {rows: 1, kind: rmat}}\n"
      "d: {op: generate, with: {rows: 1, kind: rmat, scale: 99}}\n"
      "e: {op: generate, with: {rows: 1, kind: rmat, scale: 4, a: 0.9}}\n"
      "f: {op: generate, with: {rows: 1, kind: counter, seed: 4}}\n"
      "g: {op: generate, with: {rows: 1, columns: {x: j}}}\n"
      "h: {op: generate, with: {rows: 1, kind: records, first: 0xFFFFFFFFFFFFFFFF}}\n");
  const auto says = [&](const std::string& text) { EXPECT_THAT(faults, Contains(HasSubstr(text))); };
  says("1:9: nothing says which columns to generate");
  says("2:9: `kind` and `columns` exclude each other");
  says("3:9: kind rmat needs `scale`");
  says("scale 99 is out of range");
  says("a, b and c are 0.9, 0.19 and 0.19");
  says("'seed' has no effect here");
  says("'j'");
}

// Whichever row it is: where a file begins isn't known there.
TEST(file_csv_round_trip, a_first_field_that_would_be_taken_for_a_mark_or_a_compressed_file_is_quoted) {
  const temporary_directory dir;
  const std::vector<std::string> texts = {"\xEF\xBB\xBFx", "\x28\xb5\x2f\xfd", "BZh91AY&SY", "BZh9", "plain"};
  std::string lines;
  for (const std::string& text : texts) lines += "\"" + text + "\"," + text + "\n";
  const std::string read = "{op: file.read_csv, with: {type: {a: string, b: string}, path: ";
  const auto copy = [&](const std::string& from, const std::string& to, const std::string& with) {
    run_files("in: " + read + from + "}}\nout: {op: file.write_csv, in: in, with: {path: " + to + with + "}}\n");
  };
  copy(dir.write("in.csv", lines), dir / "out.csv", "");
  EXPECT_EQ(dir.read("out.csv"),
            "\"\xEF\xBB\xBFx\",\xEF\xBB\xBFx\n\"\x28\xb5\x2f\xfd\",\x28\xb5\x2f\xfd\n\"BZh91AY&SY\",BZh91AY&SY\n"
            "BZh9,BZh9\nplain,plain\n");
  copy(dir / "out.csv", dir / "again.csv", "");
  EXPECT_EQ(dir.read("again.csv"), dir.read("out.csv"));
  EXPECT_THROW(copy(dir / "out.csv", dir / "bare.csv", ", quote: \"\""), error);
}

}  // namespace
}  // namespace flowrun::operators::testing
