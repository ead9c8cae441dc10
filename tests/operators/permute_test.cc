// shuffle and permute: the rows at their places, and places that are no permutation.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "engine/base/error.h"
#include "operators/parts/algorithms/bit_matrix.h"
#include "tests/operators/harness.h"

namespace flowrun::operators::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string numbers_in = "in: {op: test.rows, with: {type: {v: u32}}}\n";
const std::string texts_in = "in: {op: test.rows, with: {type: {v: u32, s: string, b: 'bytes[11]'}}}\n";
const std::string out_of_x = "out: {op: test.sink, in: x}\n";

rows numbers(size_t count) {
  rows out;
  for (size_t i = 0; i < count; ++i) out.push_back(fmt::format("{}", i));
  return out;
}
rows texts(size_t count) {
  rows out;
  for (size_t i = 0; i < count; ++i)
    out.push_back(fmt::format("{},{},{:011}", i, std::string(i * 7 % 23, static_cast<char>('a' + i % 26)), i));
  return out;
}

rows permuted(const std::string& input, const rows& in, const std::string& with) {
  return run_all_ways(input + "x: {op: permute, in: in, with: {" + with + "}}\n" + out_of_x, {{"in", in}});
}

TEST(permute, puts_rows_where_the_expression_says) {
  for (const size_t count : {0U, 1U, 6U, 3000U}) {
    const rows in = numbers(count);
    EXPECT_EQ(permuted(numbers_in, in, "to: v"), in);
    EXPECT_EQ(permuted(numbers_in, in, fmt::format("to: '{} - i64(row_number)'", int64_t(count) - 1)),
              rows(in.rbegin(), in.rend()));
  }
  const rows in = texts(12 * 35);
  rows transposed;
  for (size_t i = 0; i < in.size(); ++i) transposed.push_back(in[i % 12 * 35 + i / 12]);
  EXPECT_EQ(permuted(texts_in, in, "to: 'row_number % 35 * 12 + row_number / 35'"), transposed);
}

TEST(permute, puts_rows_where_a_matrix_says) {
  std::mt19937_64 random(1);
  for (const unsigned n : {1U, 4U, 11U}) {
    for (int round = 0; round < 6; ++round) {
      bit_matrix a(n);
      do {
        for (unsigned i = 0; i < n; ++i) a.set_column(i, random() >> (64 - n));
      } while (!a.is_permutation());
      a.set_complement(random() >> (64 - n));
      std::string matrix, complement;
      for (unsigned r = n; r-- > 0;) {
        for (unsigned i = n; i-- > 0;) matrix += (a.column(i) >> r & 1) != 0 ? '1' : '0';
        complement += (a.complement() >> r & 1) != 0 ? '1' : '0';
        matrix += ' ';
      }
      for (const bool text : {false, true}) {
        const rows in = text ? texts(size_t{1} << n) : numbers(size_t{1} << n);
        rows expected(in.size());
        for (size_t i = 0; i < in.size(); ++i) expected[a.apply(i)] = in[i];
        EXPECT_EQ(permuted(text ? texts_in : numbers_in, in,
                           fmt::format("matrix: '{}', complement: '{}'", matrix, complement)),
                  expected);
      }
    }
  }
}

TEST(permute, reverses_bits) {
  const rows in = numbers(1 << 12);
  rows expected(in.size());
  for (size_t i = 0; i < in.size(); ++i) expected[bit_matrix::reversal(12).apply(i)] = in[i];
  EXPECT_EQ(permuted(numbers_in, in, "bits: reverse, n: 12"), expected);
}

// Blocks of one memoryload after the other, without a sort: more rows than memory, a matrix that allows it.
TEST(permute, goes_by_whole_blocks_where_the_matrix_allows) {
  const unsigned n = 14;
  std::string matrix;  // Gray code: each bit and the one above
  for (unsigned r = n; r-- > 0;) {
    std::string row(n, '0');
    row[n - 1 - r] = '1';
    if (r + 1 < n) row[n - 2 - r] = '1';
    matrix += row + " ";
  }
  rows in;
  for (size_t i = 0; i < size_t{1} << n; ++i) in.push_back(fmt::format("{},{:060}", i, i * i));
  rows expected(in.size());
  for (size_t i = 0; i < in.size(); ++i) expected[i ^ i >> 1] = in[i];
  const std::string nodes =
      "in: {op: test.rows, with: {type: {v: u32, b: 'bytes[60]'}}}\nx: {op: permute, in: in, with: {matrix: '" +
      matrix + "'}}\n" + out_of_x;
  for (const uint64_t memory : {300 << 10, 600 << 10, 1 << 20})
    EXPECT_EQ(run(nodes, {{"in", in}}, {.memory_bytes = memory, .force_spill = true}).sinks["out"], expected);
}

