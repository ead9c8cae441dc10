// Chains of filters and maps over batches: which rows come out, in which batches, and who owns the strings.
#include "engine/expr/row_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <thread>

#include "engine/expr/outside_function.h"
#include "tests/engine/expr/program_harness.h"

namespace flowrun::expr {
namespace {

using testing::cell;
using testing::row;

const record::row_type edge = testing::type_of({{"src", "u64"}, {"dst", "u64"}});
const record::row_type person =
    testing::type_of({{"id", "u32"}, {"name", "string"}, {"ok", "bool"}, {"key", "bytes[5]"}});

expression over(const row_program_builder& builder, const std::string& text) {
  scope names;
  names.row = &builder.current();
  names.row_number = true;
  return testing::compiled_ok(text, names);
}

void filter(row_program_builder& builder, const std::string& text) { builder.filter(over(builder, text)); }
void map(row_program_builder& builder, const std::vector<std::pair<std::string, std::string>>& columns) {
  std::vector<std::pair<std::string, expression>> compiled;
  for (const auto& [name, text] : columns) compiled.push_back({name, over(builder, text)});
  builder.map(compiled);
}

std::vector<row> edges(size_t n) {
  std::vector<row> rows;
  for (uint64_t i = 0; i < n; ++i) rows.push_back({i, i * i % 1000});
  return rows;
}

std::vector<row> people(size_t n) {
  std::vector<row> rows;
  for (uint64_t i = 0; i < n; ++i)
    rows.push_back({i, "  name" + std::to_string(i * 7919) + " ", i % 3 == 0 ? uint64_t{1} : uint64_t{0},
                    std::to_string(10000 + i)});
  return rows;
}

std::vector<record::batch> run(const row_program& program, const record::batch& in, uint64_t first = 0) {
  record::batch_pool pool;
  std::vector<record::batch> out;
  program.run(in, first, pool, out);
  return out;
}

TEST(row_program, filters_and_maps_as_one) {
  row_program_builder builder(edge);
  filter(builder, "src % 3 != 0");
  map(builder, {{"sum", "src + dst"}, {"half", "u16(src / 2)"}, {"src", "src"}});
  filter(builder, "sum % 2 == 0 and half < 2000");
  map(builder, {{"twice", "sum * 2"}, {"sum", "sum"}, {"line", "row_number"}, {"src", "src"}});
  const row_program program = builder.build();
  EXPECT_EQ(to_string(program.output()), "{twice: u64, sum: u64, line: u64, src: u64}");
  EXPECT_FALSE(program.keeps_all_rows());
  const auto rows = edges(5000);
  std::vector<row> expected;
  for (uint64_t i = 0; i < 5000; ++i) {
    const uint64_t sum = i + i * i % 1000;
    if (i % 3 != 0 && sum % 2 == 0 && i / 2 < 2000) expected.push_back({2 * sum, sum, i + 77, i});
  }
  ASSERT_GT(expected.size(), 500u);
  EXPECT_EQ(testing::unpack(program.output(), run(program, testing::pack(edge, rows), 77)), expected);
}

TEST(row_program, an_all_pass_filter_hands_on_the_batch) {
  row_program_builder builder(edge);
  filter(builder, "dst < 1000");
  const row_program program = builder.build();
  record::batch in = testing::pack(edge, edges(3000));
  in.first_row = 12;
  const auto out = run(program, in);
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].rows, in.rows);
  EXPECT_EQ(out[0].num_rows, 3000u);
  EXPECT_EQ(out[0].first_row, 12u);
}

TEST(row_program, a_filter_that_drops_late_keeps_what_came_before) {
  for (uint64_t dropped : {uint64_t{0}, uint64_t{1023}, uint64_t{1024}, uint64_t{2999}}) {
    row_program_builder builder(edge);
    filter(builder, "src != " + std::to_string(dropped));
    const row_program program = builder.build();
    const auto rows = edges(3000);
    auto expected = rows;
    expected.erase(expected.begin() + static_cast<long>(dropped));
    EXPECT_EQ(testing::unpack(edge, run(program, testing::pack(edge, rows))), expected) << dropped;
  }
}

