// NumPy files: headers in all their forms, rows against a plain loop, what is written reads back, and what is wrong
// with a file is said with its place.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "operators/parts/files/npy_array.h"
#include "operators/parts/files/npy_header.h"
#include "tests/operators/harness.h"
#include "tests/support/temporary_directory.h"

namespace flowrun::operators::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A file with this literal and these elements, without any blanks.
std::string npy(const std::string& literal, const std::string& data = {}, int version = 1) {
  std::string out = "\x93NUMPY";
  out += static_cast<char>(version);
  out += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) out += static_cast<char>(literal.size() >> 8 * i);
  return out + literal + data;
}

std::string literal_of(const std::string& descr, const std::string& shape, bool fortran = false) {
  return fmt::format("{{'descr': {}, 'fortran_order': {}, 'shape': {}, }}", descr, fortran ? "True" : "False", shape);
}

// "name text @offset" of each field, and what is left of the header.
std::string described(const std::string& literal, int version = 1) {
  const std::string file = npy(literal, {}, version);
  for (size_t length = 0; length < file.size(); ++length) {
    const uint64_t needed = npy_bytes_needed(file.substr(0, length));
    EXPECT_GT(needed, length);
    EXPECT_LE(needed, file.size());
  }
  const npy_header header = read_npy_header(file);
  EXPECT_EQ(header.num_bytes, file.size());
  std::string out;
  for (const npy_field& f : header.fields) out += fmt::format("{} {} @{}, ", f.name, f.text, f.offset);
  out += fmt::format("{} bytes", header.element_bytes);
  for (const uint64_t n : header.shape) out += fmt::format(" x {}", n);
  if (header.structured) out += ", structured";
  if (header.fortran_order) out += ", fortran";
  return out;
}

TEST(npy_header, has_many_forms) {
  EXPECT_EQ(described(literal_of("'<f8'", "(3,)")), " <f8 @0, 8 bytes x 3");
  EXPECT_EQ(described("{'shape':(3 ,4),'fortran_order':True,\"descr\":\"|S10\"}  \n"),
            " |S10 @0, 10 bytes x 3 x 4, fortran");
  EXPECT_EQ(described(literal_of("'<M8[us]'", "()")), " <M8[us] @0, 8 bytes");
  EXPECT_EQ(described(literal_of("[('a', '<i4'), ('', '|V4'), ('b', '>f8')]", "(0,)"), 2),
            "a <i4 @0, b >f8 @8, 16 bytes x 0, structured");
  EXPECT_EQ(
      described(literal_of("[('a', '<i4', (2, 3)), ('b', '<u2', 3), ('c', [('x', '|u1'), ('y', '<U2')])]", "(7L,)")),
      "a '<i4', (2, 3) @0, b '<u2', 3 @24, c [('x', '|u1'), ('y', '<U2')] @30, 39 bytes x 7, structured");
  EXPECT_EQ(described(literal_of("[(('title', 'a'), '<i4'), (u'b', '|b1')]", "(1,)")),
            "a <i4 @0, b |b1 @4, 5 bytes x 1, structured");
  EXPECT_EQ(described(literal_of(R"([('it\'s\x41\u00e4', '|u1')])", "(1,)")),
            "it'sA\xC3\xA4 |u1 @0, 1 bytes x 1, structured");
  EXPECT_EQ(described(literal_of("[('\xE4', '|u1')]", "(1,)")), "\xC3\xA4 |u1 @0, 1 bytes x 1, structured");
  EXPECT_EQ(described(literal_of("[('\xC3\xA4', '|u1')]", "(1,)"), 3), "\xC3\xA4 |u1 @0, 1 bytes x 1, structured");
}

// "byte: what is wrong".
std::string wrong(const std::string& file) {
  try {
    if (npy_bytes_needed(file) > file.size()) return "more bytes are needed";
    read_npy_header(file);
  } catch (const npy_header_error& e) {
    return fmt::format("{}: {}", e.offset(), e.what());
  }
  return "nothing";
}

