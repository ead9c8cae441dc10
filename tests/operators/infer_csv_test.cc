// flowrun infer: what a text is cut into, whether its first line is a header, and the source that comes of it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "operators/parts/infer/csv_dialect.h"
#include "operators/parts/infer/infer_source.h"
#include "tests/support/temporary_directory.h"

namespace flowrun::operators {
namespace {

std::string repeated(const std::string& text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

// The delimiter, the quote and the number of fields; "lines" where it is no table.
std::string dialect_of(std::string_view text) {
  const csv_dialect d = guess_dialect(text, true, {});
  if (!is_table(d)) return "lines";
  const std::string byte = d.format.delimiter == '\t' ? "\\t" : std::string(1, d.format.delimiter);
  return fmt::format("{} {} {}", byte, d.format.quote ? std::string(1, *d.format.quote) : "none", d.num_fields);
}

TEST(infer_csv, dialects) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"a,b\n1,2\n", ", \" 2"},
      {"a;b\n1;2\n", "; \" 2"},
      {"a\tb c\n1\t2\n", "\\t \" 2"},
      {"a|b|c\n1|2|3\n", "| \" 3"},
      {"1 2\n3 4\n", "  \" 2"},
      {"a;b\n1,5;2,5\n3,5;4,5\n", "; \" 2"},                                  // decimal commas
      {"a,b\n\"x;y;z\",1\n\"u;v;w\",2\n", ", \" 2"},                          // quoted delimiters
      {"a,b\n\"x\ny\",1\n\"u\"\"v\",2\n", ", \" 2"},                          // quoted line ends
      {"'a, b',1\n'c, d',2\n", ", ' 2"},                                      // other quotes
      {"x,5\" disk\ny,\"3\" disk\nz,\"8\" disk\n", ", none 2"},               // quotes that are none
      {"t,x\n2026-11-23 12:00:01,1.5\n2026-11-23 12:00:02,2.5\n", ", \" 2"},  // colons and blanks within
      {"root:x:0:0\nbin:x:1:1\ndaemon:x:2:2\n", ": \" 4"},
      {"Hello, world\n", "lines"},
      {"one line of prose\nand another one, longer\nthe end\n", "lines"},
      {"int main() {\n  return f(1, 2);\n}\n", "lines"},
      {"a\x01"
       "b\n1\x01"
       "2\n",
       "\x01 \" 2"},
      {"", "lines"},
      {"\n\n\n", "lines"},
      {"a,b\r\n1,2\r\n", ", \" 2"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(dialect_of(text), expected) << text;
}

class infer_files : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) { return directory_.write(name, text); }
  inferred_source of(const std::string& text, const infer_options& options = {}) {
    return infer_source({write("x.csv", text)}, options);
  }
  // "a: u32, b: string"; for lines "lines".
  static std::string columns(const inferred_source& s) {
    if (s.columns.empty()) return std::string(s.format);
    std::string out;
    for (const inferred_column& c : s.columns) out += (out.empty() ? "" : ", ") + c.name + ": " + to_string(c.type);
    return out;
  }
  // "columns: header; null_values: [, NA]; missing: {a: a_missing}".
  static std::string settings(const inferred_source& s) {
    std::string out;
    for (const inferred_setting& g : s.settings) {
      std::string value = g.text;
      for (const std::string& text : g.list) value += "[" + text + "]";
      for (const auto& [key, text] : g.map) value += "{" + key + ": " + text + "}";
      out += (out.empty() ? "" : "; ") + g.name + ": " + value;
    }
    return out;
  }
  void fails(const std::string& text, const std::string& message, const infer_options& options = {}) {
    try {
      of(text, options);
      ADD_FAILURE() << "no error: " << message;
    } catch (const error& problem) {
      EXPECT_EQ(problem.kind(), error_kind::bad_data);
      EXPECT_THAT(problem.what(), testing::HasSubstr(message));
      EXPECT_FALSE(problem.hint().empty());
    }
  }

  temporary_directory directory_;
};