// And by runs and a merge where it doesn't.
TEST(permute, sorts_where_it_must) {
  rows in;
  for (size_t i = 0; i < size_t{1} << 14; ++i) in.push_back(fmt::format("{},{:060}", i, i * i));
  rows expected(in.size());
  for (size_t i = 0; i < in.size(); ++i) expected[bit_matrix::reversal(14).apply(i)] = in[i];
  const std::string nodes =
      "in: {op: test.rows, with: {type: {v: u32, b: 'bytes[60]'}}}\n"
      "x: {op: permute, in: in, with: {bits: reverse, n: 14}}\n" +
      out_of_x;
  EXPECT_EQ(run(nodes, {{"in", in}}, {.memory_bytes = 600 << 10, .force_spill = true}).sinks["out"], expected);
}

TEST(permute, reports_what_is_no_permutation) {
  const auto problem = [](const std::string& with, const rows& in) {
    try {
      run(numbers_in + "x: {op: permute, in: in, with: {" + with + "}}\n" + out_of_x, {{"in", in}});
    } catch (const error& e) {
      EXPECT_EQ(e.kind(), error_kind::bad_data);
      return std::string(e.what());
    }
    ADD_FAILURE() << "no error";
    return std::string();
  };
  EXPECT_THAT(problem("to: v", {"0", "1", "1", "3"}), HasSubstr("node 'x': two rows go to place 1"));
  EXPECT_THAT(problem("to: v", {"0", "3", "1"}), HasSubstr("no row goes to place 2; the next one goes to 3"));
  EXPECT_THAT(problem("to: v", {"1", "2"}), HasSubstr("no row goes to place 0"));
  EXPECT_THAT(problem("to: 'i64(v) - 1'", {"0", "1"}), HasSubstr("the next one goes to -1"));
  EXPECT_THAT(problem("bits: reverse, n: 2", numbers(3)),
              HasSubstr("node 'x': the input has 3 rows, but 2 bits make 4 places"));
  EXPECT_THAT(problem("bits: reverse, n: 2", numbers(5)), HasSubstr("5 or more rows"));
  EXPECT_THAT(problem("bits: reverse, n: 20", numbers(5)), HasSubstr("the input has 5 rows"));
}

TEST(permute, reports_faults) {
  const auto faults = [](const std::string& with) {
    return faults_of(numbers_in + "x: {op: permute, in: in, with: {" + with + "}}\n" + out_of_x);
  };
  EXPECT_THAT(faults("to: v"), IsEmpty());
  EXPECT_THAT(faults("bits: reverse, n: 10, complement: '1100000000'"), IsEmpty());
  EXPECT_THAT(faults(""), ElementsAre(HasSubstr("where the rows go is not said")));
  EXPECT_THAT(faults("to: v, matrix: '1'"), ElementsAre(HasSubstr("said twice")));
  EXPECT_THAT(faults("to: 'f64(v)'"), ElementsAre(HasSubstr("is f64")));
  EXPECT_THAT(faults("bits: reverse"), ElementsAre(HasSubstr("how many bits")));
  EXPECT_THAT(faults("bits: reverse, n: 64"), ElementsAre(HasSubstr("64 bits")));
  EXPECT_THAT(faults("matrix: '10 1'"), ElementsAre(HasSubstr("row 2 of the matrix has 1 digits")));
  EXPECT_THAT(faults("matrix: '11 11'"), ElementsAre(HasSubstr("rank 1 of 2")));
  EXPECT_THAT(faults("matrix: '10 01', complement: '101'"), ElementsAre(HasSubstr("not a number of 2 bits")));
  EXPECT_THAT(faults("to: v, complement: '1'"), ElementsAre(HasSubstr("belongs to bits or a matrix")));
  EXPECT_THAT(faults("matrix: '10 01', n: 2"), ElementsAre(HasSubstr("n belongs to bits")));
}