TEST(npy_header, is_refused_at_the_byte_that_is_wrong) {
  EXPECT_THAT(wrong("1,2\n"), StartsWith("0: expected a NumPy file, which begins with \\x93NUMPY, got "));
  EXPECT_EQ(wrong(npy("", "", 4)), "6: version 4.0 of the format isn't known");
  EXPECT_EQ(wrong(npy("")), "10: expected '{', got the end of the header");
  EXPECT_EQ(wrong(npy("{}")), "10: the header has no 'descr'");
  EXPECT_EQ(wrong(npy("{'descr': '<f8', 'shape': (1,)}")), "10: the header has no 'fortran_order'");
  EXPECT_EQ(wrong(npy("{'descr': '<f8', 'descr': '<f8'}")), "27: 'descr' is there twice");
  EXPECT_EQ(wrong(npy("{'desc': '<f8'}")), "11: \"desc\" is none of descr, fortran_order and shape");
  EXPECT_EQ(wrong(npy("{'fortran_order': 0}")), "28: expected True or False, got \"0}\"");
  EXPECT_EQ(wrong(npy("{'shape': (3)}")), "22: expected ',', got \")}\"");
  EXPECT_EQ(wrong(npy("{'shape': (-3,)}")), "21: expected a number, got \"-3,)}\"");
  EXPECT_EQ(wrong(npy("{'shape': (99999999999999999999,)}")), "21: the number is too large");
  EXPECT_EQ(wrong(npy("{'descr': __import__('os')}")), "20: expected a string, got \"__import__('os')}\"");
  EXPECT_EQ(wrong(npy("{'descr': '<f8")), "24: expected ', the end of a string, got the end of the header");
  EXPECT_EQ(wrong(npy("{'descr': '\\q'}")), "22: expected a character that may stand behind a backslash, got \"q'}\"");
  EXPECT_EQ(wrong(npy(literal_of("'|O'", "(1,)"))),
            "20: the array holds objects of Python (dtype object), which lie pickled in the file");
  EXPECT_EQ(wrong(npy(literal_of("'<f3'", "(1,)"))), "20: \"<f3\" is no type of NumPy");
  EXPECT_EQ(wrong(npy(literal_of("[('a', '|u1'), ('a', '|u1')]", "(1,)"))), "36: two fields are called \"a\"");
  EXPECT_EQ(wrong(npy(literal_of("'<f8'", "(1,)") + " x")), "68: expected the end of the header, got \"x\"");
  EXPECT_THAT(wrong(npy(literal_of("'|S9999999999'", "(1,)"))), HasSubstr("more than 2 GiB"));
  EXPECT_THAT(wrong(npy(literal_of("[('a', '<f8', (99999, 99999))]", "(1,)"))), HasSubstr("more than 2 GiB"));
  EXPECT_THAT(wrong(npy(literal_of("'<f8'", "(4611686018427387904, 4)"))), HasSubstr("is more than any file has"));
  std::string deep = "'<f8'";
  for (int i = 0; i < 100; ++i) deep = "[('a', " + deep + ")]";
  EXPECT_THAT(wrong(npy(literal_of(deep, "(1,)"))), HasSubstr("fewer lists within each other"));
  EXPECT_EQ(wrong("\x93NUM"), "more bytes are needed");
  EXPECT_THAT(wrong(std::string("\x93NUMPY\x02\0\xFF\xFF\xFF\xFF", 12)), HasSubstr("a header of 4294967295 bytes"));
}

TEST(npy_array, headers_are_as_long_for_any_number_of_rows) {
  for (const size_t num_columns : {1, 2, 30, 3000}) {
    std::vector<record::column> columns(num_columns);
    for (size_t i = 0; i < num_columns; ++i)
      columns[i] = {fmt::format("column{}", i), *record::parse_value_type(i % 2 == 0 ? "u40" : "bytes[7]")};
    const npy_array array(record::row_type(columns), true);
    for (const uint64_t num_rows : {uint64_t{0}, uint64_t{1} << 20, uint64_t{1} << 40}) {
      const std::string header = array.header(num_rows);
      EXPECT_EQ(header.size() % 64, 0U);
      EXPECT_EQ(header.size(), array.header(0).size());
      EXPECT_EQ(header.back(), '\n');
      const npy_header read = read_npy_header(header);
      EXPECT_EQ(read.num_bytes, header.size());
      EXPECT_EQ(read.num_rows(), num_rows);
      EXPECT_EQ(read.fields.size(), num_columns);
      EXPECT_EQ(read.element_bytes, array.element_bytes());
    }
  }
  EXPECT_EQ(
      npy_array(record::row_type({{"a", *record::parse_value_type("u8")}}), false).header(3),
      npy(literal_of("'|u1'", "(3,)") + std::string(128 - 10 - 1 - literal_of("'|u1'", "(3,)").size(), ' ') + "\n"));
}

