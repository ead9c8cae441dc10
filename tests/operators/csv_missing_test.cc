// Missing values: which fields are some, and what becomes of them, in batches of any size.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "operators/parts/text/csv_missing.h"
#include "operators/parts/text/csv_parser.h"
#include "operators/parts/text/csv_value.h"

namespace flowrun::operators {
namespace {

using record::row_type;
using fields = std::vector<std::string>;

row_type make_type(const std::vector<std::string>& types) {
  std::vector<record::column> columns;
  for (size_t i = 0; i < types.size(); ++i)
    columns.push_back({std::string(1, static_cast<char>('a' + i)), *record::parse_value_type(types[i])});
  return row_type(std::move(columns));
}

// A column of fields, and what becomes of it where it is missing.
struct column {
  std::string type;
  std::optional<std::string> fallback{};
  bool told = false;
};

struct reader {
  reader(const std::vector<column>& columns, std::vector<std::string> texts) {
    std::vector<std::string> types;
    for (const column& c : columns) types.push_back(c.type);
    const row_type type = make_type(types);
    missing.texts = std::move(texts);
    for (const std::string& text : missing.texts)
      if (!text.empty() && text.find_first_not_of("0123456789") == std::string::npos) missing.any_number = true;
    missing.values.resize(type.row_bytes());
    missing.columns.resize(columns.size());
    for (size_t i = 0; i < columns.size(); ++i) {
      csv_missing::column& rule = missing.columns[i];
      rule.allowed = columns[i].told || columns[i].fallback;
      if (columns[i].told) {
        rule.told_by = type.row_bytes() + missing.told_by.size();
        missing.told_by.push_back(std::string("is_") + static_cast<char>('a' + i));
      }
      if (!columns[i].fallback) continue;
      const std::string& text = *columns[i].fallback;
      std::byte* const at = missing.values.data() + type[i].offset;
      if (type[i].type.is_string()) {
        const record::string_ref ref{static_cast<uint32_t>(missing.default_texts.size()),
                                     static_cast<uint32_t>(text.size())};
        std::memcpy(at, &ref, sizeof ref);
        missing.default_texts += text;
      } else {
        EXPECT_TRUE(parse_value(type[i].type, text, at));
      }
    }
    rows_type = with_told_columns(type, missing);
  }

  // The rows as texts, one line each; malformed records as their places and reasons.
  fields read(const std::string& text, size_t batch_bytes = 1 << 16, const csv_layout* layout = nullptr) const {
    record::batch_pool pool;
    std::vector<record::batch> batches;
    fields out, bad;
    csv_parser(rows_type, csv_format{}, missing)
        .parse(
            text, 0, pool, batch_bytes, batches,
            [&](const malformed_record& r) {
              bad.push_back(fmt::format("{}:{}: {}", r.line, r.column, r.reason));
              return true;
            },
            ~uint64_t{0}, layout);
    for (const record::batch& b : batches)
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
    out.insert(out.end(), bad.begin(), bad.end());
    return out;
  }

  csv_missing missing;
  row_type rows_type;
};

TEST(csv_missing, a_value_becomes_the_default_or_zero_and_is_told) {
  const reader r({{"u32", "7", true}, {"string", "none"}, {"bool", {}, true}, {"f64", "nan"}, {"bytes[2]", {}, true}},
                 {"", "NA"});
  const std::string zeros(2, '\0');
  EXPECT_EQ(r.read("1,x,true,2.5,ab\nNA,NA,,NA,\n,,NA,,NA\r\n\"NA\",\"NA\",\"\",\"NA\",\"NA\"\n,\"\",0,1,"),
            (fields{"1|x|true|2.5|ab|false|false|false", "7|none|false|nan|" + zeros + "|true|true|true",
                    "7|none|false|nan|" + zeros + "|true|true|true", "7|NA|false|nan|NA|true|true|false",
                    "7||false|1|" + zeros + "|true|false|true"}));
}

// A text is what the field says, then.
TEST(csv_missing, where_none_is_allowed_the_record_is_malformed_unless_it_is_a_text) {
  const reader r({{"u32"}, {"string"}, {"u8", "0"}}, {"", "-"});
  EXPECT_EQ(r.read("1,a,\n,a,1\n2,-,1\n3,\"-\",-\n-,,x\n4,a,x\n5,\n"),
            (fields{"1|a|0", "2|-|1", "3|-|0",
                    "2:1: a missing value (an empty field) where none is allowed: 'a' has neither "
                    "`default` nor `missing`",
                    "5:1: a missing value (\"-\") where none is allowed: 'a' has neither `default` nor `missing`",
                    "6:5: expected u8, got \"x\"", "7:3: expected 3 fields, got 2"}));
}

// A no-break space between digits, a character cut by the end of the excerpt, and a text that only looks like UTF-8.
TEST(csv_missing, what_nobody_sees_is_shown) {
  const reader r({{"u32"}}, {});
  EXPECT_EQ(r.read("1\u00A0000\n\uFEFF7\n12\u202F000\u200B\n\xC2\xE2\x80\n" + std::string(39, '9') + "é\n"),
            (fields{"1:1: expected u32, got \"1\\u00A0000\"", "2:1: expected u32, got \"\\uFEFF7\"",
                    "3:1: expected u32, got \"12\\u202F000\\u200B\"", "4:1: expected u32, got \"\xC2\xE2\x80\"",
                    "5:1: expected u32, got \"" + std::string(39, '9') + "\"…"}));
}

// Numbers of few digits take a path of their own, which must not miss them.
TEST(csv_missing, a_number_may_stand_for_nothing) {
  const reader r({{"u32", "1", true}, {"u32", "2", true}}, {"999", "0"});
  EXPECT_EQ(r.read("999,0\n9999,99\n00,+0\n12345678,999\n"),
            (fields{"1|2|true|true", "9999|99|false|false", "0|0|false|false", "12345678|2|false|true"}));
}

TEST(csv_missing, an_empty_line_is_a_missing_value_of_a_single_column) {
  EXPECT_EQ(reader({{"i16", "-3"}}, {""}).read("1\n\n2"), (fields{"1", "-3", "2"}));
}

TEST(csv_missing, goes_with_columns_by_header) {
  const reader r({{"string", "none", true}, {"u16", "8"}}, {"NA"});
  const csv_layout layout{{{1, 1}, {3, 0}}, 5};
  EXPECT_EQ(r.read("NA,1,NA,NA,NA\nx,NA,,a,\nx,2,NA,\"NA\",y\n", 1 << 16, &layout),
            (fields{"none|1|true", "a|8|false", "NA|2|false"}));
}

// Each batch has the texts of the defaults, once.
TEST(csv_missing, batches_of_any_size_are_the_same_rows) {
  std::mt19937_64 random(4);
  const reader r({{"string", std::string(100, 'd'), true}, {"u64", "5"}, {"string", "e"}}, {"", "x"});
  std::string text;
  fields expected;
  for (int i = 0; i < 500; ++i) {
    const std::string a = random() % 3 == 0 ? "" : std::string(random() % 40 + 1, 'a'), c = random() % 2 ? "x" : "c";
    text += fmt::format("{},{},{}\n", a, random() % 2 ? "" : "5", c);
    expected.push_back(fmt::format("{}|5|{}|{}", a.empty() ? std::string(100, 'd') : a, c == "x" ? "e" : c, a.empty()));
  }
  for (const size_t batch_bytes : {1, 50, 200, 1000, 1 << 20}) ASSERT_EQ(r.read(text, batch_bytes), expected);
}

}  // namespace
}  // namespace flowrun::operators
