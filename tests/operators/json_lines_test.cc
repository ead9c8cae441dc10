// JSON lines: what is a row and what is malformed, against nlohmann-json, however the text is cut; and what is written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "operators/parts/text/csv_value.h"
#include "operators/parts/text/json_formatter.h"
#include "operators/parts/text/json_parser.h"
#include "operators/parts/text/json_value.h"
#include "tests/operators/harness.h"
#include "tests/support/temporary_directory.h"

namespace flowrun::operators {
namespace {

using record::row_type;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using texts = std::vector<std::string>;

// A column, where its value lies, and what becomes of it where it is missing.
struct column {
  std::string name, type;
  std::string path = {};
  bool may_miss = false;
};

struct reader {
  explicit reader(const std::vector<column>& columns, bool skip_others = false) {
    std::vector<record::column> all;
    texts paths;
    for (const column& c : columns) {
      all.push_back({c.name, *record::parse_value_type(c.type)});
      paths.push_back(c.path.empty() ? c.name : c.path);
    }
    type = row_type(std::move(all));
    csv_missing missing;
    missing.values.resize(type.row_bytes());
    missing.columns.resize(columns.size());
    for (size_t i = 0; i < columns.size(); ++i) {
      if (!columns[i].may_miss) continue;
      missing.columns[i] = {.allowed = true, .told_by = type.row_bytes() + missing.told_by.size()};
      missing.told_by.push_back("no_" + columns[i].name);
    }
    rows_type = with_told_columns(type, missing);
    layout = json_layout_of(paths);
    parser.emplace(rows_type, layout, skip_others, missing, csv_times{});
  }

  // Rows as texts, then malformed lines as their places and reasons. In steps of `most_bytes`.
  texts read(const std::string& text, size_t batch_bytes = 1 << 16, uint64_t most_bytes = ~uint64_t{0},
             bool padded = false) {
    record::batch_pool pool;
    texts out, bad;
    uint64_t line = 0;
    // Of exactly that length, so that a sanitizer sees what is read behind it.
    const std::vector<char> exact(text.begin(), text.end());
    const std::string with_padding = text + '\0' + std::string(json_parser::padding_bytes, '}');
    std::string_view left(padded ? with_padding.data() : exact.data(), text.size());
    while (!left.empty()) {
      std::vector<record::batch> batches;
      const parse_progress done = parser->parse(
          left, line, padded, pool, batch_bytes, batches,
          [&](const malformed_record& r) {
            bad.push_back(fmt::format("{}:{}: {}", r.line, r.column, r.reason));
            return true;
          },
          most_bytes);
      line +=
          static_cast<uint64_t>(std::count(left.begin(), left.begin() + static_cast<ptrdiff_t>(done.num_bytes), '\n'));
      left.remove_prefix(done.num_bytes);
      for (const record::batch& b : batches) {
        append(b, out);
        kept.push_back(b);
      }
    }
    out.insert(out.end(), bad.begin(), bad.end());
    return out;
  }

  void append(const record::batch& b, texts& out) const {
    for (size_t r = 0; r < b.num_rows; ++r) {
      std::string row;
      for (const record::column& c : rows_type.columns()) {
        const std::byte* const at = b.row(r) + c.offset;
        char number[max_value_chars];
        if (!row.empty()) row += '|';
        if (c.type.is_string())
          row += record::load_string(at, b.heap);
        else if (c.type.is_bytes())
          row += std::string(reinterpret_cast<const char*>(at), c.type.num_bytes);
        else
          row += std::string_view(number, format_value(c.type, at, number));
      }
      out.push_back(std::move(row));
    }
  }