// Reading

std::string source(const std::string& path, const std::string& type, const std::string& more = {}) {
  return "in: {op: file.read_npy, with: {path: " + path + ", type: " + type + more + "}}\n" +
         "out: {op: test.sink, in: in}\n";
}

std::string error_of(const std::string& nodes, const run_options& options = {}) {
  try {
    run(nodes, {}, options);
  } catch (const error& e) {
    return fmt::format("{}: {} (help: {})", e.exit_code(), e.what(), e.hint());
  }
  ADD_FAILURE() << "the job ended well";
  return {};
}

template <class number>
std::string bytes_of(number value, bool big = false) {
  std::string out(sizeof value, '\0');
  std::memcpy(out.data(), &value, sizeof value);
  return big ? std::string(out.rbegin(), out.rend()) : out;
}

TEST(file_read_npy, takes_fields_by_name_in_either_order_of_bytes_past_padding) {
  const temporary_directory dir;
  std::mt19937_64 random(7);
  std::string data;
  rows expected;
  for (int i = 0; i < 3000; ++i) {
    const auto a = static_cast<uint32_t>(random()), c = static_cast<uint32_t>(random() % (1U << 24));
    const auto b = static_cast<int16_t>(random());
    const auto day = static_cast<int64_t>(random() % 20000), us = static_cast<int64_t>(random() % 1000) * 1000000;
    data += "xyz" + bytes_of(a) + bytes_of(b, true) + std::string("\0\0\0", 3) + bytes_of(c) + bytes_of(day, true) +
            bytes_of(us) + fmt::format("{:05}", i) + bytes_of(i % 2 == 0);
    expected.push_back(fmt::format("{},{},{},{},{},{},{:05}", b, a, c, i % 2 == 0 ? "true" : "false", day, us, i));
  }
  dir.write("in", npy(literal_of("[('skipped', '|S3'), ('a', '<u4'), ('b', '>i2'), ('', '|V3'), ('c', '<u4'), ('day', "
                                 "'>M8[D]'), ('at', '<M8[us]'), ('my text', '|S5'), ('flag', '|b1')]",
                                 "(3000,)"),
                      data));
  const std::string nodes =
      "in: {op: file.read_npy, with: {path: " + dir / "in" +
      ", type: {b: i16, a: u32, c: u24, flag: bool, day: date, at: timestamp, text: \"bytes[5]\"}, names: {text: my "
      "text}}}\n"
      "numbers: {op: map, in: in, with: {b: b, a: a, c: c, flag: flag, day: to_i64(day), at: to_i64(at), text: text}}\n"
      "out: {op: test.sink, in: numbers}\n";
  EXPECT_EQ(run_all_ways(nodes, {}), expected);
}