TEST_F(infer_files, headers) {
  EXPECT_EQ(columns(of("id,name\n1,x\n2,y\n")), "id: u32, name: string");
  EXPECT_EQ(columns(of("1,x\n2,y\n")), "column_1: u32, column_2: string");
  EXPECT_EQ(columns(of("id,2024\n1,5\n2,6\n")), "id: u32, _2024: u32");
  EXPECT_THAT(of("id,2024\n1,5\n2,6\n").questions, testing::Contains(testing::HasSubstr("though it has numbers")));
  EXPECT_EQ(columns(of("land,2024\nx,5\ny,6\n")), "column_1: string, column_2: u32");  // 2024 may be a value
  EXPECT_EQ(columns(of("NA,5\n1,6\n2,7\n")), "column_1: u32, column_2: u32");
  EXPECT_EQ(columns(of("value\n1\n2\n")), "value: u32");
  EXPECT_EQ(columns(of("1\n2\n")), "column_1: u32");
  EXPECT_EQ(columns(of("name\nbob\nal\n")), "lines");
  EXPECT_EQ(columns(of("2026-11-23 12:00\n2026-11-24 13:00\n")), "column_1: timestamp");
  EXPECT_EQ(columns(of(",a\n0,x\n1,y\n")), "column_1: u32, a: string");  // as pandas writes an index
  EXPECT_EQ(settings(of(",a\n0,x\n1,y\n")), "columns: header; names: {column_1: }");
  EXPECT_EQ(settings(of("Id No;a b\n1;x\n")), "delimiter: ;; columns: header; names: {id_no: Id No}{a_b: a b}");
  EXPECT_EQ(settings(of("\xEF\xBB\xBFid,b\n1,x\n")), "columns: header");
  const std::string coded = "code,name\n" + repeated("DE,Germany\nAT,Austria\n", 20);
  EXPECT_EQ(columns(of(coded)), "code: string, name: string");
  EXPECT_THAT(of(coded).questions,
              testing::Contains(testing::StartsWith("all columns are text, and line 1 was taken for "
                                                    "a header")));
  EXPECT_EQ(columns(of("ab,cd\nef,gh\nab,cd\n")), "column_1: string, column_2: string");
  EXPECT_EQ(columns(of("id,name\n")), "column_1: string, column_2: string");
  EXPECT_THAT(of("id,name\n").questions, testing::Contains(testing::StartsWith("there is only one line")));
  EXPECT_THAT(of("a,,c,\n1,x,2,5\n3,y,4,6\n").questions,
              testing::Contains(testing::StartsWith("half of line 1 is empty or more")));
  EXPECT_THAT(of(",\n1,2\n3,4\n").questions, testing::Not(testing::Contains(testing::StartsWith("half of line 1"))));
  infer_options options;
  options.header = true;
  EXPECT_EQ(columns(of("ab,cd\nef,gh\n", options)), "ab: string, cd: string");
  options.header = false;
  EXPECT_EQ(columns(of("id,n\n1,2\n", options)), "column_1: string, column_2: string");
}

TEST_F(infer_files, missing_values) {
  EXPECT_EQ(settings(of("id,n,s\n1,NA,x\n2,5,NA\n3,,y\n")),
            "columns: header; null_values: [][NA]; missing: {n: n_missing}");
  EXPECT_EQ(settings(of("id,n,s\n1,,\n2,5,y\n")), "columns: header; null_values: []; missing: {n: n_missing}");
  EXPECT_EQ(settings(of("id,s\n1,\n2,NA\n")), "columns: header");  // texts may be empty
  EXPECT_EQ(settings(of("n,n_missing\n1,2\n,3\n")), "columns: header; null_values: []; missing: {n: n_missing_2}");
  // NaN is a number, unless another column needs it for a missing one.
  EXPECT_EQ(settings(of("a,b\nNaN,1\n1.5,2\n")), "columns: header");
  EXPECT_EQ(settings(of("a,b\nNaN,1\n1.5,NaN\n")),
            "columns: header; null_values: [NaN]; missing: {a: a_missing}{b: b_missing}");
}

