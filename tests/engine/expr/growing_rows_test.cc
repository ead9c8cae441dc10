// Programs whose rows become much longer: a run ends once it has made a batch, what it keeps meanwhile is small, and
// the runs together make what one run makes.
#include <gtest/gtest.h>

#include <random>

#include "engine/expr/row_program.h"
#include "engine/expr/state_program.h"
#include "engine/record/row_too_large.h"
#include "tests/engine/expr/program_harness.h"

namespace flowrun::expr {
namespace {

using testing::row;

constexpr uint64_t batch_bytes = 64 * 1024;
constexpr uint64_t program_bytes = 8 << 20;  // what a program may hold: registers, texts of a chunk, a batch or two
const record::row_type item = testing::type_of({{"id", "u64"}, {"name", "string"}});
const std::string long_text(50'000, 'x');
const std::string grown = "concat(name, '" + long_text + "')";

std::vector<row> items(uint64_t count) {
  std::vector<row> rows;
  for (uint64_t i = 0; i < count; ++i) rows.push_back({i, "n" + std::to_string(i * 7919 % 1000)});
  return rows;
}

std::vector<std::pair<std::string, expression>> compiled(
    const std::vector<std::pair<std::string, std::string>>& columns, const scope& names) {
  std::vector<std::pair<std::string, expression>> out;
  for (const auto& [name, text] : columns) out.emplace_back(name, testing::compiled_ok(text, names));
  return out;
}

row_program mapping(const std::vector<std::pair<std::string, std::string>>& columns, const std::string& where = {}) {
  row_program_builder builder(item);
  scope names{.row = &item, .row_number = true};
  if (!where.empty()) builder.filter(testing::compiled_ok(where, names));
  builder.map(compiled(columns, names));
  return builder.build();
}

// All of `in` in runs of at most so many bytes. `pass` gets the batches of each.
template <class Program, class Pass>
void run_in_pieces(Program& program, const record::batch& in, record::batch_pool& pool, const run_limits& limits,
                   Pass pass) {
  for (size_t done = 0; done < in.num_rows;) {
    std::vector<record::batch> out;
    const size_t taken = program.run(in.slice(done, in.num_rows - done), done, pool, out, limits);
    ASSERT_GT(taken, 0U);
    done += taken;
    uint64_t num_bytes = 0, longest = 0;
    for (const record::batch& b : out) {
      num_bytes += b.num_bytes();
      longest = std::max<uint64_t>(longest, b.num_bytes() / b.num_rows);
    }
    // A range of rows may end behind the limit, by a heap of a batch or a row.
    EXPECT_LE(num_bytes, std::max<uint64_t>(limits.num_bytes, 1 << 18) + (1 << 18) + 2 * longest);
    pass(std::move(out));
  }
}

template <class Program>
std::vector<row> rows_in_pieces(Program& program, const record::batch& in, uint64_t num_bytes) {
  record::batch_pool pool;
  std::vector<row> rows;
  run_in_pieces(program, in, pool, {.num_bytes = num_bytes}, [&](std::vector<record::batch> out) {
    for (row& r : testing::unpack(program.output(), out)) rows.push_back(std::move(r));
  });
  return rows;
}

TEST(growing_rows, a_program_ends_once_it_has_made_a_batch) {
  const std::vector<std::vector<std::pair<std::string, std::string>>> maps = {
      {{"id", "id"}, {"t", grown}},                                                 // made
      {{"id", "id"}, {"t", "if(id % 2 == 0, '" + long_text + "', name)"}},          // a constant
      {{"id", "id"}, {"t", "concat(" + grown + ", name)"}, {"n", "row_number"}},    // by several steps
      {{"a", "lower(" + grown + ")"}, {"b", "upper(" + grown + ")"}, {"c", "id"}},  // twice
  };
  for (const auto& columns : maps) {
    for (const std::string& where : std::vector<std::string>{"", "id % 3 != 1", "length(" + grown + ") % 2 == 0"}) {
      const row_program program = mapping(columns, where);
      const record::batch in = testing::pack(item, items(3000));
      record::batch_pool pool;
      uint64_t num_rows = 0;
      run_in_pieces(program, in, pool, {.num_bytes = batch_bytes}, [&](const std::vector<record::batch>& out) {
        for (const record::batch& b : out) num_rows += b.num_rows;
      });
      EXPECT_GT(num_rows, 1000U);
      EXPECT_LE(pool.peak_bytes(), program_bytes)
          << columns[0].second.substr(0, 20) << " where " << where.substr(0, 20);
    }
  }
}

TEST(growing_rows, pieces_are_the_whole) {
  const std::vector<std::pair<std::string, std::string>> columns = {
      {"id", "id"},
      {"t", "concat(name, string(id * id), if(id % 50 == 7, '" + long_text + "', 'y'))"},
      {"n", "row_number"}};
  for (const std::string where : {"", "id % 3 != 1", "length(concat(name, 'a')) == 4"}) {
    const row_program program = mapping(columns, where);
    const record::batch in = testing::pack(item, items(2000));
    record::batch_pool pool;
    std::vector<record::batch> whole;
    EXPECT_EQ(program.run(in, 0, pool, whole), 2000U);
    const std::vector<row> expected = testing::unpack(program.output(), whole);
    for (const uint64_t num_bytes : {uint64_t{1}, uint64_t{1000}, uint64_t{100'000}, uint64_t{1} << 30})
      EXPECT_EQ(rows_in_pieces(program, in, num_bytes), expected) << num_bytes;
  }
}

TEST(growing_rows, generated_rows_end_with_a_batch) {
  row_program_builder builder{record::row_type()};
  builder.map(compiled({{"i", "row_number"}, {"t", "concat(row_number, '" + long_text + "')"}}, {.row_number = true}));
  const row_program program = builder.build();
  record::batch_pool pool;
  uint64_t done = 0;
  while (done < 1000) {
    std::vector<record::batch> out;
    const size_t made = program.generate(done, 1000 - done, pool, out, {.num_bytes = batch_bytes});
    ASSERT_GT(made, 0U);
    const std::vector<row> rows = testing::unpack(program.output(), out);
    ASSERT_EQ(rows.size(), made);
    for (const row& r : rows) {
      EXPECT_EQ(r, (row{done, std::to_string(done) + long_text}));
      ++done;
    }
  }
  EXPECT_LE(pool.peak_bytes(), program_bytes);
}

struct scan_text {
  std::vector<std::pair<std::string, std::string>> state, set, emit;
  std::string when = {};
};

state_program scanning(const scan_text& text) {
  scope names{.row = &item, .row_number = true};
  std::vector<expression> initial;
  for (const auto& [name, value] : text.state) {
    initial.push_back(testing::compiled_ok(value, {}));
    names.state.push_back({name, initial.back().type()});
  }
  state_program_builder builder(item, names.state, initial);
  for (size_t k = 0; k < text.set.size(); ++k) builder.set(k, testing::compiled_ok(text.set[k].second, names));
  if (!text.when.empty()) builder.emit_when(testing::compiled_ok(text.when, names));
  builder.emit(compiled(text.emit, names));
  return builder.build();
}

const std::vector<scan_text> scans = {
    // The text doesn't depend on the state: it is computed behind it, for rows that the state has seen.
    {{{"n", "0"}}, {{"n", "n * 31 + id"}}, {{"n", "n"}, {"t", grown}}},
    {{{"n", "0"}}, {{"n", "n * 31 + id"}}, {{"n", "n"}, {"t", grown}}, "id % 3 != 1"},
    {{{"n", "0"}},
     {{"n", "n * 31 + id"}},
     {{"n", "n"}, {"t", "if(id % 2 == 0, '" + long_text + "', name)"}},
     "n % 2 == 0"},
    // The state is the text.
    {{{"t", "''"}}, {{"t", "concat(name, '" + long_text + "')"}}, {{"id", "id"}, {"t", "t"}}},
    {{{"t", "''"}, {"n", "0"}}, {{"t", "concat(t[0:40000], name)"}, {"n", "n + length(t)"}}, {{"n", "n"}, {"t", "t"}}},
    // In front of it.
    {{{"n", "0"}}, {{"n", "n + length(" + grown + ")"}}, {{"n", "n"}}},
};

TEST(growing_rows, a_state_is_that_of_the_rows_taken) {
  for (size_t s = 0; s < scans.size(); ++s) {
    const record::batch in = testing::pack(item, items(700));
    state_program program = scanning(scans[s]);
    record::batch_pool pool;
    std::vector<record::batch> whole;
    EXPECT_EQ(program.run(in, 0, pool, whole), 700U);
    const std::vector<row> expected = testing::unpack(program.output(), whole);
    ASSERT_GT(expected.size(), 100U);
    for (const uint64_t num_bytes : {uint64_t{1}, uint64_t{1000}, uint64_t{300'000}, uint64_t{1} << 30}) {
      program.reset();
      EXPECT_EQ(rows_in_pieces(program, in, num_bytes), expected) << "scan " << s << " in " << num_bytes;
    }
    // Row by row, so that no chunk is cut.
    program.reset();
    std::vector<row> one_by_one;
    for (size_t i = 0; i < in.num_rows; ++i) {
      std::vector<record::batch> out;
      program.run(in.slice(i, 1), i, pool, out);
      for (row& r : testing::unpack(program.output(), out)) one_by_one.push_back(std::move(r));
    }
    EXPECT_EQ(one_by_one, expected) << "scan " << s;
  }
}

TEST(growing_rows, a_scan_ends_once_it_has_made_a_batch) {
  for (size_t s = 0; s < scans.size(); ++s) {
    const record::batch in = testing::pack(item, items(3000));
    state_program program = scanning(scans[s]);
    record::batch_pool pool;
    run_in_pieces(program, in, pool, {.num_bytes = batch_bytes}, [](const std::vector<record::batch>&) {});
    EXPECT_LE(pool.peak_bytes(), program_bytes) << "scan " << s;
  }
}

TEST(growing_rows, a_row_beyond_the_limit_ends_the_job) {
  const run_limits limits{.num_bytes = batch_bytes, .row_bytes = 40'000};
  const record::batch in = testing::pack(item, items(10));
  const auto run = [&](const std::string& text) {
    const row_program program = mapping({{"t", text}});
    record::batch_pool pool;
    run_in_pieces(program, in, pool, limits, [](const std::vector<record::batch>&) {});
  };
  EXPECT_NO_THROW(run("concat(name, name)"));
  try {
    run(grown);
    ADD_FAILURE() << "no error";
  } catch (const record::row_too_large& e) {
    EXPECT_EQ(e.exit_code(), 75);
    EXPECT_NE(std::string(record::row_too_large("big", e).what()).find("node 'big': one row takes 48.8 KiB or more"),
              std::string::npos)
        << e.what();
    EXPECT_NE(e.hint().find("-m"), std::string::npos);
  }
}

// Each is short enough, and the result is a number.
TEST(growing_rows, many_long_texts_of_one_row_end_the_job) {
  const auto run = [&](size_t num_texts) {
    std::string text = "length(pad_left(name, 2000000))";
    for (size_t i = 1; i < num_texts; ++i) text += fmt::format(" + length(pad_left(name, {}))", 2'000'000 + i);
    const row_program program = mapping({{"n", text}});
    record::batch_pool pool;
    run_in_pieces(program, testing::pack(item, items(3)), pool, {.num_bytes = batch_bytes, .row_bytes = 2'100'000},
                  [](const std::vector<record::batch>&) {});
    return pool.peak_bytes();
  };
  EXPECT_LE(run(4), 4 * 2'100'000 + (size_t{4} << 20));
  EXPECT_THROW(run(100), record::row_too_large);
}

}  // namespace
}  // namespace flowrun::expr