// Whether the branch runs depends on the number of rows, which the run finds.
TEST(permute, of_a_stream_of_a_body_has_any_number_of_rows) {
  EXPECT_THAT(faults_of("a: {op: generate, with: {rows: 3, columns: {v: i}}}\n"
                        "x: {op: if, in: {a: a}, with: {condition: \"rows(a) == 4\", "
                        "then: {p: {op: permute, in: a, with: {bits: reverse, n: 2}}}, out: {r: p}}}\n"
                        "out: {op: test.sink, in: x.r}\n"),
              IsEmpty());
}

// Each of these reads the one before twice.
TEST(permute, looks_at_every_node_once) {
  std::string nodes = "n0: {op: generate, with: {rows: 4, columns: {v: i}}}\n";
  for (int i = 1; i <= 60; ++i)
    nodes += fmt::format("n{}: {{op: merge, in: [n{}, n{}], with: {{by: [v]}}}}\n", i, i - 1, i - 1);
  nodes += "x: {op: permute, in: n60, with: {bits: reverse, n: 2}}\n" + out_of_x;
  EXPECT_THAT(faults_of(nodes), Not(IsEmpty()));
}

TEST(permute, gives_no_order) {
  EXPECT_EQ(output_of("in: {op: test.rows, with: {type: {v: u32}, sorted_by: [v]}}\n"
                      "x: {op: permute, in: in, with: {to: v}}\n" +
                          out_of_x,
                      "x"),
            "{v: u32} by nothing");
}

TEST(shuffle, gives_every_row_once_in_another_order) {
  const rows in = texts(3000);
  const auto shuffled = [&](const std::string& with) {
    return run_all_ways(texts_in + "x: {op: shuffle, in: in" + with + "}\n" + out_of_x, {{"in", in}});
  };
  const rows a = shuffled(", with: {seed: 1}"), b = shuffled(", with: {seed: 2}"), c = shuffled("");
  EXPECT_NE(a, b);
  EXPECT_NE(a, c);
  EXPECT_EQ(shuffled(", with: {seed: 0}"), c);
  for (rows some : {a, b, c}) {
    EXPECT_NE(some, in);
    std::sort(some.begin(), some.end());
    rows expected = in;
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(some, expected);
  }
}

TEST(shuffle, keeps_the_first_rows_of_its_order) {
  for (const auto& [input, in] : {std::pair(numbers_in, numbers(3000)), std::pair(texts_in, texts(3000))}) {
    const auto shuffled = [&, &input = input, &in = in](const std::string& more) {
      return run_all_ways(input + "x: {op: shuffle, in: in, with: {seed: 4" + more + "}}\n" + out_of_x, {{"in", in}});
    };
    const rows all = shuffled("");
    for (const size_t limit : {1, 7, 2000, 3000, 4000}) {
      const rows expected(all.begin(), all.begin() + static_cast<ptrdiff_t>(std::min(limit, all.size())));
      EXPECT_EQ(shuffled(fmt::format(", limit: {}", limit)), expected) << limit;
    }
  }
  EXPECT_THAT(faults_of(numbers_in + "x: {op: shuffle, in: in, with: {limit: 0}}\n" + out_of_x),
              ElementsAre(HasSubstr("a limit of 0 leaves no rows")));
}

// Equal rows too: the places of a few distinct values look random.
TEST(shuffle, is_uniform) {
  rows in(4000, "0");
  for (size_t i = 0; i < in.size() / 2; ++i) in[i] = "1";
  const rows out = run_all_ways(numbers_in + "x: {op: shuffle, in: in, with: {seed: 5}}\n" + out_of_x, {{"in", in}});
  for (size_t from = 0; from < out.size(); from += 1000) {
    const auto begin = out.begin() + static_cast<ptrdiff_t>(from);
    const auto ones = std::count(begin, begin + 1000, "1");
    EXPECT_NEAR(static_cast<double>(ones), 500, 80);  // five standard deviations
  }
}

}  // namespace
}  // namespace flowrun::operators::testing
