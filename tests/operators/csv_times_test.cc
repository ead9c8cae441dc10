// Dates and timestamps in a form of their own: what is read, and what a refusal says.
#include "operators/parts/text/csv_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operators/parts/text/csv_parser.h"

namespace flowrun::operators {
namespace {

csv_times::form form_of(const std::string& pattern) {
  return {pattern, std::get<calendar::time_format>(calendar::time_format::of(pattern))};
}

struct result {
  std::vector<std::pair<int32_t, int64_t>> rows;
  std::vector<std::string> reasons;
  std::vector<uint64_t> columns;
};

result read(std::string_view text, csv_missing missing = {}) {
  const record::row_type type({{"day", record::value_type::of(record::type_kind::date)},
                               {"at", record::value_type::of(record::type_kind::timestamp)}});
  csv_times times;
  times.columns = {form_of("%d.%m.%Y"), form_of("%s")};
  record::batch_pool pool;
  std::vector<record::batch> batches;
  result out;
  csv_parser(type, {}, std::move(missing), std::move(times))
      .parse(text, 0, pool, 4096, batches, [&](const malformed_record& bad) {
        out.reasons.push_back(bad.reason);
        out.columns.push_back(bad.column);
        return true;
      });
  for (const record::batch& b : batches)
    for (size_t i = 0; i < b.num_rows; ++i) {
      auto& [day, at] = out.rows.emplace_back();
      std::memcpy(&day, b.row(i), sizeof day);
      std::memcpy(&at, b.row(i) + sizeof day, sizeof at);
    }
  return out;
}

TEST(csv_times, columns_are_read_in_their_form) {
  const result r = read("1.1.1970,1\n02.01.1970,-1\r\n\"31.12.1969\",0");
  EXPECT_THAT(r.reasons, testing::IsEmpty());
  EXPECT_THAT(r.rows, testing::ElementsAre(std::pair(0, 1'000'000), std::pair(1, -1'000'000), std::pair(-1, 0)));
}

TEST(csv_times, what_is_not_in_the_form_is_refused) {
  const result r = read("1970-01-01,1\n1.1.1970,\n31.2.1970,1\n1.1.1970,7\n");
  EXPECT_THAT(r.rows, testing::ElementsAre(std::pair(0, 7'000'000)));
  EXPECT_THAT(r.reasons, testing::ElementsAre("expected date in the form \"%d.%m.%Y\", got \"1970-01-01\"",
                                              "expected timestamp in the form \"%s\", got an empty field",
                                              "expected date in the form \"%d.%m.%Y\", got \"31.2.1970\""));
  EXPECT_THAT(r.columns, testing::ElementsAre(1, 10, 1));
}

TEST(csv_times, a_missing_value_needs_no_form) {
  csv_missing missing;
  missing.texts = {"NA"};
  missing.columns = {{true, {}}, {false, {}}};
  missing.values.resize(12);
  const result r = read("NA,5\n", std::move(missing));
  EXPECT_THAT(r.rows, testing::ElementsAre(std::pair(0, 5'000'000)));
}

}  // namespace
}  // namespace flowrun::operators