TEST(file_read_npy, rows_as_they_lie_there_and_arrays_without_names) {
  const temporary_directory dir;
  std::string data;
  rows one, two;
  for (uint32_t i = 0; i < 6000; ++i) {
    data += bytes_of(i * 7);
    one.push_back(fmt::format("{}", i * 7));
    if (i % 2 == 1) two.push_back(fmt::format("{},{}", (i - 1) * 7, i * 7));
  }
  dir.write("one", npy(literal_of("'<u4'", "(6000,)"), data));
  dir.write("column", npy(literal_of("'<u4'", "(6000, 1)"), data));
  dir.write("two", npy(literal_of("'<u4'", "(3000, 2)"), data));
  dir.write("fields", npy(literal_of("[('x', '<u4'), ('y', '<u4')]", "(3000,)"), data));
  EXPECT_EQ(run_all_ways(source(dir / "one", "{n: u32}", ", sorted_by: [n]"), {}), one);
  EXPECT_EQ(run_all_ways(source(dir / "column", "{n: u32}"), {}), one);
  EXPECT_EQ(run_all_ways(source(dir / "two", "{x: u32, y: u32}"), {}), two);
  EXPECT_EQ(run_all_ways(source(dir / "fields", "{x: u32, y: u32}", ", sorted_by: [x, y]"), {}), two);
  rows several = one;
  several.insert(several.end(), one.begin(), one.end());
  dir.write("empty", npy(literal_of("'<u4'", "(0,)")));
  const std::string list = "[" + dir / "one" + ", " + dir / "empty" + ", " + dir / "column" + "]";
  EXPECT_EQ(run_all_ways(source(list, "{n: u32}"), {}), several);
  const rows named = run(source(list, "{n: u32}", ", file_column: file"), {}).sinks["out"];
  EXPECT_EQ(named.front(), "0," + dir / "one");
  EXPECT_EQ(named.back(), fmt::format("{},{}", 5999 * 7, dir / "column"));
}

TEST(file_read_npy, a_value_that_is_none_ends_the_job_or_leaves_its_row_out) {
  const temporary_directory dir;
  const std::string nat = bytes_of(std::numeric_limits<int64_t>::min());
  std::string data;
  rows good, bad;
  for (int64_t i = 0; i < 2000; ++i) {
    const bool is_nat = i % 7 == 6, too_large = i % 11 == 10;
    data += (is_nat ? nat : bytes_of(i)) + bytes_of(too_large ? uint64_t{1} << 40 : static_cast<uint64_t>(i));
    if (is_nat)
      bad.push_back(fmt::format("{},at,column 'at' is NaT, a missing time, which rows don't have", i));
    else if (too_large)
      bad.push_back(fmt::format("{},n,column 'n' is 1099511627776, which is no u40", i));
    else
      good.push_back(fmt::format("{}", i));
  }
  dir.write("in", npy(literal_of("[('at', '<M8[us]'), ('n', '<u8')]", "(2000,)"), data));
  const auto nodes = [&](const std::string& on_error, const std::string& sink) {
    return "in: {op: file.read_npy, with: {path: " + dir / "in" + ", type: {at: timestamp, n: u40}}" + on_error +
           "}\n" + "n: {op: map, in: in, with: {n: n}}\n" + sink;
  };
  for (const unsigned threads : {1U, 3U})
    for (const size_t batch_bytes : {size_t{1}, size_t{300}, size_t{1} << 18})
      EXPECT_THAT(
          error_of(nodes("", "out: {op: test.sink, in: n}\n"), {.batch_bytes = batch_bytes, .threads = threads}),
          StartsWith("65: " + dir / "in" +
                     ": row 6 (counted from 0): column 'at' is NaT, a missing time, which "
                     "rows don't have (help: mend the array (a[~numpy.isnat(a['t'])] "
                     "leaves out what is missing), or say `on_error: "));
  EXPECT_EQ(run_all_ways(nodes(", on_error: skip", "out: {op: test.sink, in: n}\n"), {}), good);
  const std::string to_port = ", on_error: {to: bad}";
  EXPECT_EQ(run_all_ways(nodes(to_port, "out: {op: test.sink, in: n}\nrest: {op: test.sink, in: in.bad}\n"), {}), good);
  EXPECT_EQ(run_all_ways(nodes(to_port, "rest: {op: test.sink, in: n}\nout: {op: test.sink, in: in.bad}\n"), {}), bad);
  EXPECT_THAT(
      error_of(nodes(", on_error: {to: skip, max_ratio: 0.1}", "out: {op: test.sink, in: n}\n")),
      HasSubstr("of 2,000 rows were rejected: 0.22, more than max_ratio 0.1; the first: " + dir / "in" + ": row 6"));
}