TEST(row_program, a_filter_that_drops_everything_gives_no_batch) {
  row_program_builder builder(edge);
  filter(builder, "src > 5000");
  map(builder, {{"x", "src"}});
  const row_program program = builder.build();
  EXPECT_TRUE(run(program, testing::pack(edge, edges(3000))).empty());
  EXPECT_TRUE(run(program, testing::pack(edge, {})).empty());
}

TEST(row_program, an_identity_hands_on_the_batch_and_constants_fill_columns) {
  row_program_builder same(edge);
  map(same, {{"from", "src"}, {"to", "dst"}});
  const row_program renamed = same.build();
  const record::batch in = testing::pack(edge, edges(10));
  EXPECT_EQ(run(renamed, in).at(0).rows, in.rows);
  EXPECT_TRUE(renamed.keeps_all_rows());

  row_program_builder constants(edge);
  map(constants, {{"five", "u8(5)"}, {"text", "'abc'"}, {"yes", "true"}, {"half", "0.5"}});
  filter(constants, "five == 5");
  const row_program program = constants.build();
  const auto out = testing::unpack(program.output(), run(program, in));
  ASSERT_EQ(out.size(), 10u);
  EXPECT_EQ(out[9], (row{uint64_t{5}, std::string("abc"), uint64_t{1}, 0.5}));
}

TEST(row_program, passed_on_strings_share_the_heap) {
  row_program_builder builder(person);
  filter(builder, "ok");
  map(builder, {{"name", "trim(name)"}, {"part", "name[2:6]"}, {"id", "id"}, {"all", "name"}});
  const row_program program = builder.build();
  const auto rows = people(2500);
  const record::batch in = testing::pack(person, rows);
  const auto out = run(program, in);
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].heap, in.heap);
  const auto values = testing::unpack(program.output(), out);
  ASSERT_EQ(values.size(), 834u);
  EXPECT_EQ(values[1], (row{std::string("name23757"), std::string("name"), uint64_t{3}, std::string("  name23757 ")}));
}

TEST(row_program, fields_are_cut_out_of_the_heap) {
  const record::row_type line = testing::type_of({{"text", "string"}});
  std::vector<row> rows;
  for (int i = 0; i < 3000; ++i)
    rows.push_back({std::string(i % 3, ',') + std::to_string(i) + ",b" + std::to_string(i)});
  row_program_builder builder(line);
  map(builder, {{"second", "fields(text, '2,2', ',')"}, {"rest", "fields(text, '2.2b', ',')"}, {"text", "text"}});
  const row_program program = builder.build();
  const record::batch in = testing::pack(line, rows);
  const auto out = run(program, in);
  ASSERT_FALSE(out.empty());
  for (const record::batch& b : out) EXPECT_EQ(b.heap, in.heap);
  const auto values = testing::unpack(program.output(), out);
  ASSERT_EQ(values.size(), rows.size());
  EXPECT_EQ(values[3], (row{std::string("b3"), std::string("3"), std::string("3,b3")}));
  EXPECT_EQ(values[1000], (row{std::string("1000"), std::string("000,b1000"), std::string(",1000,b1000")}));
  EXPECT_EQ(values[2], (row{std::string(), std::string("2,b2"), std::string(",,2,b2")}));
}

TEST(row_program, computed_strings_get_a_heap_of_their_own) {
  row_program_builder builder(person);
  filter(builder, "not ok");
  map(builder, {{"label", "concat(key, ':', upper(name[2:]), id)"}, {"name", "name"}, {"key", "key[1:3]"}});
  const row_program program = builder.build();
  std::vector<record::batch> out;
  {
    const auto rows = people(2500);
    const record::batch in = testing::pack(person, rows);
    out = run(program, in);
    for (const record::batch& b : out) EXPECT_NE(b.heap, in.heap);
  }  // the input is gone: nothing may point into it
  const auto values = testing::unpack(program.output(), out);
  ASSERT_EQ(values.size(), 1666u);
  EXPECT_EQ(values[0], (row{std::string("10001:NAME7919 1"), std::string("  name7919 "), std::string("00")}));
}