TEST_F(infer_files, columns_that_cannot_be_taken) {
  const inferred_source twice = of("a,b,a\n1,2,3\n");
  EXPECT_EQ(columns(twice), "b: u32");
  EXPECT_THAT(twice.questions, testing::Contains(testing::HasSubstr("the header has \"a\" 2 times")));
  EXPECT_THAT(of("a\xE4,b\n1,2\n").questions, testing::Contains(testing::HasSubstr("not UTF-8")));
  fails("a,a\n1,2\n", "the header has no name that is there once");
}

TEST_F(infer_files, days_and_months) {
  // What one column tells holds for the others.
  EXPECT_EQ(settings(of("a,b\n01/02/2026,13/02/2026\n")), "columns: header; format: {a: %d/%m/%Y}{b: %d/%m/%Y}");
  EXPECT_EQ(settings(of("a,b\n01/02/2026,02/13/2026\n")), "columns: header; format: {a: %m/%d/%Y}{b: %m/%d/%Y}");
}

TEST_F(infer_files, malformed_lines) {
  const inferred_source some = of("a,b\n" + repeated("1,2\n", 50) + "1,2,3\n\n\"x\"y,2\n" + repeated("1,2\n", 50));
  EXPECT_TRUE(some.skips_malformed);
  EXPECT_EQ(some.seen.rows, 103U);
  EXPECT_THAT(
      some.questions,
      testing::Contains(testing::AllOf(
          testing::StartsWith("3 of 103 lines are malformed"), testing::HasSubstr("x.csv:52: expected 2 fields, got 3"),
          testing::HasSubstr("x.csv:53: an empty line"), testing::HasSubstr("x.csv:54: a quote that isn't closed"))));
  infer_options options;
  options.delimiter = ',';
  fails("a,b\n1,2\n1,2,3\n1,2\n4\n", "x.csv:3: expected 2 fields, got 3; 2 of 4 lines don't have 2 fields", options);
  fails("# made by x\n# on a day\na,b\n" + repeated("1,2\n", 50),
        "x.csv:1: the table of 2 fields a line begins in line 3");
}

TEST_F(infer_files, what_is_no_table) {
  EXPECT_EQ(columns(of("[1, 2]\n[3, 4]\n")), "lines");
  EXPECT_EQ(of("{\"a\": 1, \"b\": 2}\n{\"a\": 3, \"b\": 4}\n").format, "json_lines");
  EXPECT_EQ(of("{a, 1}\n{b, 2}\n").format, "lines");
  EXPECT_THAT(of("some words\r\nand more of them\r\n").questions, testing::Contains(testing::HasSubstr("\\r")));
  fails("", "there is nothing in it");
  fails(std::string("ab\0cd", 5), "byte 2 is 0x00");
  fails(repeated("\x05\x06", 500), "byte 0 is 0x05");
  fails(
      "\xFF\xFE"
      "a",
      "UTF-16");
  fails("\x93NUMPY", "NumPy");
  fails("PAR1xx", "Parquet");
  fails("a,b\r1,2\r3,4\r", "its lines end with \\r alone");
  fails(std::string(17 << 20, 'x'), "begins a line that is longer than 16.0 MiB");
  infer_options options;
  options.format = "lines";
  EXPECT_EQ(columns(of("a,b\n1,2\n", options)), "lines");
}

