// flowrun infer: which type the fields of a column make, in which form, and what counts as missing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "operators/parts/infer/column_decision.h"
#include "operators/parts/infer/column_names.h"

namespace flowrun::operators {
namespace {

using texts = std::vector<std::string>;

column_decision decided(const texts& fields, std::string_view name = "x", std::optional<bool> day_first = {}) {
  column_evidence seen;
  for (size_t i = 0; i < fields.size(); ++i) seen.add(fields[i], false, {0, i + 1, 0});
  return decide_column(seen, name, day_first);
}

// "u32", "date %d.%m.%Y", "f64 without NA,": the type, the form, and the missing words.
std::string summary(const texts& fields, std::string_view name = "x") {
  const column_decision d = decided(fields, name);
  std::string out = to_string(d.type);
  if (!d.form.empty()) out += " " + d.form;
  if (!d.missing.empty()) out += " without ";
  for (const size_t word : d.missing) out += std::string(missing_words[word]) + ",";
  return out;
}

TEST(infer_columns, types) {
  const std::vector<std::pair<texts, std::string>> cases = {
      {{"1", "2", "300"}, "u32"},
      {{"0", "1", "1"}, "u32"},
      {{"268435456"}, "u32"},
      {{"268435457"}, "u64"},
      {{"18446744073709551615", "0"}, "u64"},
      {{"1", "-1"}, "i64"},
      {{"-9223372036854775808", "9223372036854775807"}, "i64"},
      {{"-1", "18446744073709551615"}, "string"},
      {{"18446744073709551616"}, "string"},
      {{"007", "1"}, "string"},
      {{"0", "10"}, "u32"},
      {{"+49170", "+49171"}, "string"},
      {{"+1", "-1"}, "i64"},
      {{"1", "2.5"}, "f64"},
      {{"1e5", "-3."}, "f64"},
      {{"1.5", "123456789012345678901"}, "string"},
      {{"00.5", "1.5"}, "string"},
      {{"0.5", "-0.25"}, "f64"},
      {{"nan", "1.5"}, "f64"},
      {{"NaN", "NaN"}, "f64"},
      {{"NaN", "1"}, "u32 without NaN,"},
      {{"inf", "inf"}, "string"},
      {{"0x1F"}, "string"},
      {{"1,5", "2"}, "string"},
      {{" 1", "2"}, "string"},
      {{"true", "false", "true"}, "bool"},
      {{"true", "1"}, "string"},
      {{"True", "False"}, "string"},
      {{"", "true"}, "bool without ,"},
      {{"", "NA", "7", "n/a"}, "u32 without ,NA,n/a,"},
      {{"", ""}, "string"},
      {{"NA", "NULL"}, "string"},
      {{"NA", "low", "high"}, "string"},
      {{"\\N", "2026-11-23"}, "date without \\N,"},
      {{}, "string"},
  };
  for (const auto& [fields, expected] : cases) EXPECT_EQ(summary(fields), expected) << testing::PrintToString(fields);
}

TEST(infer_columns, decimals) {
  const std::vector<std::pair<texts, std::string>> cases = {
      {{"12.50", "-0.05", "1000000.00"}, "decimal[2]"},
      {{"0.000", "1.250"}, "decimal[3]"},
      {{"1.2345"}, "decimal[4]"},
      {{"12.5", "0.5"}, "f64"},
      {{"1.23456"}, "f64"},
      {{"12.50", "3"}, "f64"},
      {{"12.50", "3.125"}, "f64"},
      {{"3.125", "12.50", "1.25"}, "f64"},
      {{"12.50", "1.25e1"}, "f64"},
      {{"12.50", "1e10"}, "f64"},
      {{".50", "1.25"}, "f64"},
      {{"+1.25", "1.25"}, "f64"},
      {{"999999999999.99"}, "decimal[2]"},
      {{"1000000000000.00"}, "f64"},  // leaves no room
      {{"01.25"}, "string"},
      {{"12.50", "", "NaN"}, "decimal[2] without ,NaN,"},
  };
  for (const auto& [fields, expected] : cases) EXPECT_EQ(summary(fields), expected) << testing::PrintToString(fields);
  const column_decision d = decided({"12.50", "-3.00"});
  EXPECT_EQ(d.least + " " + d.most, "-3.00 12.50");
}

TEST(infer_columns, texts_and_numbers_that_are_known_to_be) {
  const auto type_of = [](const texts& fields, column_kind kind, std::string_view name = "x") {
    column_evidence seen;
    for (const std::string& text : fields) seen.add(text, kind == column_kind::texts, {});
    const column_decision d = decide_column(seen, name, {}, kind);
    return to_string(d.type) + (d.form.empty() ? "" : " " + d.form);
  };
  EXPECT_EQ(type_of({"12", "13"}, column_kind::texts), "string");
  EXPECT_EQ(type_of({"1.25"}, column_kind::texts), "string");
  EXPECT_EQ(type_of({"true"}, column_kind::texts), "string");
  EXPECT_EQ(type_of({"2026-11-23"}, column_kind::texts), "date");
  EXPECT_EQ(type_of({"2026-11-23", ""}, column_kind::texts), "string");
  EXPECT_EQ(type_of({"2026-11-23", "NA"}, column_kind::texts), "string");
  EXPECT_EQ(type_of({"2026-11-23T10:00:00Z"}, column_kind::texts), "timestamp");
  EXPECT_EQ(type_of({"23.11.2026"}, column_kind::texts), "date %d.%m.%Y");
  EXPECT_EQ(type_of({"20261123", "20261124", "20261125"}, column_kind::texts), "string");
  EXPECT_EQ(type_of({"20261123", "20261124", "20261125"}, column_kind::texts, "day"), "date %Y%m%d");
  EXPECT_EQ(type_of({"20261123", "20261124", "20261125"}, column_kind::numbers, "day"), "u32");
  EXPECT_EQ(type_of({"1", "-1"}, column_kind::numbers), "i64");
  EXPECT_EQ(type_of({"18446744073709551615"}, column_kind::numbers), "u64");
  EXPECT_EQ(type_of({"18446744073709551615", "-1"}, column_kind::numbers), "f64");
  EXPECT_EQ(type_of({"18446744073709551616"}, column_kind::numbers), "f64");
  EXPECT_EQ(type_of({"1.25", "2.50"}, column_kind::numbers), "decimal[2]");
  EXPECT_EQ(type_of({"1e3", "2.50"}, column_kind::numbers), "f64");
}

TEST(infer_columns, times) {
  const std::vector<std::pair<texts, std::string>> cases = {
      {{"2026-11-23", "0001-01-01"}, "date"},
      {{"2026-02-30", "2026-02-28"}, "string"},
      {{"2026-11-23T22:15:03Z", "2026-11-23"}, "timestamp"},
      {{"2026-11-23 22:15", "2026-11-23 22:15:03.123456+02:00"}, "timestamp"},
      {{"23.11.2026", "1.2.2026"}, "date %d.%m.%Y"},
      {{"23.11.26", "01.02.26"}, "date %d.%m.%y"},
      {{"1.2.3", "10.1.12"}, "string"},  // versions
      {{"1.2.3", "1.2.4"}, "string"},
      {{"192.168.1.1"}, "string"},
      {{"11/23/2026", "01/02/2026"}, "date %m/%d/%Y"},
      {{"01/02/2026", "23/11/2026"}, "date %d/%m/%Y"},
      {{"11/23/2026", "23/11/2026"}, "string"},
      {{"1/2/26", "11/23/26"}, "date %m/%d/%y"},
      {{"13-11-2026"}, "date %d-%m-%Y"},
      {{"2026/11/23"}, "date %Y/%m/%d"},
      {{"23 Nov 2026", "1 December 2026"}, "date %d %b %Y"},
      {{"23-Nov-2026"}, "date %d-%b-%Y"},
      {{"Nov 23, 2026"}, "date %b %d, %Y"},
      {{"Mon, 23 Nov 2026"}, "date %a, %d %b %Y"},
      {{"23/Nov/2026:22:15:03 +0100"}, "timestamp %d/%b/%Y:%H:%M:%S %z"},
      {{"23.11.2026 22:15", "01.02.2026 00:00"}, "timestamp %d.%m.%Y %H:%M"},
      {{"11/23/2026 10:15:03 PM"}, "timestamp %m/%d/%Y %I:%M:%S %p"},
      {{"2026-11-23 22:15:03,123"}, "timestamp %Y-%m-%d %H:%M:%S,%f"},
      {{"Mon Nov 23 22:15:03 2026"}, "timestamp %a %b %d %H:%M:%S %Y"},
      {{"20261123T221503Z"}, "timestamp %Y%m%dT%H%M%S%z"},
      {{"20261123", "20261124", "20261201"}, "date %Y%m%d"},
      {{"20261123", "20261124"}, "u32"},  // two may be by chance
      {{"20261123", "20261332", "20261201"}, "u32"},
      {{"23:15", "10:00"}, "string"},
      {{"2026-11"}, "string"},
  };
  for (const auto& [fields, expected] : cases) EXPECT_EQ(summary(fields), expected) << testing::PrintToString(fields);
  EXPECT_EQ(summary({"20261123"}, "Order Date"), "date %Y%m%d");
}

TEST(infer_columns, which_comes_first_day_or_month) {
  EXPECT_EQ(decided({"01/02/2026", "03/04/2026"}).form, "%m/%d/%Y");
  EXPECT_THAT(decided({"01/02/2026"}).questions,
              testing::ElementsAre("no day is larger than 12: %m/%d/%Y, as is usual for this way of writing; or "
                                   "%d/%m/%Y?"));
  EXPECT_EQ(decided({"01/02/2026"}, "x", true).form, "%d/%m/%Y");
  EXPECT_THAT(decided({"01/02/2026"}, "x", true).questions,
              testing::ElementsAre("no day is larger than 12: %d/%m/%Y, as in another column; or %m/%d/%Y?"));
  EXPECT_EQ(decided({"01-02-2026"}).form, "%d-%m-%Y");
  EXPECT_THAT(decided({"13/02/2026"}).questions, testing::IsEmpty());
  EXPECT_THAT(decided({"01.02.2026"}).questions, testing::IsEmpty());
}

TEST(infer_columns, what_is_said) {
  using testing::Contains;
  using testing::StartsWith;
  column_decision d = decided({"5", "300", ""});
  EXPECT_EQ(d.least + " " + d.most, "5 300");
  EXPECT_EQ(d.num_missing, 1U);
  d = decided({"-5", "300"});
  EXPECT_EQ(d.least + " " + d.most, "-5 300");
  d = decided({"-5", "-7"});
  EXPECT_EQ(d.least + " " + d.most, "-7 -5");
  d = decided({"0.5", "-2"});
  EXPECT_EQ(d.least + " " + d.most, "-2 0.5");
  d = decided({"23.11.2026", "01.02.2026"});
  EXPECT_EQ(d.least + " " + d.most, "2026-02-01 2026-11-23");
  d = decided({"2026-11-23T22:15", "2020-01-01"});
  EXPECT_EQ(d.least + " " + d.most, "2020-01-01T00:00:00Z 2026-11-23T22:15:00Z");
  EXPECT_THAT(decided({"007"}).notes, Contains(StartsWith("numbers, but some begin with 0")));
  EXPECT_THAT(decided({"+49170"}).notes, Contains(StartsWith("numbers, but they begin with +")));
  EXPECT_THAT(decided({"1.234,5", "2"}).notes, Contains(StartsWith("numbers with a decimal comma")));
  EXPECT_THAT(decided({"1,234.5", "2.5"}).notes, Contains(StartsWith("numbers with commas between thousands")));
  EXPECT_THAT(decided({" 1", "2"}).notes, Contains(StartsWith("numbers with blanks around them")));
  EXPECT_THAT(decided({"yes", "no", "no"}).notes, Contains(StartsWith("yes or no: x == \"yes\"")));
  EXPECT_THAT(decided({"red", "blue", "red", "red"}).notes, Contains("only \"red\", \"blue\""));
  EXPECT_EQ(decided({"x", "x"}).notes, (texts{"1 byte", "always \"x\""}));
  EXPECT_EQ(decided({"x", "", "x", "NA", ""}).notes, (texts{"1 byte", "only \"x\"", "2 empty", "1 \"NA\""}));
  EXPECT_EQ(decided({"", "", "NA"}).notes, (texts{"no value was seen", "2 empty", "1 \"NA\""}));
  EXPECT_THAT(decided({"0", "1"}).notes, Contains("bool would do"));
  EXPECT_THAT(decided({"1700000000"}, "created_at").notes, Contains(StartsWith("seconds since 1970?")));
  EXPECT_THAT(decided({"9007199254740994", "0.5"}).notes, Contains("integers beyond 2^53 are rounded"));
  const char* const rounded = "some have more digits than f64, which rounds them: as string or decimal[S] they stay";
  EXPECT_THAT(decided({"922337203685477.58", "0.5"}).notes, Contains(rounded));
  EXPECT_THAT(decided({"12345678901234567890.12", "1.5"}).notes, Contains(rounded));
  EXPECT_THAT(decided({"0.1", "0.10000000000000001", "0.30000000000000004", "1.7976931348623157e308", "-0.0001"}).notes,
              ::testing::Not(Contains(rounded)));
  EXPECT_THAT(decided({"a\xE4"}).notes, Contains("1 not UTF-8"));
  EXPECT_THAT(decided({"a\nb"}).notes, Contains("1 with line ends"));
  texts many(200, "12");
  many[7] = "12a";
  EXPECT_THAT(decided(many).questions,
              Contains("an integer in all but 1 of 200 values, the first of these \"12a\" in line 8: text for now"));
}

// What quotes do is what they do to the reader (csv_missing.h): nothing for numbers.
TEST(infer_columns, missing_values_in_quotes) {
  column_evidence seen;
  seen.add("", true, {});
  seen.add("7", true, {});
  const column_decision d = decide_column(seen, "x", {});
  EXPECT_EQ(to_string(d.type), "u32");
  EXPECT_EQ(d.num_missing, 1U);
}

TEST(infer_columns, names) {
  EXPECT_EQ(
      column_names({"id", "Amount (EUR)", "2024", "", "amount_eur", "true", "ID", "id", "\xC3\xA4", "a b", "A-B"}),
      (texts{"id", "amount_eur_2", "_2024", "column_4", "amount_eur", "true_2", "ID", "id_2", "column_9", "a_b",
             "a_b_2"}));
  EXPECT_EQ(column_names({std::string(2000, 'k')})[0], std::string(60, 'k'));  // as a key of YAML it would be too long
  const texts many = column_names(texts(20'000, "x"));                         // and not in the square of the time
  EXPECT_EQ(many.front(), "x");
  EXPECT_EQ(many.back(), "x_20000");
  EXPECT_EQ(node_name("data/Sales 2024.csv.gz", "rows"), "sales_2024");
  EXPECT_EQ(node_name("-", "rows"), "rows");
  EXPECT_EQ(node_name("logs/*.csv", "rows"), "rows");
  EXPECT_EQ(node_name("logs/a-*.csv", "rows"), "a");
  EXPECT_EQ(node_name("2024.csv", "rows"), "_2024");
  EXPECT_EQ(node_name(".hidden.csv", "rows"), "hidden");
}

}  // namespace
}  // namespace flowrun::operators