TEST(row_program, long_strings_are_cut_into_several_batches) {
  const record::row_type type = testing::type_of({{"n", "u64"}, {"text", "string"}});
  std::vector<row> rows;
  for (uint64_t i = 0; i < 3000; ++i) rows.push_back({i, std::string(1000 + i % 50, static_cast<char>('a' + i % 26))});
  row_program_builder builder(type);
  map(builder, {{"n", "n"}, {"text", "concat(text, text)"}});
  const row_program program = builder.build();
  record::batch in = testing::pack(type, rows);
  in.first_row = 5;
  const auto out = run(program, in);
  EXPECT_GT(out.size(), 1u);
  uint64_t first = 5;
  for (const record::batch& b : out) {
    EXPECT_EQ(b.first_row, first);
    first += b.num_rows;
  }
  const auto values = testing::unpack(program.output(), out);
  ASSERT_EQ(values.size(), rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto& text = std::get<std::string>(rows[i][1]);
    ASSERT_EQ(values[i], (row{rows[i][0], text + text}));
  }
}

TEST(row_program, rows_survive_every_type) {
  const record::row_type all = testing::type_of({{"a", "bool"},
                                                 {"b", "u8"},
                                                 {"c", "u16"},
                                                 {"d", "u24"},
                                                 {"e", "u32"},
                                                 {"f", "u40"},
                                                 {"g", "u48"},
                                                 {"h", "u64"},
                                                 {"i", "i8"},
                                                 {"j", "i16"},
                                                 {"k", "i32"},
                                                 {"l", "i64"},
                                                 {"m", "f32"},
                                                 {"n", "f64"},
                                                 {"o", "bytes[3]"},
                                                 {"p", "string"}});
  std::mt19937_64 random(3);
  std::vector<row> rows;
  for (int r = 0; r < 1500; ++r) {
    row values(all.num_columns());
    for (size_t c = 0; c < all.num_columns(); ++c) {
      const uint64_t bits = random();
      const record::value_type t = all[c].type;
      if (t.is_boolean())
        values[c].emplace<uint64_t>(bits & 1);
      else if (t.is_unsigned())
        values[c].emplace<uint64_t>(bits >> (64 - 8 * t.num_bytes));
      else if (t.is_signed())
        values[c].emplace<int64_t>(static_cast<int64_t>(bits) >> (64 - 8 * t.num_bytes));
      else if (t.is_float())
        values[c].emplace<double>(static_cast<float>(static_cast<int64_t>(bits)));
      else
        values[c].emplace<std::string>(t.is_bytes() ? 3 : bits % 20, static_cast<char>(bits));
    }
    rows.push_back(std::move(values));
  }
  // Passed on in another order, and computed from the lanes (x | 0 keeps the value).
  row_program_builder builder(all);
  std::vector<std::pair<std::string, std::string>> columns;
  for (size_t c = all.num_columns(); c-- > 0;) {
    const std::string name = all[c].name;
    columns.push_back({name, name});
    if (all[c].type.is_integer()) columns.push_back({name + "2", to_string(all[c].type) + "(" + name + " | 0)"});
    if (all[c].type.is_float()) columns.push_back({name + "2", to_string(all[c].type) + "(" + name + " * 1)"});
    if (all[c].type.is_boolean()) columns.push_back({name + "2", "not not " + name});
    if (all[c].type.is_string()) columns.push_back({name + "2", "concat(" + name + ")"});
  }
  map(builder, columns);
  const row_program program = builder.build();
  const auto out = testing::unpack(program.output(), run(program, testing::pack(all, rows)));
  ASSERT_EQ(out.size(), rows.size());
  for (size_t r = 0; r < rows.size(); ++r)
    for (size_t c = 0; c < program.output().num_columns(); ++c) {
      const size_t source = *all.index_of(program.output()[c].name.substr(0, 1));
      ASSERT_TRUE(testing::same(out[r][c], rows[r][source]))
          << program.output()[c].name << ' ' << testing::show(out[r][c]);
    }
}

TEST(row_program, generates_rows_from_nothing) {
  scope names;
  names.row_number = true;
  names.index_name = "i";
  row_program_builder builder{record::row_type()};
  builder.map({{"n", testing::compiled_ok("i * 2", names)}, {"r", testing::compiled_ok("rand(7, i)", names)}});
  const row_program program = builder.build();
  record::batch_pool pool;
  std::vector<record::batch> whole, parts;
  program.generate(100, 5000, pool, whole);
  for (uint64_t at = 100; at < 5100; at += 700) program.generate(at, std::min<uint64_t>(700, 5100 - at), pool, parts);
  const auto rows = testing::unpack(program.output(), whole);
  ASSERT_EQ(rows.size(), 5000u);
  EXPECT_EQ(rows[4999][0], cell(uint64_t{2 * 5099}));
  EXPECT_NE(rows[0][1], rows[1][1]);
  EXPECT_EQ(rows, testing::unpack(program.output(), parts));
}

