// CSV text through cutter and parser against a parser that reads byte by byte; the formatter against the parser.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "operators/parts/text/csv_formatter.h"
#include "operators/parts/text/csv_parser.h"
#include "operators/parts/text/csv_value.h"
#include "operators/parts/text/text_cutter.h"

namespace flowrun::operators {
namespace {

using record::row_type;
using record::type_kind;
using record::value_type;

row_type make_type(const std::vector<std::string>& types) {
  std::vector<record::column> columns;
  for (size_t i = 0; i < types.size(); ++i)
    columns.push_back({std::string(1, static_cast<char>('a' + i)), record::parse_value_type(types[i]).value()});
  return row_type(std::move(columns));
}

using fields = std::vector<std::string>;

struct parsed {
  std::vector<fields> rows;           // each value as the formatter would write it, without quotes
  std::vector<malformed_record> bad;  // texts point into `kept`
  std::vector<std::string> bad_texts;
};

std::string value_as_text(const value_type& type, const std::byte* at, const std::byte* heap) {
  if (type.is_string()) return std::string(record::load_string(at, heap));
  if (type.is_bytes()) return {reinterpret_cast<const char*>(at), type.num_bytes};
  char buffer[max_value_chars];
  return {buffer, format_value(type, at, buffer)};
}

void append_rows(const row_type& type, const std::vector<record::batch>& batches, std::vector<fields>& rows) {
  for (const record::batch& b : batches)
    for (size_t r = 0; r < b.num_rows; ++r) {
      fields row;
      for (const record::column& c : type.columns()) row.push_back(value_as_text(c.type, b.row(r) + c.offset, b.heap));
      rows.push_back(std::move(row));
    }
}

// The whole way: chunks of the given sizes, pieces, rows.
parsed parse_all(const row_type& type, const csv_format& format, std::string_view text, size_t chunk_bytes,
                 size_t piece_bytes, size_t batch_bytes, bool header = false) {
  record::batch_pool pool;
  cutter_options options;
  options.format = format;
  options.piece_bytes = piece_bytes;
  options.skip_byte_order_mark = true;
  options.skip_header = header;
  text_cutter cutter(options, pool);
  cutter.begin_file("test.csv");
  std::vector<text_piece> pieces;
  for (size_t from = 0; from < text.size(); from += chunk_bytes) {
    auto chunk = std::make_shared<const std::string>(text.substr(from, chunk_bytes));
    cutter.feed(chunk, *chunk, pieces);
  }
  cutter.finish(pieces);
  const csv_parser parser(type, format);
  parsed out;
  for (const text_piece& piece : pieces) {
    std::vector<record::batch> rows;
    parser.parse(piece.text, piece.first_line, pool, batch_bytes, rows, [&](const malformed_record& bad) {
      out.bad_texts.emplace_back(bad.text);
      out.bad.push_back(bad);
      return true;
    });
    append_rows(type, rows, out.rows);
  }
  return out;
}

// As pieces of about `most_bytes`.
std::string text_in_pieces(const csv_formatter& formatter, record::batch in, record::batch_pool& pool,
                           uint64_t most_bytes) {
  std::string text;
  while (in.num_rows > 0) {
    const text_block piece = formatter.format(in, pool, most_bytes);
    EXPECT_GT(piece.num_rows, 0U);
    text += piece.text();
    in = in.slice(piece.num_rows, in.num_rows - piece.num_rows);
  }
  return text;
}

// The number of records, none of them malformed.
uint64_t parse_in_pieces(const csv_parser& parser, std::string_view text, record::batch_pool& pool, uint64_t most_bytes,
                         std::vector<record::batch>& rows) {
  uint64_t num_records = 0;
  while (!text.empty()) {
    const parse_progress parsed = parser.parse(
        text, 0, pool, 1 << 16, rows,
        [](const malformed_record& bad) {
          ADD_FAILURE() << bad.line << ":" << bad.column << " " << bad.reason;
          return true;
        },
        most_bytes);
    EXPECT_GT(parsed.num_bytes, 0U);
    num_records += parsed.num_records;
    text.remove_prefix(parsed.num_bytes);
  }
  return num_records;
}

parsed parse_all(const std::vector<std::string>& types, std::string_view text) {
  return parse_all(make_type(types), csv_format{}, text, 1 << 20, 1 << 18, 1 << 18);
}

// Records of two strings, byte by byte.
struct reference {
  std::vector<fields> rows;
  std::vector<std::string> bad;
};
reference read_slowly(const std::string& text) {
  reference out;
  size_t i = 0;
  while (i < text.size()) {
    const size_t start = i;
    fields row;
    bool good = true;
    bool record_open = true;
    while (record_open) {
      std::string value;
      bool quoted = false;
      if (i < text.size() && text[i] == '"') {
        quoted = true;
        ++i;
        bool closed = false;
        while (i < text.size() && !closed) {
          if (text[i] != '"') {
            value += text[i++];
          } else if (i + 1 < text.size() && text[i + 1] == '"') {
            value += '"';
            i += 2;
          } else {
            ++i;
            closed = true;
          }
        }
        good = good && closed;
      }
      std::string plain;
      while (i < text.size() && text[i] != ',' && text[i] != '\n') plain += text[i++];
      const bool at_end = i == text.size() || text[i] == '\n';
      if (at_end && !plain.empty() && plain.back() == '\r') plain.pop_back();
      if (quoted && !plain.empty()) good = false;
      row.push_back(quoted ? value : plain);
      record_open = !at_end;
      if (i < text.size()) ++i;
    }
    if (row.size() != 2) good = false;
    if (good) {
      out.rows.push_back(row);
    } else {
      std::string raw = text.substr(start, i - start);
      if (!raw.empty() && raw.back() == '\n') raw.pop_back();
      if (!raw.empty() && raw.back() == '\r') raw.pop_back();
      out.bad.push_back(raw);
    }
  }
  return out;
}

TEST(file_csv, agrees_with_a_slow_reader_on_random_text) {
  const row_type type = make_type({"string", "string"});
  std::mt19937_64 random(7);
  constexpr std::string_view alphabet = "ab,,,\"\"\n\n\r x";
  size_t num_rows = 0, num_bad = 0;
  for (int round = 0; round < 4000; ++round) {
    std::string text;
    const size_t length = random() % 60;
    for (size_t i = 0; i < length; ++i) text += alphabet[random() % alphabet.size()];
    const reference expected = read_slowly(text);
    const parsed got = parse_all(type, csv_format{}, text, 1 + random() % 20, 1 + random() % 30, 16 + random() % 100);
    ASSERT_EQ(got.rows, expected.rows) << ::testing::PrintToString(text);
    ASSERT_EQ(got.bad_texts, expected.bad) << ::testing::PrintToString(text);
    num_rows += expected.rows.size();
    num_bad += expected.bad.size();
  }
  EXPECT_GT(num_rows, 1000U);
  EXPECT_GT(num_bad, 1000U);
}

TEST(file_csv, names_line_and_column_of_the_field) {
  const parsed got = parse_all({"u32", "string"}, "1,a\nx,b\n3,\"c\nd\"\n4,\"e\nf\",5\n6\n");
  ASSERT_EQ(got.bad.size(), 3U);
  EXPECT_EQ(got.bad[0].line, 2U);
  EXPECT_EQ(got.bad[0].column, 1U);
  EXPECT_EQ(got.bad[0].reason, "expected u32, got \"x\"");
  EXPECT_EQ(got.bad_texts[0], "x,b");
  EXPECT_EQ(got.bad[1].line, 6U);  // the third field stands in the record's second line
  EXPECT_EQ(got.bad[1].column, 4U);
  EXPECT_EQ(got.bad[1].reason, "expected 2 fields, got 3");
  EXPECT_EQ(got.bad[2].line, 7U);
  EXPECT_EQ(got.bad[2].reason, "expected 2 fields, got 1");
  EXPECT_EQ(got.rows, (std::vector<fields>{{"1", "a"}, {"3", "c\nd"}}));
}

TEST(file_csv, line_numbers_do_not_depend_on_chunks_and_pieces) {
  std::string text;
  std::vector<uint64_t> bad_lines;
  std::mt19937_64 random(3);
  uint64_t line = 1;
  for (int i = 0; i < 500; ++i) {
    switch (random() % 4) {
      case 0: text += "7,\"two\nlines\"\n", line += 2; break;
      case 1: text += "8,plain\r\n", ++line; break;
      case 2: text += "bad,z\n", bad_lines.push_back(line++); break;
      default: text += "\n", bad_lines.push_back(line++); break;
    }
  }
  const row_type type = make_type({"u8", "string"});
  for (const size_t chunk : {1, 2, 3, 7, 64, 1000, 100000}) {
    for (const size_t piece : {1, 10, 100, 100000}) {
      const parsed got = parse_all(type, csv_format{}, text, chunk, piece, 200);
      std::vector<uint64_t> lines;
      for (const malformed_record& bad : got.bad) lines.push_back(bad.line);
      ASSERT_EQ(lines, bad_lines) << chunk << " " << piece;
    }
  }
}

TEST(file_csv, header_byte_order_mark_and_line_ends) {
  const row_type type = make_type({"string", "u16"});
  for (const size_t chunk : {1, 2, 4, 5, 100}) {
    EXPECT_EQ(parse_all(type, csv_format{}, "\xEF\xBB\xBF\"na\nme\",n\r\nx,1\r\ny,2", chunk, 8, 100, true).rows,
              (std::vector<fields>{{"x", "1"}, {"y", "2"}}));
    EXPECT_EQ(parse_all(type, csv_format{}, "\xEF\xBB\xBF\"q,\",1\ny,2\r", chunk, 100, 100).rows,
              (std::vector<fields>{{"q,", "1"}, {"y", "2"}}));
    EXPECT_TRUE(parse_all(type, csv_format{}, "name,n", chunk, 8, 100, true).rows.empty());
  }
  EXPECT_TRUE(parse_all(type, csv_format{}, "", 1, 1, 100).rows.empty());
  EXPECT_EQ(parse_all(make_type({"string"}), csv_format{}, "\n\na\n", 1, 1, 100).rows,
            (std::vector<fields>{{""}, {""}, {"a"}}));
  EXPECT_EQ(parse_all(type, csv_format{'\t', std::nullopt}, "\"a\t1\nb\"\t2\n", 3, 100, 100).rows,
            (std::vector<fields>{{"\"a", "1"}, {"b\"", "2"}}));
}

// Short numbers take a path of their own through the parser.
TEST(file_csv, numbers_are_read_as_parse_value_reads_them) {
  std::mt19937_64 random(23);
  for (const std::string name : {"u8", "u16", "u24", "u32", "u40", "u64", "i32"}) {
    const row_type type = make_type({name, name});
    std::vector<fields> expected;
    std::string text;
    for (int i = 0; i < 3000; ++i) {
      fields row;
      bool good = true;
      for (int c = 0; c < 2; ++c) {
        std::string field = std::to_string(random() >> (random() % 64));
        field = field.substr(0, 1 + random() % 9);
        if (random() % 20 == 0) field[random() % field.size()] = "-/:x \xB0"[random() % 6];
        if (random() % 40 == 0) field.clear();
        std::byte at[8];
        good = parse_value(type[0].type, field, at) && good;
        if (good) row.push_back(value_as_text(type[0].type, at, nullptr));
        text += field + (c == 0 ? "," : random() % 4 == 0 ? "\r\n" : "\n");
      }
      if (random() % 50 == 0) {
        text.insert(text.size() - 1, ",1");
        good = false;
      }
      if (good) expected.push_back(row);
    }
    EXPECT_EQ(parse_all(type, csv_format{}, text, 500, 300, 4096).rows, expected) << name;
    EXPECT_GT(expected.size(), 300U);
  }
}

TEST(file_csv, integers_must_fit_their_type) {
  struct row {
    std::string type;
    std::vector<std::string> good, bad;
  };
  const std::vector<row> table = {
      {"u8",
       {"0", "255", "007", "+1", "+255"},
       {"256", "+256", "-1", "", "+", "++1", "+-1", "+ 1", " 1", "1 ", "1.0", "0x1", "99999999999999999999999"}},
      {"u16", {"65535"}, {"65536"}},
      {"u24", {"16777215"}, {"16777216"}},
      {"u32", {"4294967295"}, {"4294967296"}},
      {"u40", {"1099511627775"}, {"1099511627776"}},
      {"u48", {"281474976710655"}, {"281474976710656"}},
      {"u64", {"18446744073709551615", "00000000000000000000018446744073709551615"}, {"18446744073709551616", "-0"}},
      {"i8", {"127", "+127", "-128", "-0", "+0"}, {"128", "+128", "-129", "-", "+", "--1", "+-1", "-+1"}},
      {"i16", {"32767", "-32768"}, {"32768", "-32769"}},
      {"i32", {"2147483647", "-2147483648"}, {"2147483648", "-2147483649"}},
      {"i64", {"9223372036854775807", "-9223372036854775808"}, {"9223372036854775808", "-9223372036854775809"}},
      {"bool", {"true", "false", "1", "0"}, {"True", "2", "", "yes"}},
      {"f64",
       {"1", "-1.5e3", "0.1", "inf", "-inf", "nan", "5e-324", "+1", "+.5", "+inf"},
       {"", "1e999", "+1e999", "1.5x", " 1", "+", "++1", "+-1", "0x10"}},
      {"f32", {"1.5", "3.4028235e38"}, {"1e39", "a"}},
      {"date", {"2026-11-23", "0001-01-01"}, {"", "2026-02-29", "23.11.2026", "2026-11-23T10:00", " 2026-11-23"}},
      {"timestamp", {"2026-11-23", "2026-11-23 10:00", "2026-11-23T22:15:03.5+01:00"}, {"", "2026-11-23T24:00", "now"}},
      {"bytes[3]", {"abc", "   ", "+12"}, {"ab", "abcd", "", "+123"}},
  };
  for (const row& r : table) {
    const value_type type = record::parse_value_type(r.type).value();
    std::byte at[16];
    for (const std::string& text : r.good) EXPECT_TRUE(parse_value(type, text, at)) << r.type << " " << text;
    for (const std::string& text : r.bad) {
      EXPECT_FALSE(parse_value(type, text, at)) << r.type << " " << text;
      EXPECT_THAT(refusal(type, text), ::testing::StartsWith("expected " + r.type));
    }
  }
  EXPECT_EQ(refusal(value_type::of(type_kind::u8), "300"), "expected u8 (0 to 255), got \"300\"");
  EXPECT_EQ(refusal(value_type::of(type_kind::u8), "+300"), "expected u8 (0 to 255), got \"+300\"");
  EXPECT_EQ(refusal(value_type::of(type_kind::i8), "-300"), "expected i8 (-128 to 127), got \"-300\"");
  EXPECT_EQ(refusal(value_type::of(type_kind::i64), ""), "expected i64, got an empty field");
  for (const std::string text : {"1e309", "+2e308", "-1e999"})
    EXPECT_EQ(refusal(value_type::of(type_kind::f64), text),
              "expected f64 (up to 1.7976931348623157e+308), got \"" + text + "\"");
  for (const std::string text : {"1e39", "-1e999"})
    EXPECT_EQ(refusal(value_type::of(type_kind::f32), text),
              "expected f32 (up to 3.4028235e+38), got \"" + text + "\"");
  for (const std::string text : {"1e9x", "+-1", "++1e999", "infinite", "1,5"})
    for (const auto kind : {type_kind::f32, type_kind::f64})
      EXPECT_EQ(refusal(value_type::of(kind), text),
                "expected " + to_string(value_type::of(kind)) + ", got \"" + text + "\"");
  EXPECT_EQ(refusal(value_type::of(type_kind::date), "2026-02-29"),
            "expected date, got \"2026-02-29\": February 2026 has 28 days");
  EXPECT_EQ(refusal(value_type::of(type_kind::date), ""), "expected date (such as 2026-11-23), got an empty field");
  EXPECT_EQ(refusal(value_type::of(type_kind::timestamp), "2026-01-01T25:00"),
            "expected timestamp, got \"2026-01-01T25:00\": hours are 00 to 23");
  EXPECT_EQ(refusal(value_type::fixed_bytes(2), "a\n\x01"), "expected bytes[2], got \"a\\n\\x01\" of 3 bytes");
}

TEST(file_csv, every_nan_is_one_text) {
  for (const double value : {std::numeric_limits<double>::quiet_NaN(), -std::numeric_limits<double>::quiet_NaN()}) {
    char text[max_value_chars];
    const char* const end =
        format_value(value_type::of(type_kind::f64), reinterpret_cast<const std::byte*>(&value), text);
    EXPECT_EQ(std::string(text, static_cast<size_t>(end - text)), "nan");
  }
}

TEST(file_csv, what_is_written_reads_back_the_same) {
  const std::vector<std::string> types = {"bool", "u8",  "u16",      "u24",    "u32",  "u40",
                                          "u48",  "u64", "i8",       "i16",    "i32",  "i64",
                                          "f32",  "f64", "bytes[5]", "string", "date", "timestamp"};
  const row_type type = make_type(types);
  record::batch_pool pool;
  std::mt19937_64 random(11);
  constexpr std::string_view alphabet = "abc,;\"\n\r\t \\";
  for (int round = 0; round < 50; ++round) {
    record::batch_builder builder(type, pool, record::rows_of_any_length(1 << 20));
    for (int r = 0; r < 40; ++r) {
      std::byte* const row = builder.append();
      for (const record::column& c : type.columns()) {
        if (c.type.is_string()) {
          std::string text;
          for (size_t n = random() % 12; n > 0; --n) text += alphabet[random() % alphabet.size()];
          builder.put_string(row + c.offset, text);
        } else if (c.type.is_bytes()) {
          for (size_t k = 0; k < c.type.num_bytes; ++k)
            row[c.offset + k] = static_cast<std::byte>(alphabet[random() % alphabet.size()]);
        } else if (c.type.is_date()) {
          const auto days = static_cast<int32_t>(random() % 3'652'059) - 719'162;  // years 1 to 9999
          std::memcpy(row + c.offset, &days, sizeof days);
        } else if (c.type.is_timestamp()) {
          const int64_t us = static_cast<int64_t>(random() % 315'537'897'600'000'000) - 62'135'596'800'000'000;
          std::memcpy(row + c.offset, &us, sizeof us);
        } else if (c.type.is_boolean()) {
          row[c.offset] = static_cast<std::byte>(random() & 1);
        } else {
          uint64_t bits = random() >> (random() % 64);
          if (c.type.kind == type_kind::f64 && (bits >> 52 & 0x7FF) == 0x7FF) bits = 0;  // NaN payloads are not kept
          if (c.type.kind == type_kind::f32 && (bits >> 23 & 0xFF) == 0xFF) bits = 0;
          std::memcpy(row + c.offset, &bits, c.type.num_bytes);
        }
      }
    }
    const record::batch in = builder.take();
    const csv_format format{round % 2 == 0 ? ',' : ';', round % 3 == 0 ? '\'' : '"'};
    const csv_formatter formatter(type.columns(), format);
    const text_block text = formatter.format(in, pool);
    EXPECT_EQ(text.num_rows, 40U);
    const uint64_t most_bytes = uint64_t{1} << (random() % 13);
    EXPECT_EQ(text_in_pieces(formatter, in, pool, most_bytes), text.text());
    const csv_parser parser(type, format);
    std::vector<record::batch> rows;
    EXPECT_EQ(parse_in_pieces(parser, text.text(), pool, most_bytes, rows), 40U);
    size_t at = 0;
    for (const record::batch& b : rows)
      for (size_t r = 0; r < b.num_rows; ++r, ++at)
        for (const record::column& c : type.columns()) {
          if (c.type.is_string()) {
            ASSERT_EQ(record::load_string(b.row(r) + c.offset, b.heap),
                      record::load_string(in.row(at) + c.offset, in.heap));
          } else {
            ASSERT_EQ(std::memcmp(b.row(r) + c.offset, in.row(at) + c.offset, c.type.num_bytes), 0)
                << to_string(c.type);
          }
        }
    EXPECT_EQ(at, 40U);
  }
}

TEST(file_csv, times_are_quoted_where_a_colon_is_the_delimiter) {
  const row_type type = make_type({"timestamp", "date", "u8"});
  record::batch_pool pool;
  record::batch_builder builder(type, pool, record::rows_of_any_length(1 << 20));
  const int64_t us = 1'500'000;
  std::memset(builder.append(), 0, type.row_bytes());
  std::memcpy(builder.append(), &us, sizeof us);
  const record::batch in = builder.take();
  std::memset(const_cast<std::byte*>(in.row(1)) + sizeof us, 0, type.row_bytes() - sizeof us);
  const csv_format format{':', '"'};
  const text_block text = csv_formatter(type.columns(), format).format(in, pool);
  EXPECT_EQ(text.text(), "\"1970-01-01T00:00:00Z\":1970-01-01:0\n\"1970-01-01T00:00:01.500000Z\":1970-01-01:0\n");
  std::vector<record::batch> rows;
  EXPECT_EQ(parse_in_pieces(csv_parser(type, format), text.text(), pool, 1 << 20, rows), 2U);
  EXPECT_THROW(csv_formatter(type.columns(), {':', std::nullopt}).format(in, pool), error);
  EXPECT_EQ(csv_formatter(type.columns(), {',', std::nullopt}).format(in, pool).num_rows, 2U);
}

// What shares its texts with others is written as often as they are: a piece ends with a row, not with the batch.
TEST(file_csv, texts_that_rows_share_are_formatted_in_pieces) {
  const row_type type = make_type({"string"});
  record::batch_pool pool;
  record::batch_builder builder(type, pool, record::rows_of_any_length());
  builder.put_string(builder.append(), std::string(100'000, 'x'));
  record::batch rows = builder.take();
  std::vector<std::byte> same;
  for (int i = 0; i < 1000; ++i) same.insert(same.end(), rows.rows, rows.rows + rows.row_bytes);
  rows.rows = same.data();
  rows.num_rows = 1000;
  const csv_formatter formatter(type.columns(), {});
  uint64_t num_bytes = 0;
  while (rows.num_rows > 0) {
    const text_block text = formatter.format(rows, pool, 1 << 18);
    ASSERT_EQ(text.num_rows, std::min<size_t>(3, rows.num_rows));
    num_bytes += text.num_bytes;
    rows = rows.slice(text.num_rows, rows.num_rows - text.num_rows);
  }
  EXPECT_EQ(num_bytes, 1000U * 100'001);
  EXPECT_LE(pool.peak_bytes(), 2U << 20);
}

// A line of one byte may become a row of a hundred: what was rejected counts, too.
TEST(file_csv, rejected_lines_end_a_piece) {
  const csv_parser parser(make_type({"u64", "u64"}), {});
  record::batch_pool pool;
  std::vector<record::batch> rows;
  std::vector<uint64_t> lines;
  const std::string text(1000, '\n');
  size_t done = 0;
  while (done < text.size()) {
    const size_t before = lines.size();
    const parse_progress parsed = parser.parse(
        std::string_view(text).substr(done), done, pool, 1 << 16, rows,
        [&](const malformed_record& bad) {
          lines.push_back(bad.line);
          return true;
        },
        1000);
    ASSERT_GT(parsed.num_bytes, 0U);
    EXPECT_EQ(parsed.num_records, parsed.num_bytes);
    EXPECT_LE(lines.size() - before, 20U);
    done += parsed.num_bytes;
  }
  ASSERT_EQ(lines.size(), 1000U);
  for (uint64_t i = 0; i < 1000; ++i) EXPECT_EQ(lines[i], i + 1);
}

TEST(file_csv, quotes_only_where_needed) {
  const row_type type = make_type({"string", "u8", "string"});
  record::batch_pool pool;
  record::batch_builder builder(type, pool, record::rows_of_any_length());
  for (const auto& [first, second] : std::vector<std::pair<std::string, std::string>>{
           {"plain", "a b"}, {"", "x,y"}, {"say \"hi\"", ""}, {"two\nlines", "cr\r"}}) {
    std::byte* const row = builder.append();
    builder.put_string(row, first);
    row[8] = std::byte{7};
    builder.put_string(row + 9, second);
  }
  const record::batch rows = builder.take();
  EXPECT_EQ(csv_formatter(type.columns(), {}).format(rows, pool).text(),
            "plain,7,a b\n,7,\"x,y\"\n\"say \"\"hi\"\"\",7,\n\"two\nlines\",7,\"cr\r\"\n");
  EXPECT_EQ(csv_formatter(type.columns(), {';', '"'}).header(type.names()), "a;b;c\n");
  EXPECT_EQ(csv_formatter(type.columns(), {';', '"'}).header({"x;y", "", "say \"hi\""}),
            "\"x;y\";;\"say \"\"hi\"\"\"\n");
  EXPECT_EQ(csv_formatter(type.columns(), {}).header({"\xEF\xBB\xBFx", "y", "\xEF\xBB\xBFz"}),
            "\"\xEF\xBB\xBFx\",y,\xEF\xBB\xBFz\n");
  try {
    csv_formatter(type.columns(), {',', std::nullopt}).format(rows, pool);
    FAIL() << "a delimiter within a field was written without quotes";
  } catch (const error& e) {
    EXPECT_EQ(e.kind(), error_kind::bad_data);
    EXPECT_THAT(e.what(), ::testing::HasSubstr("column 'c' holds \"x,y\""));
  }
}

TEST(file_csv, a_record_without_end_is_refused_in_time) {
  record::batch_pool pool;
  cutter_options options;
  options.format = csv_format{};
  options.max_record_bytes = 1000;
  text_cutter cutter(options, pool);
  cutter.begin_file("open.csv");
  std::vector<text_piece> pieces;
  const auto chunk = std::make_shared<const std::string>("1,\"" + std::string(400, 'x'));
  const auto more = std::make_shared<const std::string>(std::string(400, '\n'));
  const auto feed_all = [&] {
    cutter.feed(chunk, *chunk, pieces);
    cutter.feed(more, *more, pieces);
    cutter.feed(more, *more, pieces);
  };
  try {
    feed_all();
    FAIL() << "more than max_record_bytes were kept";
  } catch (const error& e) {
    EXPECT_EQ(e.kind(), error_kind::resources);
    EXPECT_THAT(e.what(), ::testing::StartsWith("open.csv:1: "));
    EXPECT_THAT(e.hint(), ::testing::HasSubstr("never closed"));
  }
}

}  // namespace
}  // namespace flowrun::operators