  row_type type, rows_type;
  json_layout layout;
  std::optional<json_parser> parser;
  std::vector<record::batch> kept;
};

// The reasons of malformed lines, and rows, of one line each.
std::string read_one(const std::vector<column>& columns, const std::string& line, bool skip_others = false) {
  const texts out = reader(columns, skip_others).read(line);
  return out.size() == 1 ? out[0] : fmt::format("{} rows", out.size());
}

TEST(json_lines, decimals_have_their_digits_from_numbers_and_texts) {
  const std::vector<column> price = {{"a", "decimal[2]"}};
  EXPECT_EQ(read_one(price, "{\"a\":12.5}"), "12.50");
  EXPECT_EQ(read_one(price, "{\"a\":-92233720368547758.08}"), "-92233720368547758.08");
  EXPECT_EQ(read_one(price, "{\"a\":7}"), "7.00");
  EXPECT_EQ(read_one(price, "{\"a\":\"+0.100\"}"), "0.10");
  EXPECT_EQ(read_one(price, "{\"a\":1.255}"),
            "1:6: expected decimal[2], got the number 1.255: it has 3 digits behind the point");
  EXPECT_EQ(read_one(price, "{\"a\":1e3}"),
            "1:6: expected decimal[2], got the number 1e3: a decimal has digits, a point and a sign, as in -12.50");
  EXPECT_EQ(read_one(price, "{\"a\":\"x\"}"),
            "1:6: expected decimal[2], got \"x\": a decimal has digits, a point and a sign, as in -12.50");
  EXPECT_EQ(read_one(price, "{\"a\":true}"), "1:6: expected decimal[2], got true");
}

TEST(json_lines, keys_in_any_order_give_the_columns) {
  reader r({{"a", "u8"}, {"b", "string"}, {"c", "bool"}});
  EXPECT_EQ(r.read("{\"a\":1,\"b\":\"x\",\"c\":true}\n"
                   " { \"c\" : false , \"a\" : 255,\t\"b\":\"\" } \r\n"
                   "\n \t \r\n"
                   "{\"\\u0062\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00\",\"c\":true,\"a\":0}"),
            (texts{"1|x|true", "255||false", "0|\"\\/\b\f\n\r\té😀|true"}));
}

TEST(json_lines, a_path_leads_into_objects) {
  reader r({{"a", "u8", "x.y.a", true}, {"b", "u8", "x.b", true}, {"c", "u8", "x\\.b", true}}, true);
  EXPECT_EQ(r.read("{\"x\":{\"b\":2,\"y\":{\"a\":1,\"z\":[{}]}},\"x.b\":3}\n"
                   "{\"x\":null,\"x.b\":3}\n{\"x\":{\"y\":null}}\n{\"x\":{\"y\":{}}}\n{}\n"
                   "{\"x\":[]}\n{\"x\":{\"y\":1}}\n{\"x\":{},\"x\":{}}\n"),
            (texts{"1|2|3|false|false|false", "0|0|3|true|true|false", "0|0|0|true|true|true", "0|0|0|true|true|true",
                   "0|0|0|true|true|true", "6:6: expected an object at \"x\", got an array",
                   "7:11: expected an object at \"x.y\", got the number 1", "8:9: the key \"x\" is there twice"}));
}

TEST(json_lines, numbers_are_exact_or_refused) {
  struct number {
    std::string type, token, got;
  };
  const std::vector<number> table = {
      {"u64", "18446744073709551615", "18446744073709551615"},
      {"u64", "9007199254740993", "9007199254740993"},
      {"u64", "1234567890123456", "1234567890123456"},
      {"u64", "12345678", "12345678"},
      {"u64", "123456789", "123456789"},
      {"u8", "1e2", "100"},
      {"u8", "1.0", "1"},
      {"u8", "2550e-1", "255"},
      {"u8", "0.0e99999999999999999999", "0"},
      {"u8", "-0", "0"},
      {"i16", "-32768.0", "-32768"},
      {"i64", "-9223372036854775808", "-9223372036854775808"},
      {"u24", "16777215", "16777215"},
      {"f32", "0.1", "0.1"},
      {"f64", "1e-400", "0"},
      {"f64", "9007199254740993", "9007199254740992"},
      {"u8", "256", "1:6: expected u8 (0 to 255), got the number 256"},
      {"u24", "16777216", "1:6: expected u24 (0 to 16777215), got the number 16777216"},
      {"u8", "1e3", "1:6: expected u8 (0 to 255), got the number 1e3"},
      {"u8", "1e-1", "1:6: expected u8 (0 to 255), got the number 1e-1"},
      {"u8", "1e-99999999999999999999", "1:6: expected u8 (0 to 255), got the number 1e-99999999999999999999"},
      {"u8", "1e99999999999999999999", "1:6: expected u8 (0 to 255), got the number 1e99999999999999999999"},
      {"i8", "1.5", "1:6: expected i8 (-128 to 127), got the number 1.5"},
      {"u64", "18446744073709551616",
       "1:6: expected u64 (0 to 18446744073709551615), got the number 18446744073709551616"},
      {"f64", "1e999", "1:6: expected f64 (up to 1.7976931348623157e+308), got the number 1e999"},
      {"u8", "\"1\"", "1:6: expected u8, got the text \"1\"; decimal[0] takes numbers and such texts"},
      {"f64", "\"12.50\"", "1:6: expected f64, got the text \"12.50\"; decimal[2] takes numbers and such texts"},
      {"f64", "\"n/a\"",
       "1:6: expected f64, got the text \"n/a\"; if it is a text in all lines, take it as a string, and convert it in "
       "a "
       "map"},
      {"u8", "true", "1:6: expected u8, got true"},
      {"bool", "1", "1:6: expected bool (true or false), got the number 1"},
      {"string", "1", "1:6: expected string, got the number 1; if its texts are numbers, decimal[0] takes both"},
      {"string", "12.5", "1:6: expected string, got the number 12.5; if its texts are numbers, decimal[1] takes both"},
      {"string", "1e3", "1:6: expected string, got the number 1e3"},
      {"decimal[2]", "12.5", "12.50"},
      {"decimal[2]", "\"12.50\"", "12.50"},
      {"string", "{}", "1:6: expected string, got an object"},
      {"string", "[1]", "1:6: expected string, got an array"},
      {"date", "20261123", "1:6: expected date (a text such as \"2026-11-23\"), got the number 20261123"},
      {"date", "\"2026\\u002d11-23\"", "2026-11-23"},
      {"timestamp", "\"2026-11-23T22:15:03Z\"", "2026-11-23T22:15:03Z"},
      {"bytes[2]", "\"é\"", "é"},
      {"bytes[2]", "\"abc\"", "1:6: expected bytes[2], got \"abc\" of 3 bytes"},
  };
  for (const number& n : table) EXPECT_EQ(read_one({{"a", n.type}}, "{\"a\":" + n.token + "}"), n.got) << n.token;
  for (const std::string no :
       {"01", "1.", ".5", "+1", "1e", "1e+", "-", "--1", "0x1", "NaN", "Infinity", "1_0", "tru", "nul"})
    for (const std::string type : {"u8", "f64", "bool", "string"})
      EXPECT_THAT(read_one({{"a", type}}, "{\"a\":" + no + "}"), HasSubstr("this is no JSON")) << no;
}

TEST(json_lines, what_is_malformed_is_told_with_its_place) {
  const std::vector<column> columns = {{"a", "u8"}, {"b", "string"}};
  EXPECT_EQ(read_one(columns, "[1,2]"),
            "1:1: expected an object, got an array; where the file is one array, `jq -c '.[]'` makes lines of it");
  EXPECT_EQ(read_one(columns, "  12"), "1:3: expected an object, got the number 12");
  EXPECT_EQ(read_one(columns, "{\"a\":1}"),
            "1:1: there is no \"b\": 'b' has neither `default` nor `missing`; give it one of them: missing: {b: "
            "b_missing}, which adds a bool column");
  EXPECT_EQ(read_one(columns, "{\"a\":null,\"b\":\"\"}"),
            "1:6: null where a value is needed: 'a' has neither `default` nor `missing`; give it one of them: default: "
            "{a: 0} or missing: {a: a_missing}, which adds a bool column");
  EXPECT_EQ(read_one(columns, "{\"a\":{\"n\":1},\"b\":\"\"}"),
            "1:6: expected u8, got an object; what is in it has a path: names: {a: a.n}");
  EXPECT_EQ(read_one(columns, "{\"a\":1,\"b\":{\"x y\":1}}"),
            "1:12: expected string, got an object; what is in it has a path: names: {b: b.KEY}");
  EXPECT_EQ(read_one(columns, "{\"a\":1,\"b\":\"\",\"c\":1}"),
            "1:15: no column takes the key \"c\"; `other_keys: skip` leaves such keys out");
  EXPECT_EQ(read_one(columns, "{\"a\":1,\"b\":\"\"} {}"), "1:16: text behind the object; each line has one");
  EXPECT_EQ(read_one(columns, "{\"a\":1,\"a\":1,\"b\":\"\"}"), "1:8: the key \"a\" is there twice");
  const texts no = {"x",
                    "{",
                    "{\"a\":1,\"b\":\"\"",
                    "{\"a\":1,\"b\":\"\",}",
                    "{\"a\":1 \"b\":\"\"}",
                    "{\"a\":1,\"b\":\"\"]",
                    "{\"a\":1,\"b\":}",
                    "{\"a\":",
                    "{\"a\": ",
                    "{\"a\":,\"b\":\"\"}",
                    "{\"a\":\f",
                    "{\"a\":1{}}",
                    "{\"a\" 1,\"b\":\"\"}",
                    "{\"a\":1,\"b\":\"",
                    "{\"a\":1,\"b\":\"\t\"}",
                    "{\"a\":1,\"b\":\"\\x\"}",
                    "{\"a\":1,\"b\":\"\\ud800\"}",
                    "{\"a\":1,\"b\":\"\\udc00\"}",
                    "{\"a\":1,\"b\":\"\xFF\"}",
                    "{\"a\":1,\"b\":\"x\":1}",
                    "{\"a\":1,\"b\":\"x\"y}"};
  for (const std::string& line : no) EXPECT_THAT(read_one(columns, line), HasSubstr("this is no JSON")) << line;
}

TEST(json_lines, what_is_skipped_must_be_json_too) {
  const auto with = [](const std::string& other) {
    return read_one({{"a", "u8"}}, "{\"x\":" + other + ",\"a\":1}", true);
  };
  for (const std::string fine : {"[1,2,{\"a\":[]}]", "\"\\u0041\"", "1e999", "123456789012345678901234567890", "{}",
                                 "{\"a\":{}}", "null", "[[],[true,false]]"})
    EXPECT_EQ(with(fine), "1") << fine;
  for (const std::string no : {"[1,2}", "{\"a\"}", "{\"a\":[}", "01", "tru", "\"\\ud800\"", "[1 2]", "[,]",
                               "{\"a\":1,}", "{\"\\x\":1}", "[1,]", "\"a\":1", "{1:2}"})
    EXPECT_THAT(with(no), HasSubstr("this is no JSON")) << no;
  const auto nested = [](size_t n) { return std::string(n, '[') + std::string(n, ']'); };
  EXPECT_EQ(with(nested(json_reading::most_nested - 1)), "1");
  EXPECT_THAT(with(nested(json_reading::most_nested)), HasSubstr("nested deeper than 128"));
  EXPECT_THAT(with(nested(100'000)), HasSubstr("nested deeper than 128"));
}

// A line that seems to be wrong is read a second time, to say why. Its texts are in memory once, also then: there is
// room for no more, and the sanitizer sees what lies behind.
TEST(json_lines, a_line_that_is_read_twice_has_its_texts_once) {
  for (size_t size = 100; size < 3000; size += 77) {
    const std::string longest(size, 'x');
    reader r({{"s", "string"}, {"n", "u8"}});
    const auto padded = [&](const std::string& text) { return r.read(text, 1 << 16, ~uint64_t{0}, true); };
    EXPECT_THAT(padded("{\"s\": \"abc\", \"n\": 1}\n{\"s\": \"" + longest + "\", \"n\": 256}\n"),
                ElementsAre("abc|1", HasSubstr("expected u8")));
    // The quote of the first line is closed in the second.
    EXPECT_THAT(padded("{\"s\": \"\n{\"s\": \"" + longest + "\", \"n\": 2}\n{\"s\": \"d\", \"n\": 3}\n"),
                ElementsAre(longest + "|2", "d|3", HasSubstr("1:")));
    size_t heap_bytes = 0;
    for (const record::batch& b : r.kept) heap_bytes += b.heap_bytes;
    EXPECT_EQ(heap_bytes, 3 + size + 1);
  }
}

// Random lines, most of them good, read whole, in steps, in small batches and with padding that looks like JSON; and by
// nlohmann-json.
TEST(json_lines, the_same_rows_however_it_is_read) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    std::mt19937_64 random(seed);
    const auto below = [&](uint64_t n) { return random() % n; };
    std::string text;
    texts expected;
    for (size_t i = 0; i < 200; ++i) {
      nlohmann::ordered_json line;
      std::string s(below(20), 'x');
      for (char& c : s) c = static_cast<char>(below(127) + (below(4) == 0 ? 0 : 1));
      for (char& c : s)
        if (below(2) != 0) c = "\"\\\n\t/{}[],:"[below(11)];
      const uint64_t number = random() >> below(64);
      texts keys = {"n", "s", "o", "extra"};
      std::shuffle(keys.begin(), keys.end(), random);
      bool missing = false;
      for (const std::string& key : keys) {
        if (key == "n") line["n"] = number;
        if (key == "s") line["s"] = s;
        if (key == "extra" && below(2) != 0) line["extra"] = nlohmann::json::parse("[{\"s\": \"}\\n\"}, null, 1.5e3]");
        if (key == "o" && !(missing = below(4) == 0)) line["o"]["inner"] = -static_cast<int64_t>(i);
      }
      text += line.dump() + (below(2) == 0 ? "\n" : "\r\n");
      expected.push_back(fmt::format("{}|{}|{}|{}", number, s, missing ? 0 : -static_cast<int64_t>(i), missing));
      if (below(10) == 0) text += "\n";
    }
    if (below(2) == 0) text.pop_back();
    reader r({{"n", "u64"}, {"s", "string"}, {"o", "i64", "o.inner", true}}, true);
    for (const bool padded : {false, true}) {
      EXPECT_EQ(r.read(text, 1 << 16, ~uint64_t{0}, padded), expected);
      EXPECT_EQ(r.read(text, 100, 1 + below(300), padded), expected);
    }
  }
}

std::string written(const row_type& type, const std::vector<record::batch>& batches, const json_layout& layout,
                    uint64_t most_bytes = ~uint64_t{0}) {
  const json_formatter formatter(type.columns(), layout);
  record::batch_pool pool;
  std::string out;
  for (record::batch left : batches)
    while (left.num_rows > 0) {
      const text_block block = formatter.format(left, pool, most_bytes);
      out += block.text();
      left = left.slice(block.num_rows, left.num_rows - block.num_rows);
    }
  return out;
}

TEST(json_lines, what_is_written_reads_back) {
  const std::string line =
      "{\"o\":{\"a\":18446744073709551615,\"in\":{\"s\":\"é\\\"\\\\\\n\\u0001\"}},\"f\":1e-300,\"h\":0.1,\"b\":false,"
      "\"d\":\"1969-"
      "12-31\",\"t\":\"2026-11-23T22:15:03.500000Z\",\"x\":\"ab\",\"i\":-128}\n";
  const std::vector<column> columns = {
      {"a", "u64", "o.a"}, {"s", "string", "o.in.s"}, {"f", "f64"},      {"h", "f32"}, {"b", "bool"},
      {"d", "date"},       {"t", "timestamp"},        {"x", "bytes[2]"}, {"i", "i8"}};
  reader r(columns);
  EXPECT_EQ(r.read(line + line + line).size(), 3U);
  EXPECT_EQ(written(r.type, r.kept, r.layout), line + line + line);
  EXPECT_EQ(written(r.type, r.kept, r.layout, 1), line + line + line);
  EXPECT_EQ(nlohmann::json::parse(line)["o"]["in"]["s"], "é\"\\\n\x01");
}

}  // namespace
}  // namespace flowrun::operators

namespace flowrun::operators::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string read_node(const std::string& with) {
  return "in: {op: file.read_json_lines, with: {path: no.jsonl, type: {a: u8, b: string, c: date}" + with +
         "}}\nout: {op: test.sink, in: in}\n";
}

TEST(json_lines, faults_of_the_source) {
  EXPECT_THAT(faults_of(read_node("")), IsEmpty());
  EXPECT_THAT(faults_of(read_node(", names: {a: user.id, b: user.name}, other_keys: skip, default: {a: 1}")),
              IsEmpty());
  EXPECT_THAT(faults_of(read_node(", names: {d: x}")), ElementsAre(HasSubstr("'type' has no column 'd'")));
  EXPECT_THAT(faults_of(read_node(", names: {a: b}")),
              ElementsAre(HasSubstr("'a' and 'b' would both have the value at \"b\"")));
  EXPECT_THAT(faults_of(read_node(", names: {a: x, c: x.y}")),
              ElementsAre(HasSubstr("'a' and 'c' would both have the value at \"x\", or a part of it")));
  EXPECT_THAT(faults_of(read_node(", names: {a: x.y, c: x}")), ElementsAre(HasSubstr("'a' and 'c' would both")));
  EXPECT_THAT(faults_of(read_node(", names: {a: \"x..y\"}")), ElementsAre(HasSubstr("has an empty key")));
  std::string deep = "x";
  for (int i = 0; i < 128; ++i) deep += ".x";
  EXPECT_THAT(faults_of(read_node(", names: {a: " + deep + "}")), ElementsAre(HasSubstr("has 129 keys")));
  EXPECT_THAT(faults_of(read_node(", names: {a: " + deep.substr(2) + "}")), IsEmpty());
  EXPECT_THAT(faults_of(read_node(", names: {a: \"\"}")), ElementsAre(HasSubstr("has an empty key")));
  EXPECT_THAT(faults_of(read_node(", names: {a: 'x\\y'}")),
              ElementsAre(HasSubstr("before neither a dot nor a backslash")));
  EXPECT_THAT(faults_of(read_node(", other_keys: drop")), ElementsAre(HasSubstr("other_keys")));
  EXPECT_THAT(faults_of(read_node(", default: {a: 256}")),
              ElementsAre(HasSubstr("expected u8 (0 to 255), got \"256\"")));
  EXPECT_THAT(faults_of(read_node(", missing: {a: b}")), ElementsAre(HasSubstr("the rows have a column 'b' already")));
  EXPECT_THAT(faults_of(read_node(", format: {a: \"%d\"}")), ElementsAre(HasSubstr("'a' is u8")));
  for (const std::string op : {"file.read_jsonl", "read_json", "read_ndjson", "file.read_json"})
    EXPECT_THAT(faults_of("in: {op: " + op + ", with: {path: a}}\nout: {op: test.sink, in: in}\n"),
                ElementsAre(HasSubstr("file.read_json_lines")))
        << op;
}

TEST(json_lines, files_through_a_job) {
  const temporary_directory dir;
  std::string text = "\xEF\xBB\xBF";
  rows expected;
  for (int i = 0; i < 3000; ++i) {
    text += fmt::format("{{\"id\":{},\"name\":\"n\\u00e9{}\",\"x\":[{}]}}\n", i, i % 7, i);
    expected.push_back(fmt::format("{},né{}", i, i % 7));
  }
  // One line that is longer than a chunk, and than what a reader takes at once.
  text += "{\"name\":\"" + std::string(900'000, 'y') + "\",\"id\":3000}";
  expected.push_back("3000," + std::string(900'000, 'y'));
  dir.write("in.jsonl", text);
  const std::string nodes = "in: {op: file.read_json_lines, with: {path: " + dir / "in.jsonl" +
                            ", type: {id: u32, name: string}, other_keys: skip}}\n"
                            "out: {op: test.sink, in: in}\n";
  EXPECT_EQ(run_all_ways(nodes, {}), expected);
}

TEST(json_lines, rejected_lines_go_where_on_error_says) {
  const temporary_directory dir;
  dir.write("in.jsonl", "{\"a\":1}\n\n{\"a\":300}\r\nx\n{\"a\":2}\n");
  const auto nodes = [&](const std::string& on_error) {
    return "in: {op: file.read_json_lines, with: {path: " + dir / "in.jsonl" + ", type: {a: u8}}" + on_error + "}\n";
  };
  const std::string out = "out: {op: test.sink, in: in}\n";
  EXPECT_EQ(run_all_ways(nodes(", on_error: skip") + out, {}), (rows{"1", "2"}));
  const run_result got =
      run(nodes(", on_error: {to: bad}") + out +
              "b: {op: map, in: in.bad, with: {t: text, l: line, c: column}}\nbad: {op: test.sink, in: b}\n",
          {});
  EXPECT_EQ(got.sinks.at("bad"), (rows{"{\"a\":300},3,6", "x,4,1"}));
  EXPECT_EQ(got.rejected_rows, 2U);
  const auto error_of = [](const std::string& text) {
    try {
      run(text, {});
    } catch (const error& e) {
      return std::string(e.what()) + " | " + e.hint();
    }
    return std::string("the job ended well");
  };
  EXPECT_THAT(error_of(nodes("") + out), HasSubstr("in.jsonl:3:6: expected u8 (0 to 255), got the number 300"));
  EXPECT_THAT(error_of(nodes(", on_error: {to: bad, max_ratio: 0.4}") + out + "bad: {op: test.sink, in: in.bad}\n"),
              AllOf(HasSubstr("2 of 4 lines were rejected"), HasSubstr("check `type`, `names` and `other_keys`")));
}

TEST(json_lines, a_file_that_is_one_array_is_refused_before_the_run) {
  const temporary_directory dir;
  dir.write("in.json", "[{\"a\":1},\n{\"a\":2}]\n");
  const std::string nodes = "in: {op: file.read_json_lines, with: {path: " + dir / "in.json" +
                            ", type: {a: u8}}}\nout: {op: test.sink, in: in}\n";
  try {
    run(nodes, {});
    FAIL();
  } catch (const error& e) {
    EXPECT_THAT(e.what(), HasSubstr("in.json:1:1: expected an object, got an array"));
  }
}

TEST(json_lines, a_sink_writes_objects) {
  const temporary_directory dir;
  const std::string source = "in: {op: test.rows, with: {type: {a: f64, b: string, c: f32}}}\n";
  const auto write = [&](const std::string& with, const rows& in) {
    run(source + "out: {op: file.write_json_lines, in: in, with: {path: " + dir / "out" + with + "}}\n", {{"in", in}},
        {.batch_bytes = 100});
    return dir.read("out");
  };
  EXPECT_EQ(
      write("", {"nan,x,inf", "-0,,-inf", "1e+300,é,0.1"}),
      "{\"a\":null,\"b\":\"x\",\"c\":null}\n{\"a\":-0,\"b\":\"\",\"c\":null}\n{\"a\":1e+300,\"b\":\"é\",\"c\":0.1}\n");
  EXPECT_EQ(write(", names: {a: \"p.q\", c: p.r, b: \"a \\\"b\\\"\"}", {"1,x,2"}),
            "{\"p\":{\"q\":1,\"r\":2},\"a \\\"b\\\"\":\"x\"}\n");
  EXPECT_EQ(write("", {}), "");
  try {
    write("", {"1,\xC3,2"});
    FAIL();
  } catch (const error& e) {
    EXPECT_THAT(e.what(), HasSubstr("node 'out': column 'b' holds \"\xC3\", which is no UTF-8"));
    EXPECT_THAT(e.what(), HasSubstr("the row is {a: 1, b: \"\xC3\", c: 2}"));
  }
  EXPECT_THAT(faults_of(source + "out: {op: file.write_json_lines, in: in, with: {path: x, names: {a: b}}}\n"),
              ElementsAre(HasSubstr("'a' and 'b' would both")));
}

}  // namespace
}  // namespace flowrun::operators::testing