TEST(row_program, neighbours_are_columns_of_the_input) {
  scope names;
  names.row = &edge;
  names.before = names.after = 1;
  const expression gap = testing::compiled_ok("row[1].src - row[-1].src + dst", names);
  const record::row_type wide = testing::type_of({{"src", "u64"},
                                                  {"dst", "u64"},
                                                  {neighbour_column_name("src", -1), "u64"},
                                                  {neighbour_column_name("src", 1), "u64"}});
  row_program_builder builder(wide);
  builder.map({{"gap", gap}});
  const row_program program = builder.build();
  const record::batch in = testing::pack(wide, {{uint64_t{5}, uint64_t{100}, uint64_t{3}, uint64_t{9}}});
  EXPECT_EQ(testing::unpack(program.output(), run(program, in)), (std::vector<row>{{uint64_t{106}}}));
}

TEST(row_program, a_filter_in_the_middle_of_common_subexpressions) {
  // The same hash is used before, in and behind the filter: it must be compacted with the rows.
  row_program_builder builder(edge);
  map(builder, {{"h", "hash64(1, src, dst)"}, {"src", "src"}, {"name", "string(src)"}});
  filter(builder, "h % 4 == 0 and length(name) > 2");
  map(builder, {{"h", "h"}, {"again", "h + 1"}, {"src", "src"}, {"name", "name"}});
  filter(builder, "again % 8 == 1");
  const row_program program = builder.build();
  const auto out = testing::unpack(program.output(), run(program, testing::pack(edge, edges(4000))));
  row_program_builder plain(edge);
  map(plain, {{"h", "hash64(1, src, dst)"}});
  const row_program hashes = plain.build();
  const auto all = testing::unpack(hashes.output(), run(hashes, testing::pack(edge, edges(4000))));
  std::vector<row> expected;
  for (uint64_t i = 100; i < 4000; ++i) {
    const uint64_t h = std::get<uint64_t>(all[i][0]);
    if (h % 8 == 0) expected.push_back({h, h + 1, i, std::to_string(i)});
  }
  ASSERT_GT(expected.size(), 300u);
  EXPECT_EQ(out, expected);
}

TEST(row_program, buffers_go_back_to_the_pool) {
  row_program_builder builder(person);
  filter(builder, "id % 2 == 0");
  map(builder, {{"x", "concat(name, id)"}, {"y", "id * 2"}});
  const row_program program = builder.build();
  const record::batch in = testing::pack(person, people(2000));
  record::batch_pool pool;
  uint64_t after_first = 0;
  for (int round = 0; round < 20; ++round) {
    std::vector<record::batch> out;
    program.run(in, 0, pool, out);
    if (round == 0) after_first = pool.peak_bytes();
  }
  EXPECT_LE(pool.peak_bytes(), after_first);
}

// Column k of row i.
uint64_t wide_value(uint64_t i, uint64_t k) { return k % 3 == 0 ? k : i * k + 5; }

row_program wide_program(size_t num_columns) {
  row_program_builder builder{record::row_type()};
  std::vector<std::pair<std::string, std::string>> columns;
  for (size_t k = 0; k < num_columns; ++k) {
    const std::string number = std::to_string(k);
    columns.emplace_back("c" + number, k % 3 == 0 ? number : "row_number * " + number + " + 5");
  }
  map(builder, columns);
  return builder.build();
}

