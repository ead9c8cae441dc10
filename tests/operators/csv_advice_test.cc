// What is said about a field that has no value of its column, beside that the line may be mended.
#include "operators/parts/text/csv_advice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operators/parts/text/csv_parser.h"

namespace flowrun::operators {
namespace {

const record::row_type& columns() {
  static const record::row_type type({{"amount", record::value_type::of(record::type_kind::f64)},
                                      {"day", record::value_type::of(record::type_kind::date)},
                                      {"at", record::value_type::of(record::type_kind::timestamp)},
                                      {"ok", record::value_type::of(record::type_kind::boolean)},
                                      {"code", record::value_type::fixed_bytes(2)},
                                      {"name", record::value_type::of(record::type_kind::string)}});
  return type;
}

csv_missing missing_with(std::vector<std::string> texts, size_t allowed = 99) {
  csv_missing out;
  out.texts = std::move(texts);
  out.columns.resize(columns().num_columns());
  if (allowed < out.columns.size()) out.columns[allowed].allowed = true;
  return out;
}

std::string advice(const std::string& column, std::string_view field, const csv_missing& missing = missing_with({})) {
  return advice_on_field(columns(), *columns().index_of(column), field, missing, {});
}

TEST(csv_advice, a_text_may_stand_for_a_missing_value) {
  const auto said = [](const std::string& text, const std::string& way) {
    return "if it stands for a missing value, say null_values: [" + text + "], and " + way;
  };
  const std::string amount = "default: {amount: 0} or missing: {amount: amount_missing}, which adds a bool column";
  for (const std::string text : {"", "NA", "N/A", "n/a", "null", "NULL", "None", "-", "--", "nan", "?", " NA "})
    EXPECT_EQ(advice("amount", text), said("\"" + text + "\"", amount)) << text;
  EXPECT_EQ(advice("amount", "\\N"), said("\"\\\\N\"", amount));
  EXPECT_EQ(advice("day", "NA"),
            said("\"NA\"", "default: {day: 1970-01-01} or missing: {day: day_missing}, which adds a bool column"));
  EXPECT_EQ(advice("ok", ""),
            said("\"\"", "default: {ok: false} or missing: {ok: ok_missing}, which adds a bool column"));
  EXPECT_EQ(advice("code", "-"), said("\"-\"", "missing: {code: code_missing}, which adds a bool column"));
  for (const std::string text :
       {"x", "12a", "1,5", "NAN1", "nothing at all, but a text that goes on and on and on and on and on"})
    EXPECT_EQ(advice("amount", text), "") << text;
}

TEST(csv_advice, texts_that_are_missing_values_already_are_kept) {
  EXPECT_EQ(advice("amount", "NA", missing_with({"", "-"}, 0)),
            "if it stands for a missing value, say null_values: [\"\", \"-\", \"NA\"]");
  EXPECT_EQ(advice("amount", "", missing_with({"", "-"})),
            "give it one of them: default: {amount: 0} or missing: {amount: amount_missing}, which adds a bool column");
}

TEST(csv_advice, a_time_may_have_a_form_of_its_own) {
  EXPECT_EQ(advice("day", "03.02.2026"), "for this form of times say format: {day: \"%d.%m.%Y\"}");
  EXPECT_EQ(advice("day", "23/02/2026"), "for this form of times say format: {day: \"%d/%m/%Y\"}");
  EXPECT_EQ(advice("day", "03/02/2026"),
            "for this form of times say format: {day: \"%m/%d/%Y\"}, or \"%d/%m/%Y\" where the day comes first");
  EXPECT_EQ(advice("at", "03.02.2026 22:15"), "for this form of times say format: {at: \"%d.%m.%Y %H:%M\"}");
  EXPECT_EQ(advice("at", "10/Oct/2000:13:55:36 -0700"),
            "for this form of times say format: {at: \"%d/%b/%Y:%H:%M:%S %z\"}");
  EXPECT_EQ(advice("day", "2026-02-30"), "");
  EXPECT_EQ(advice("amount", "03.02.2026"), "");
}

TEST(csv_advice, a_first_line_may_be_a_header) {
  const record::column& amount = columns()[0];
  EXPECT_EQ(advice_on_name(amount, "amount"),
            "if this line is a header, say header: true, or columns: header to go by its names");
  EXPECT_EQ(advice_on_name(amount, "Amount"),
            "if this line is a header, say columns: header, with names: {amount: \"Amount\"}");
  for (const std::string text : {"", "amoun", "amount ", "day", "1"})
    EXPECT_EQ(advice_on_name(amount, text), "") << text;
}

// The parser says which column and which field; of other faults it says neither.
TEST(csv_advice, is_made_of_what_the_parser_says) {
  const record::row_type type({columns()[0], columns()[1]});
  record::batch_pool pool;
  std::vector<record::batch> rows;
  std::vector<std::pair<std::optional<size_t>, std::string>> said;
  const std::string_view text = "1,NA\nNA,1\n1\n\"1,2\n";
  csv_parser(type, {}).parse(text, 0, pool, 4096, rows, [&](const malformed_record& bad) {
    said.emplace_back(bad.wrong_column, bad.wrong_field);
    return true;
  });
  using pair = std::pair<std::optional<size_t>, std::string>;
  EXPECT_THAT(said, testing::ElementsAre(pair(1, "NA"), pair(0, "NA"), pair(std::nullopt, ""), pair(std::nullopt, "")));
}

}  // namespace
}  // namespace flowrun::operators
