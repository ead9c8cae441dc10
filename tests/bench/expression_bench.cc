// What an expression costs: nanoseconds per row and primitive, on one core, over a batch that stays in the L2 cache.
//
// Each line maps a row to one column computed by the expression. "extra" is the time above that of handing on a column
// as it is, so it is the cost of the expression's own instructions: divide by their number for one primitive. Lines
// that start with "where" filter instead. Of the repetitions the fastest counts, since whatever disturbs makes slower.
//
//   expression_bench [EXPRESSION...]     columns a, b: u64; i: i64; f, g: f64; n: u32; t: u24; p: bool
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/clock.h"
#include "engine/expr/expression.h"
#include "engine/expr/row_program.h"
#include "engine/record/batch.h"
#include "engine/record/row_type.h"

namespace {

using flowrun::expr::row_program;
using flowrun::expr::row_program_builder;
using flowrun::record::batch;
using flowrun::record::row_type;
using flowrun::record::type_kind;
using flowrun::record::value_type;

constexpr size_t rows_per_batch = 4096;
constexpr std::string_view filter_word = "where ";

uint64_t mixed(uint64_t x) {
  x = (x + 0x9e3779b97f4a7c15U) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 29)) * 0x94d049bb133111ebU;
  return x ^ (x >> 32);
}

row_type input_type() {
  auto of = [](type_kind kind) { return value_type::of(kind); };
  return row_type({{"a", of(type_kind::u64)},
                   {"b", of(type_kind::u64)},
                   {"i", of(type_kind::i64)},
                   {"f", of(type_kind::f64)},
                   {"g", of(type_kind::f64)},
                   {"n", of(type_kind::u32)},
                   {"t", of(type_kind::u24)},
                   {"p", of(type_kind::boolean)}});
}

batch input_batch(const row_type& type, flowrun::record::batch_pool& pool) {
  flowrun::record::batch_builder builder(type, pool, rows_per_batch * type.row_bytes());
  const size_t num_rows = std::min(rows_per_batch, builder.max_rows());
  std::byte* row = builder.append(num_rows);
  for (size_t r = 0; r < num_rows; ++r, row += type.row_bytes()) {
    for (size_t c = 0; c < type.num_columns(); ++c) {
      const uint64_t random = mixed(r * type.num_columns() + c);
      const double real = static_cast<double>(random >> 11) * 0x1p-53;
      std::byte* field = row + type[c].offset;
      if (type[c].type.is_float())
        std::memcpy(field, &real, sizeof real);
      else if (type[c].type.is_boolean())
        *field = static_cast<std::byte>(random & 1);
      else
        std::memcpy(field, &random, type[c].type.num_bytes);
    }
  }
  return builder.take();
}

// Prints the problems and answers nothing when the text is wrong.
std::optional<row_program> program_for(const row_type& type, std::string_view text) {
  const bool filters = text.substr(0, filter_word.size()) == filter_word;
  const std::string_view body = filters ? text.substr(filter_word.size()) : text;
  flowrun::expr::scope names;
  names.row = &type;
  const flowrun::expr::compiled result =
      filters ? flowrun::expr::compile_condition(body, names) : flowrun::expr::compile(body, names);
  for (const flowrun::expr::problem& p : result.problems) fmt::print(stderr, "{}: {}\n", text, p.message);
  if (!result.value) return std::nullopt;
  row_program_builder builder(type);
  if (filters)
    builder.filter(*result.value);
  else
    builder.map({{"x", *result.value}});
  return builder.build();
}

// Nanoseconds per input row: the fastest of many repetitions of about a millisecond.
double measure(const row_program& program, const batch& in, flowrun::record::batch_pool& pool) {
  std::vector<batch> out;
  double best = std::numeric_limits<double>::max();
  constexpr int repetitions = 100;
  constexpr int batches = 64;
  for (int i = 0; i < repetitions; ++i) {
    const uint64_t start = flowrun::now_ns();
    for (int j = 0; j < batches; ++j) {
      out.clear();
      program.run(in, 0, pool, out);
    }
    const auto elapsed = static_cast<double>(flowrun::now_ns() - start);
    best = std::min(best, elapsed / (batches * static_cast<double>(in.num_rows)));
  }
  return best;
}

const std::vector<std::string> primitives = {"a",
                                             "n",
                                             "t",
                                             "a + b",
                                             "a * b",
                                             "3 * a + b",
                                             "a / (b | 1)",
                                             "a % 1000",
                                             "a & b",
                                             "a << 7",
                                             "i - 5",
                                             "f + g",
                                             "f * g",
                                             "f / g",
                                             "n + 1",
                                             "t + 1",
                                             "u32(a)",
                                             "f64(a)",
                                             "a < b",
                                             "f < g",
                                             "a < b and n < 1000",
                                             "not p",
                                             "if(p, a, b)",
                                             "if(a < b, a, b)",
                                             "min(a, b)",
                                             "popcount(a)",
                                             "hash64(1, a)",
                                             "rand(1, a)",
                                             "where p",
                                             "where a < b",
                                             "where (b & 7) != 0",
                                             "where n < 100"};

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> texts = argc > 1 ? std::vector<std::string>(argv + 1, argv + argc) : primitives;
  const row_type type = input_type();
  flowrun::record::batch_pool pool;
  const batch in = input_batch(type, pool);
  const std::optional<row_program> copy = program_for(type, "a");
  if (!copy) return 1;
  const double base = measure(*copy, in, pool);
  fmt::print("{:<24} {:>10} {:>10}\n", "expression", "ns / row", "extra");
  bool good = true;
  for (const std::string& text : texts) {
    const std::optional<row_program> program = program_for(type, text);
    good = good && program.has_value();
    if (!program) continue;
    const double cost = measure(*program, in, pool);
    fmt::print("{:<24} {:>10.3f} {:>10.3f}\n", text, cost, cost - base);
  }
  return good ? 0 : 1;
}