TEST(row_program, many_columns_take_little_memory) {
  // 128 columns fill a frame of 1 MiB with 1,024 rows; 10,000 fill more with the least that a chunk may have.
  for (size_t num_columns : {size_t{128}, size_t{129}, size_t{300}, size_t{3000}, size_t{10000}}) {
    const row_program program = wide_program(num_columns);
    const size_t num_rows = num_columns > 1000 ? 100 : 1500;
    record::batch_pool pool;
    std::vector<record::batch> out;
    program.generate(7, num_rows, pool, out);
    uint64_t i = 7, largest = 0;
    for (const record::batch& b : out) {
      EXPECT_EQ(b.first_row, i);
      largest = std::max<uint64_t>(largest, b.num_bytes());
      for (size_t r = 0; r < b.num_rows; ++r, ++i)
        for (size_t k = 0; k < num_columns; ++k) {
          uint64_t value;
          std::memcpy(&value, b.row(r) + 8 * k, sizeof value);
          ASSERT_EQ(value, wide_value(i, k)) << num_columns << " columns, row " << i << ", column " << k;
        }
    }
    EXPECT_EQ(i, num_rows + 7);
    EXPECT_LE(largest, std::max<uint64_t>(uint64_t{1} << 20, 16 * 8 * num_columns));
    // What a call for a few rows takes, and no more with every call.
    const row_program again = wide_program(num_columns);
    record::batch_pool small;
    out.clear();
    again.generate(0, 4, small, out);
    const uint64_t peak = small.peak_bytes();
    EXPECT_LE(peak, 3 * std::max<uint64_t>(uint64_t{1} << 20, 16 * 8 * num_columns));
    for (int round = 0; round < 5; ++round) {
      out.clear();
      again.generate(0, 4, small, out);
    }
    EXPECT_EQ(small.peak_bytes(), peak);
  }
}

TEST(row_program, wide_rows_pass_filters_and_neighbouring_columns) {
  const std::vector<std::pair<std::string, std::string>> columns = {
      {"id", "u64"}, {"blob", "bytes[60000]"}, {"name", "string"}};
  const record::row_type type = testing::type_of(columns);
  std::vector<row> rows, expected;
  for (uint64_t i = 0; i < 70; ++i) {
    rows.push_back({i, std::string(60000, static_cast<char>('a' + i % 26)), "n" + std::to_string(i)});
    if (i % 5 != 2) expected.push_back({rows[i][1], i + 1, rows[i][2]});
  }
  row_program_builder builder(type);
  filter(builder, "id % 5 != 2");
  map(builder, {{"blob", "blob"}, {"next", "id + 1"}, {"name", "name"}});
  const row_program program = builder.build();
  const auto out = run(program, testing::pack(type, rows));
  EXPECT_EQ(testing::unpack(program.output(), out), expected);
  for (const record::batch& b : out) EXPECT_LE(b.num_rows, 17u);
}

TEST(row_program, serves_many_threads_and_pools) {
  row_program_builder builder(person);
  filter(builder, "id % 3 != 1");
  map(builder, {{"x", "concat(name, id * 7)"}, {"y", "if(ok, 12, id)"}, {"key", "if(ok, key, 'never')"}});
  const row_program program = builder.build();
  const record::batch in = testing::pack(person, people(2500));
  const auto expected = testing::unpack(program.output(), run(program, in));
  std::vector<std::vector<row>> results(4);
  std::vector<std::thread> threads;
  for (std::vector<row>& result : results)
    threads.emplace_back([&] {
      for (size_t round = 0; round < 5; ++round) {
        record::batch_pool pool;
        std::vector<record::batch> out;
        for (size_t first = 0; first < in.num_rows; first += 100) program.run(in.slice(first, 100), first, pool, out);
        result = testing::unpack(program.output(), out);
      }
    });
  for (std::thread& t : threads) t.join();
  for (const std::vector<row>& result : results) EXPECT_EQ(result, expected);
}

// What a program says of rows first … first + n - 1, of the type {src, dst}; empty when nothing fails.
std::string failure_of(const row_program& program, const std::vector<row>& rows, uint64_t first = 0,
                       const run_limits& limits = {}) {
  record::batch_pool pool;
  std::vector<record::batch> out;
  try {
    const record::batch in = testing::pack(edge, rows);
    for (size_t done = 0; done < in.num_rows;)
      done += program.run(in.slice(done, in.num_rows - done), first + done, pool, out, limits);
  } catch (const call_failed& cause) {
    return cause.what();
  }
  return {};
}

constexpr const char* too_large = "a decimal becomes too large: ";

