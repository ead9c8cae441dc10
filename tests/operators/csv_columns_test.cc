// Columns by header: the layout that a header gives, and records that are read with it beside the same records with all
// fields as strings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "operators/parts/text/csv_header.h"
#include "operators/parts/text/csv_layout.h"
#include "operators/parts/text/csv_parser.h"
#include "operators/parts/text/text_cutter.h"
#include "tests/support/error_of.h"

namespace flowrun::operators {
namespace {

using record::row_type;
using fields = std::vector<std::string>;

row_type strings(size_t num_columns) {
  std::vector<record::column> columns(num_columns);
  for (size_t i = 0; i < num_columns; ++i)
    columns[i] = {"c" + std::to_string(i), record::value_type::of(record::type_kind::string)};
  return row_type(std::move(columns));
}

struct parsed {
  std::vector<fields> rows;
  std::vector<fields> bad;  // text, place, reason
};

parsed parse(const row_type& type, const csv_format& format, const std::string& text, const csv_layout* layout) {
  record::batch_pool pool;
  std::vector<record::batch> batches;
  parsed out;
  csv_parser(type, format)
      .parse(
          text, 0, pool, 1 << 12, batches,
          [&](const malformed_record& bad) {
            out.bad.push_back({std::string(bad.text), fmt::format("{}:{}", bad.line, bad.column), bad.reason});
            return true;
          },
          ~uint64_t{0}, layout);
  for (const record::batch& b : batches)
    for (size_t r = 0; r < b.num_rows; ++r) {
      fields row;
      for (const record::column& c : type.columns()) row.emplace_back(record::load_string(b.row(r) + c.offset, b.heap));
      out.rows.push_back(std::move(row));
    }
  return out;
}

// Fields of any length, so that blocks of 64 bytes end anywhere in them; some of them malformed.
std::string random_text(std::mt19937_64& random, size_t num_fields, bool quotes) {
  std::string text;
  for (size_t i = random() % 12; i > 0; --i) {
    const size_t fields = random() % 8 == 0 ? random() % (2 * num_fields + 1) : num_fields;
    for (size_t f = 0; f < fields; ++f) {
      if (f > 0) text += ';';
      const size_t length = random() % 5 == 0 ? random() % 150 : random() % 6;
      const bool quoted = quotes && random() % 6 == 0;
      if (quoted) text += '"';
      for (size_t c = 0; c < length; ++c) text += quoted ? "ab;\n\r "[random() % 6] : "abcd\r\""[random() % 6];
      if (quoted && random() % 3 == 0) text += "\"\"";
      if (quoted && random() % 60 != 0) text += '"';
      if (quoted && random() % 60 == 0) text += 'x';
    }
    if (i > 1 || random() % 2 == 0) text += random() % 2 == 0 ? "\n" : "\r\n";
  }
  return text;
}

TEST(csv_columns, are_those_of_whole_records) {
  std::mt19937_64 random(11);
  size_t num_rows = 0, num_bad = 0;
  for (int round = 0; round < 20000; ++round) {
    const size_t num_fields = 1 + random() % (random() % 4 == 0 ? 90 : 6);
    const csv_format format{';', random() % 4 == 0 ? std::nullopt : std::optional('"')};
    const std::string text = random_text(random, num_fields, format.quote.has_value());
    std::vector<size_t> order(num_fields);
    std::iota(order.begin(), order.end(), size_t{0});
    std::shuffle(order.begin(), order.end(), random);
    order.resize(1 + random() % std::min<size_t>(num_fields, 5));  // column i is field order[i]
    csv_layout layout;
    layout.num_fields = num_fields;
    for (size_t i = 0; i < order.size(); ++i) layout.taken.push_back({order[i], i});
    std::sort(layout.taken.begin(), layout.taken.end(), [](const auto& a, const auto& b) { return a.field < b.field; });
    const parsed whole = parse(strings(num_fields), format, text, nullptr);
    const parsed some = parse(strings(order.size()), format, text, &layout);
    std::vector<fields> expected;
    for (const fields& row : whole.rows) {
      fields chosen;
      for (const size_t field : order) chosen.push_back(row[field]);
      expected.push_back(std::move(chosen));
    }
    ASSERT_EQ(some.rows, expected) << ::testing::PrintToString(text);
    ASSERT_EQ(some.bad, whole.bad) << ::testing::PrintToString(text);
    num_rows += whole.rows.size();
    num_bad += whole.bad.size();
  }
  EXPECT_GT(num_rows, 10000U);
  EXPECT_GT(num_bad, 10000U);
}

csv_layout layout(std::string_view header, const std::vector<std::string>& wanted) {
  return layout_by_header("in.csv", header, wanted, csv_format{});
}

TEST(csv_columns, a_header_says_which_field_is_which) {
  const csv_layout found = layout("id,\"Amount (EUR)\",note, name\r\n", {" name", "id", "Amount (EUR)"});
  EXPECT_EQ(found.num_fields, 4U);
  EXPECT_EQ(found.taken, (std::vector<csv_layout::taken_field>{{0, 1}, {1, 2}, {3, 0}}));
  EXPECT_TRUE(layout("a,b", {"a", "b"}).is_in_order());
  EXPECT_FALSE(layout("a,b,", {"a", "b"}).is_in_order());
  EXPECT_FALSE(layout("b,a", {"a", "b"}).is_in_order());
  EXPECT_EQ(layout(",x,x\n", {""}).num_fields, 3U);
}

TEST(csv_columns, a_header_that_lacks_a_column_is_named_with_what_it_has) {
  const auto said = [](std::string_view header, const std::vector<std::string>& wanted) {
    const error problem = error_of([&] { layout(header, wanted); });
    EXPECT_EQ(problem.kind(), error_kind::bad_data);
    return std::string(problem.what()) + " | " + problem.hint().substr(0, problem.hint().find("? ") + 1);
  };
  EXPECT_EQ(said("id,amount\n", {"id", "amuont"}),
            "in.csv:1: the header has no column \"amuont\"; it has id, amount | did you mean \"amount\"?");
  EXPECT_EQ(said("ID,unit price \n", {"unit_price", "id"}),
            "in.csv:1: the header has no columns \"unit_price\", \"id\"; it has ID, \"unit price \" | did you mean "
            "\"unit price "
            "\", \"ID\"?");
  EXPECT_EQ(said("id,Amount (EUR)\n", {"amount"}),
            "in.csv:1: the header has no column \"amount\"; it has id, Amount (EUR) | did you mean \"Amount (EUR)\"?");
  EXPECT_EQ(said("\n", {"zzz"}), "in.csv:1: the header has no column \"zzz\"; it has \"\" | ");
  EXPECT_EQ(said("a,b,a\n", {"b", "a"}), "in.csv:1: the header has the column \"a\" twice, as fields 1 and 3 | ");
  // What is no text, or has no lines, is told instead: names that it seems to have would lead astray.
  EXPECT_EQ(said("id,name\r1,x\r2,y\r", {"id", "name"}), "in.csv: its lines end with \\r alone | ");
  EXPECT_EQ(said("\xFF\xFEi\0d\0", {"id"}), "in.csv: this is UTF-16, and no text | ");
  EXPECT_EQ(said("PAR1\x15\x02", {"id"}), "in.csv: this is Parquet, and no text | ");
  const auto hint = [](std::string_view header, const std::vector<std::string>& wanted,
                       const std::vector<std::string>& columns = {}) {
    return error_of([&] { layout_by_header("in.csv", header, wanted, csv_format{}, columns); }).hint();
  };
  EXPECT_THAT(hint("Order ID,Customer No.,x\n", {"order_id", "customer_no", "x", "y"}),
              testing::StartsWith("did you mean \"Order ID\", \"Customer No.\"? Say `names: {order_id: \"Order ID\", "
                                  "customer_no: \"Customer No.\"}`; "));
  EXPECT_THAT(hint("Total (EUR),x\n", {"total (eur)"}, {"total"}),
              testing::StartsWith("did you mean \"Total (EUR)\"? Say `names: {total: \"Total (EUR)\"}`; "));
  EXPECT_THAT(hint("id,amount\n", {"id", "amounts"}), testing::StartsWith("did you mean \"amount\"?"));
  EXPECT_THAT(hint("amount,x\n", {"amount", "amounts"}), testing::StartsWith("`names:")) << "it is taken";
  EXPECT_THAT(hint("amount_x,id\n", {"id", "amount_y", "amount"}),
              testing::StartsWith("did you mean \"amount_x\"? Say `names: {amount_y: \"amount_x\"}`; "))
      << "a name stands for one column, the nearest";
  EXPECT_THAT(hint("id;amount;x\n", {"id", "amount"}), testing::StartsWith("say `delimiter: \";\"`, which parts"));
  EXPECT_THAT(hint("id\tamount\tx\n", {"id", "amount"}), testing::StartsWith("say `delimiter: \"\\t\"`, which parts"));
  EXPECT_THAT(error_of([] {
                check_csv_header("in.csv", "a;b\n",
                                 record::row_type({{"a", record::value_type::of(record::type_kind::u8)},
                                                   {"b", record::value_type::of(record::type_kind::u8)}}),
                                 csv_format{});
              }).hint(),
              testing::StartsWith("say `delimiter: \";\"`, which parts"));
  const auto by_position = [](std::string_view header) {
    return error_of([&] {
             check_csv_header("in.csv", header,
                              record::row_type({{"c", record::value_type::of(record::type_kind::u8)}}), csv_format{});
           })
        .hint();
  };
  EXPECT_THAT(by_position("a,b,c\n"), testing::StartsWith("say `columns: header`, which takes the columns"));
  EXPECT_THAT(by_position("a,b,d\n"), testing::StartsWith("give `type` the columns"));
  std::string wide = "c0";
  for (int i = 1; i < 300; ++i) wide += ",c" + std::to_string(i);
  EXPECT_THAT(said(wide, {"x"}), testing::HasSubstr("c14, c15, … | "));
}

TEST(csv_columns, a_source_that_begins_before_the_header_still_has_it) {
  for (const uint64_t begin : {0, 3}) {
    record::batch_pool pool;
    cutter_options options;
    options.format = csv_format{};
    options.skip_byte_order_mark = options.skip_header = true;
    std::string header;
    options.on_header = [&](size_t file, const std::string&, std::string_view record) {
      header = fmt::format("{} {}", file, record);
    };
    text_cutter cutter(options, pool);
    cutter.begin_within("in.csv", begin, 0, 7);
    std::vector<text_piece> pieces;
    const auto text = std::make_shared<const std::string>(begin == 0 ? "\xEF\xBB\xBFid\n1\n" : "id\n1\n");
    cutter.feed(text, *text, pieces);
    EXPECT_EQ(header, "7 id\n");
    ASSERT_EQ(pieces.size(), 1U);
    EXPECT_EQ(pieces[0].text, "1\n");
    EXPECT_EQ(pieces[0].offset, 6U);
    EXPECT_EQ(pieces[0].first_line, 1U);
  }
}

}  // namespace
}  // namespace flowrun::operators