TEST(file_read_npy, other_values_that_are_none) {
  const temporary_directory dir;
  dir.write("day", npy(literal_of("'<M8[D]'", "(2,)"), bytes_of(int64_t{0}) + bytes_of(int64_t{1} << 31)));
  EXPECT_THAT(error_of(source(dir / "day", "{d: date}")),
              HasSubstr("row 1 (counted from 0): column 'd' is day 2147483648, which is no date"));
  dir.write("nat", npy(literal_of("'<M8[D]'", "(1,)"), bytes_of(std::numeric_limits<int64_t>::min())));
  EXPECT_THAT(error_of(source(dir / "nat", "{d: date}")), HasSubstr("column 'd' is NaT"));
  dir.write("bool", npy(literal_of("'|b1'", "(3,)"), std::string("\0\1\2", 3)));
  EXPECT_THAT(
      error_of(source(dir / "bool", "{b: bool}")),
      HasSubstr("row 2 (counted from 0): column 'b' is the byte 2, and a bool is 0 or 1 (help: mend the array, "));
}

TEST(file_read_npy, a_file_of_another_length_or_type_is_refused) {
  const temporary_directory dir;
  const std::string whole = npy(literal_of("[('a', '<i4'), ('b', '<f8')]", "(100,)"), std::string(1200, 'x'));
  const std::string type = "{a: i32, b: f64}";
  const auto error_with = [&](const std::string& content, const std::string& of_type) {
    const std::string path = dir.write("in", content);
    for (const unsigned threads : {1U, 3U}) {
      const std::string said = error_of(source(path, of_type), {.batch_bytes = 100, .threads = threads});
      EXPECT_THAT(said, StartsWith("65: " + path + ": "));
      if (threads == 3) return said.substr(path.size() + 6);
    }
    return std::string();
  };
  const size_t begin = whole.size() - 1200;
  EXPECT_THAT(error_with(whole.substr(0, whole.size() - 1), type),
              StartsWith(fmt::format(
                  "the file ends at byte {}, and its header says 100 rows of 12 bytes, which end at byte {} (help",
                  whole.size() - 1, whole.size())));
  EXPECT_THAT(
      error_with(whole + "x", type),
      StartsWith(fmt::format("its array of 100 rows of 12 bytes ends at byte {}, but the file goes on", whole.size())));
  EXPECT_THAT(error_with(whole.substr(0, begin - 1), type),
              StartsWith(fmt::format("the file ends at byte {}, within the header", begin - 1)));
  EXPECT_THAT(error_with("", type), StartsWith("the file ends at byte 0, within the header"));
  EXPECT_THAT(error_with("PK\x03\x04", type),
              AllOf(StartsWith("byte 0: expected a NumPy file"), HasSubstr("an .npz file is an archive")));
  EXPECT_EQ(error_with(whole, "{c: i32}"),
            "no field is called \"c\"; there are a, b (help: what the file has is type: {a: i32, b: f64})");
  EXPECT_THAT(error_with(whole, "{aa: i32}"), HasSubstr("(help: did you mean 'a'?)"));
  EXPECT_EQ(error_with(whole, "{b: f32}"),
            "field \"b\" is \"<f8\" (f64), but `type` says b: f32 (help: what the file has is type: {a: i32, b: f64})");
  const auto array = [&](const std::string& descr, const std::string& shape, const std::string& of_type,
                         bool fortran = false) {
    return error_with(npy(literal_of(descr, shape, fortran), std::string(1000, '\0')), of_type);
  };
  EXPECT_THAT(array("'<f8'", "(1,)", "{a: f64, b: f64}"),
              AllOf(StartsWith("its rows have one value, but `type` has 2 columns"), HasSubstr("type: {value: f64}")));
  EXPECT_THAT(array("'|S3'", "(1, 2)", "{a: \"bytes[3]\"}"),
              AllOf(StartsWith("its rows have 2 values, but `type` has one column"),
                    HasSubstr("type: {c0: \"bytes[3]\", c1: \"bytes[3]\"}")));
  EXPECT_THAT(array("'<f8'", "()", "{a: f64}"), HasSubstr("a.reshape(1)"));
  EXPECT_THAT(array("'<f8'", "(1, 2, 3)", "{a: f64}"), HasSubstr("an array has 3 dimensions"));
  EXPECT_THAT(array("[('a', '<f8')]", "(1, 2)", "{a: f64}"), HasSubstr("a.ravel()"));
  EXPECT_THAT(array("'<f8'", "(5, 2)", "{a: f64, b: f64}", true), HasSubstr("numpy.ascontiguousarray(a)"));
  EXPECT_THAT(array("'<M8[ns]'", "(1,)", "{a: timestamp}"),
              AllOf(StartsWith("its element is of NumPy's type \"<M8[ns]\", which no column can be"),
                    HasSubstr("a.astype('<M8[us]')")));
  EXPECT_THAT(array("'<U4'", "(1,)", "{a: \"bytes[16]\"}"), HasSubstr("numpy.char.encode"));
  EXPECT_THAT(array("'<f2'", "(1,)", "{a: f32}"), HasSubstr("a.astype('<f4')"));
  EXPECT_THAT(array("'|S0'", "(1,)", "{a: u8}"), HasSubstr("which no column can be"));
}