TEST(row_program, says_for_which_row_a_function_fails) {
  row_program_builder builder(edge);
  filter(builder, "src % 2 == 1");
  map(builder, {{"a", "src"}, {"b", "to_decimal(dst, 2)"}, {"at", "row_number"}});
  map(builder, {{"c", "b * 2"}, {"d", "a + at"}, {"e", "b * if(a > 2000, a, 1)"}});
  const row_program program = builder.build();
  std::vector<row> rows = edges(5000);
  EXPECT_EQ(failure_of(program, rows), "");
  rows[4444][1] = uint64_t{90'000'000'000'000'000};  // dropped
  EXPECT_EQ(failure_of(program, rows), "");
  for (const size_t bad : {size_t{4001}, size_t{3001}, size_t{4999}})
    rows[bad][1] = uint64_t{90'000'000'000'000'000 - bad};
  for (const uint64_t most_bytes : {run_limits::none, uint64_t{500}})
    EXPECT_EQ(failure_of(program, rows, 0, {most_bytes, run_limits::none}),
              std::string("'b * 2' fails for the row {b: 89999999999996999.00}: ") + too_large +
                  "8999999999999699900 * 2, in units of the last digit, does not fit in 64 bits");
  rows[3001][1] = uint64_t{9'000'000'000'000'000};
  EXPECT_THAT(failure_of(program, rows),
              ::testing::StartsWith("'b * if(a > 2000, a, 1)' fails for the row {a: 3001, b: 9000000000000000.00}: "));
}

TEST(row_program, says_of_failures_what_their_expression_reads) {
  const auto failing = [](const std::string& text, uint64_t first) {
    row_program_builder builder(edge);
    map(builder, {{"value", text}});
    return failure_of(builder.build(), {{uint64_t{1}, uint64_t{2}}, {uint64_t{3}, uint64_t{4}}}, first);
  };
  EXPECT_THAT(failing("to_decimal(row_number, 18)", 9), ::testing::StartsWith("'to_decimal(row_number, 18)' fails for "
                                                                              "the row {row_number: 10}: "));
  EXPECT_THAT(failing("to_decimal(dst * (row_number % 2 * 3), 18)", 0),
              ::testing::HasSubstr("' fails for the row {dst: 4, row_number: 1}: "));
  const std::string sum = "0" + [] {
    std::string terms;
    for (int i = 0; i < 100; ++i) terms += " +\n    dst";
    return terms;
  }();
  EXPECT_THAT(failing("to_decimal(" + sum + ", 17)", 0), ::testing::StartsWith("'to_decimal(0 + dst + dst + dst + "));
  EXPECT_THAT(failing("to_decimal(" + sum + ", 17)", 0), ::testing::HasSubstr("…' fails for the row {dst: 2}: "));
}

TEST(row_program, says_of_failures_whose_step_it_is) {
  const auto failing = [](const std::string& first, const std::string& second) {
    row_program_builder builder(edge);
    builder.add({.columns = {{"dst", over(builder, first)}}, .node = "one"});
    builder.add({.columns = {{"value", over(builder, second)}}, .node = "two"});
    return failure_of(builder.build(), {{uint64_t{1}, uint64_t{20}}});
  };
  EXPECT_THAT(failing("to_decimal(dst, 18)", "dst"),
              ::testing::StartsWith("node 'one': 'to_decimal(dst, 18)' fails for the row {dst: 20}: "));
  EXPECT_THAT(failing("dst + 1", "to_decimal(dst, 18)"),
              ::testing::StartsWith("node 'two': 'to_decimal(dst, 18)' fails for the row {dst: 21}: "));
}

TEST(row_program, says_of_generated_rows_which_one_fails) {
  row_program_builder builder{record::row_type(std::vector<record::column>{})};
  map(builder, {{"a", "row_number * 2"}});
  map(builder, {{"b", "to_decimal(a, 14)"}});
  const row_program program = builder.build();
  record::batch_pool pool;
  std::vector<record::batch> out;
  std::string said;
  try {
    program.generate(1000, 100'000, pool, out);
  } catch (const call_failed& cause) {
    said = cause.what();
  }
  // 2^63 / 10^14 is 92,233.7.
  EXPECT_THAT(said, ::testing::StartsWith("'to_decimal(a, 14)' fails for the row {a: 92234}: "));
}

}  // namespace
}  // namespace flowrun::expr