// A value that shows up late is seen, since the sample is from several places.
TEST_F(infer_files, places_of_a_large_file) {
  std::string text = "id,x,note\n";
  for (int i = 0; i < 400'000; ++i)
    text += i < 395'000 ? fmt::format("{},7,\"a\nb, {}\"\n", i, i) : fmt::format("{},7.5,\"c,\n\n\nd\"\n", i);
  infer_options options;
  options.most_bytes = MiB;
  const inferred_source sample = of(text, options);
  EXPECT_EQ(columns(sample), "id: u32, x: f64, note: string");
  EXPECT_EQ(sample.seen.places, 5U);
  EXPECT_FALSE(sample.seen.whole);
  EXPECT_FALSE(sample.skips_malformed) << testing::PrintToString(sample.questions);
  EXPECT_NEAR(static_cast<double>(sample.seen.all_rows.value()), 400'000, 20'000);
  options.all = true;
  const inferred_source all = of(text, options);
  EXPECT_TRUE(all.seen.whole);
  EXPECT_EQ(all.seen.rows, 400'000U);
  EXPECT_EQ(all.columns[0].most, "399999");
  options.all = false;
  options.most_rows = 50;
  EXPECT_LE(of(text, options).seen.rows, 50U);
}

// The rows that are looked at come from several places, too, however small the file is.
TEST_F(infer_files, places_of_a_file_of_many_rows) {
  std::string text = "a,c\n";
  for (int i = 0; i < 6000; ++i) text += i < 3000 ? fmt::format("{},\n", i) : fmt::format("{},2026-01-02\n", i);
  infer_options options;
  options.most_rows = 1003;
  const inferred_source sample = of(text, options);
  EXPECT_EQ(columns(sample), "a: u32, c: date");
  EXPECT_EQ(settings(sample), "columns: header; null_values: []; missing: {c: c_missing}");
  EXPECT_EQ(sample.seen.rows, 1003U);
  EXPECT_EQ(sample.seen.places, 5U);
  EXPECT_FALSE(sample.seen.whole);
  EXPECT_EQ(sample.columns[0].least, "0");
  EXPECT_EQ(sample.columns[0].most, "5999");  // the last rows are among them
  options.most_rows = 5;
  EXPECT_EQ(of(text, options).columns[0].most, "5999");
  options.most_rows = 1;
  EXPECT_EQ(of(text, options).seen.rows, 1U);
  options.most_rows = 6001;
  EXPECT_TRUE(of(text, options).seen.whole);
  EXPECT_EQ(of(text + "last,\n").columns[0].type, record::value_type::of(record::type_kind::string));
  // A line end after the last row, or none; and records with line ends within, of which there are fewer than lines.
  options.most_rows = 10;
  text.pop_back();
  EXPECT_EQ(of(text, options).columns[0].most, "5999");
  std::string quoted = "id,note\n";
  for (int i = 0; i < 40; ++i) quoted += fmt::format("{},\"a\nb\nc, {}\"\n", i, i);
  options.most_rows = 60;
  const inferred_source most = of(quoted, options);
  EXPECT_FALSE(most.skips_malformed) << testing::PrintToString(most.questions);
  EXPECT_LE(most.seen.rows, 40U);
  EXPECT_EQ(most.columns[0].most, "39");
}

TEST_F(infer_files, several_files) {
  const std::string a = write("a.csv", "id,x\n1,2\n"), b = write("b.csv", "x,id\n2.5,7\n"),
                    c = write("c.csv", "id,y\n1,2\n");
  const std::string empty = write("empty.csv", "");
  EXPECT_EQ(columns(infer_source({empty, a, b}, {})), "id: u32, x: f64");
  infer_options options;
  options.all = true;
  const inferred_source all = infer_source({a, empty, b}, options);
  EXPECT_EQ(columns(all), "id: u32, x: f64");
  EXPECT_EQ(all.seen.rows, 2U);
  EXPECT_TRUE(all.seen.whole);
  options.all = false;
  options.most_rows = 2;  // one of each
  EXPECT_EQ(infer_source({a, b}, options).seen.rows, 2U);
  options.most_rows = 4;
  options.format = "lines";
  EXPECT_EQ(infer_source({a, b}, options).seen.rows, 4U);
  EXPECT_THAT(
      [&] {
        infer_source({a, c}, {});
      },
      testing::Throws<error>(
          testing::Property(&error::what, testing::HasSubstr("c.csv:1: the header says id, y; that of"))));
  EXPECT_THAT(
      [&] {
        infer_source({a, a + "x"}, {});
      },
      testing::Throws<error>(testing::Property(&error::kind, error_kind::missing_input)));
}

}  // namespace
}  // namespace flowrun::operators