TEST(file_read_npy, a_row_that_is_wider_than_memory_allows_names_the_node) {
  const temporary_directory dir;
  const std::string path =
      dir.write("in", npy(literal_of("[('a', '|u1'), ('b', '|S200000000')]", "(1,)"), std::string(100000, 'x')));
  EXPECT_THAT(error_of(source(path, "{a: u8}")),
              AllOf(StartsWith("75: node 'in': " + path + ": its rows take 191 MiB, and the memory budget leaves "),
                    HasSubstr("save the fields that are needed")));
}

// Writing

TEST(file_write_npy, what_is_written_reads_back) {
  const temporary_directory dir;
  rows given;
  for (uint64_t i = 0; i < 3000; ++i)
    given.push_back(fmt::format("{},{},{},{},{:07},{},{}", i % 2 == 0 ? "true" : "false", i % (1 << 24), i << 20,
                                i << 30, i, static_cast<int64_t>(i) - 1500, 0.5 * static_cast<double>(i)));
  const std::string type = "{b: bool, n24: u24, n40: u40, n48: u48, text: \"bytes[7]\", n: i64, f: f64}";
  const std::string write = "in: {op: test.rows, with: {type: " + type + "}}\n" +
                            "days: {op: map, in: in, with: {\"*\": all, day: to_date(n), at: to_timestamp(n), price: "
                            "\"to_decimal(n, 2)\"}}\n" +
                            "write: {op: file.write_npy, in: days, with: {path: " + dir / "sub/out.npy" + "}}\n";
  const std::string times =
      "in: {op: file.read_npy, with: {path: " + dir / "sub/out.npy" +
      ", type: {at: timestamp, day: date, n: i64, price: \"decimal[2]\"}}}\n"
      "wrong: {op: filter, in: in, with: {where: day != to_date(n) or at != to_timestamp(n) or price != n}}\n"
      "out: {op: test.sink, in: wrong}\n";
  std::string first;
  for (const auto backend : {io::backend_kind::memory, io::backend_kind::threads, io::backend_kind::automatic})
    for (const bool direct : {false, true})
      for (const size_t batch_bytes : {size_t{100}, size_t{1} << 18}) {
        run(write, {{"in", given}}, {.batch_bytes = batch_bytes, .backend = backend, .direct = direct});
        const std::string written = dir.read("sub/out.npy");
        if (first.empty()) first = written;
        EXPECT_TRUE(written == first);
      }
  const npy_header header = read_npy_header(first);
  EXPECT_EQ(header.num_rows(), 3000U);
  EXPECT_EQ(first.size(), header.num_bytes + 3000 * header.element_bytes);
  EXPECT_EQ(run_all_ways(source(dir / "sub/out.npy", type), {}), given);
  EXPECT_EQ(run_all_ways(times, {}), rows());
}

TEST(file_write_npy, plain_arrays) {
  const temporary_directory dir;
  const auto written = [&](const std::string& type, const rows& given, const std::string& more) {
    run("in: {op: test.rows, with: {type: " + type + "}}\n" +
            "write: {op: file.write_npy, in: in, with: {path: " + dir / "out" + more + "}}\n",
        {{"in", given}});
    const std::string file = dir.read("out");
    const npy_header header = read_npy_header(file);
    std::string shape;
    for (const uint64_t n : header.shape) shape += fmt::format(" {}", n);
    return (header.structured ? "structured" : header.fields.front().text) + shape + " " +
           file.substr(header.num_bytes);
  };
  EXPECT_EQ(written("{a: \"bytes[1]\"}", {"x", "y"}, ""), "|S1 2 xy");
  EXPECT_EQ(written("{a: \"bytes[1]\"}", {"x", "y"}, ", array: structured"), "structured 2 xy");
  EXPECT_EQ(written("{a: \"bytes[1]\", b: \"bytes[1]\"}", {"x,y", "z,w"}, ""), "structured 2 xyzw");
  EXPECT_EQ(written("{a: \"bytes[1]\", b: \"bytes[1]\"}", {"x,y", "z,w"}, ", array: plain"), "|S1 2 2 xyzw");
  EXPECT_EQ(written("{a: u8, b: u8}", {}, ", array: plain"), "|u1 0 2 ");
  EXPECT_EQ(written("{a: u40, b: u48}", {"65,66"}, ", array: plain"),
            std::string("<u8 1 2 A\0\0\0\0\0\0\0B\0\0\0\0\0\0\0", 24));
}

TEST(npy_operators, faults) {
  const std::vector<std::string> faults = faults_of(
      "a: {op: file.read_npy, with: {path: x, type: {s: string}}}\n"
      "b: {op: file.read_npy, with: {path: x, type: {n: u8}, sorted_by: [n + 1], names: {m: x}}}\n"
      "c: {op: file.read_npy, with: {path: x, type: {n: u8}, sorted_by: [n]}, on_error: {to: bad}}\n"
      "d: {op: file.read_csv, with: {path: x, type: {s: string, n: u8}}}\n"
      "v: {op: file.write_npy, in: d, with: {path: y}}\n"
      "e: {op: file.read_rows, with: {path: x, type: {m: u16, n: u8}}}\n"
      "w: {op: file.write_npy, in: e, with: {path: \"-\", array: plain}}\n"
      "x: {op: file.write_npy, in: e, with: {path: y.npy.gz, array: wide}}\n"
      "y: {op: file.write_npy, in: e, with: {path: y.npy.zst}}\n"
      "z: {op: file.write_npy, in: e, with: {path: z, array: plain}}\n");
  const auto says = [&](const std::string& text) { EXPECT_THAT(faults, Contains(HasSubstr(text))); };
  says("column 's' is a string, which NumPy's arrays don't have");
  says("'n + 1' is no column");
  says("an order can't be checked where rows leave for another output");
  says("(help: a map makes it one: s: bytes(s, 32), for texts of 32 bytes and less)");
  says("a pipe or device can't be written again");
  says("NumPy maps files as they are, and the name says zstd");
  says("all elements of a plain array have one type, but 'm' is u16 and 'n' is u8");
}

TEST(file_write_npy, a_pipe_is_refused) {
  EXPECT_THAT(error_of("in: {op: generate, with: {kind: counter, rows: 3}}\n"
                       "write: {op: file.write_npy, in: in, with: {path: /proc/self/fd/1}}\n"),
              AllOf(StartsWith("73: can't write /proc/self/fd/1: "), HasSubstr("(help: write to a file)")));
}

TEST(file_write_npy, the_least_timestamp_would_be_a_missing_one) {
  const temporary_directory dir;
  dir.write("least", bytes_of(std::numeric_limits<int64_t>::min()));
  EXPECT_THAT(error_of("in: {op: file.read_rows, with: {path: " + dir / "least" + ", type: {at: timestamp}}}\n" +
                       "write: {op: file.write_npy, in: in, with: {path: " + dir / "out" + "}}\n"),
              AllOf(StartsWith("65: node 'write': "), HasSubstr("NaT")));
  EXPECT_FALSE(dir.has("out"));
}

}  // namespace
}  // namespace flowrun::operators::testing
