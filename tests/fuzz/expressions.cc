// An expression: compiled, and computed in every way there is. The last byte of an input chooses the rows' order.
//
// What holds of every text: it compiles or has problems with places in it; over rows of all types the vector programs,
// the programs that go row by row, and constants put in the columns' place all give the same bits; a filter keeps the
// rows of which its condition says so; and a sort key is the expression behind its sign.
#include "engine/expr/expression.h"

#include <bit>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "engine/expr/outside_function.h"
#include "engine/expr/row_program.h"
#include "engine/expr/state_program.h"
#include "engine/record/key.h"
#include "engine/record/row_too_large.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/property.h"
#include "tests/fuzz/target.h"

namespace flowrun::fuzz {

namespace {

using record::row_type;
using record::type_kind;
using record::value_type;

constexpr expr::run_limits limits{.row_bytes = 1 << 16};

row_type columns() {
  std::vector<record::column> out;
  for (const auto& [name, type] : {std::pair{"u", "u64"},
                                   {"n", "u64"},
                                   {"small", "u8"},
                                   {"m", "u24"},
                                   {"i", "i64"},
                                   {"j", "i8"},
                                   {"x", "f64"},
                                   {"y", "f32"},
                                   {"ok", "bool"},
                                   {"text", "string"},
                                   {"k", "bytes[3]"},
                                   {"d", "decimal[2]"}})
    out.push_back({name, *record::parse_value_type(type)});
  return row_type(std::move(out));
}

// Values at the edges of what a type holds, and between.
constexpr uint64_t edges[] = {0,
                              1,
                              2,
                              63,
                              64,
                              0x7F,
                              0xFF,
                              0x7FFFFF,
                              0x8000000000000000,
                              ~uint64_t{0},
                              0x7FFFFFFFFFFFFFFF,
                              0x3FF0000000000000,
                              0x7FF0000000000000,
                              0x7FF8000000000001,
                              0xC3E0000000000000,
                              0x43F0000000000000,
                              0x4004000000000000};
constexpr const char* texts[] = {
    "",      "12", "-1.5e3", "Jan 10", " a  b,c ", "~v1.10.tar.gz", "abcdefghijklmnopqrstuvwxyz",
    "1e400", "+7", "2K",     "nan",    "\xFF"};

struct table {
  row_type type = columns();
  record::batch rows;
};

table make_table(size_t shift) {
  constexpr size_t num_rows = 34;
  table out;
  record::batch_pool pool;
  record::batch_builder builder(out.type, pool, record::rows_of_any_length(1 << 20));
  for (size_t r = 0; r < num_rows; ++r) {
    std::byte* const row = builder.append();
    for (size_t c = 0; c < out.type.num_columns(); ++c) {
      const value_type t = out.type[c].type;
      const size_t draw = (r + shift) * (2 * c + 1) + c * c;
      uint64_t bits = edges[draw % std::size(edges)];
      if (t.is_boolean()) bits &= 1U;
      if (t.kind == type_kind::f32) bits = std::bit_cast<uint32_t>(static_cast<float>(std::bit_cast<double>(bits)));
      if (t.is_string()) {
        builder.put_string(row + out.type[c].offset, texts[draw % std::size(texts)]);
      } else if (t.is_bytes()) {
        std::memcpy(row + out.type[c].offset, &"a1 z~\xFF"[draw % 4], 3);
      } else {
        std::memcpy(row + out.type[c].offset, &bits, t.num_bytes);
      }
    }
  }
  out.rows = builder.take();
  return out;
}

// The results of one column, each as its bytes. One NaN is as good as another.
using results = std::vector<std::string>;

void append_results(const row_type& type, const std::vector<record::batch>& batches, results& out) {
  for (const record::batch& b : batches)
    for (size_t r = 0; r < b.num_rows; ++r) {
      const std::byte* const at = b.row(r);
      const value_type t = type[0].type;
      std::string value = t.is_string() ? std::string(record::load_string(at, b.heap))
                                        : std::string(reinterpret_cast<const char*>(at), t.num_bytes);
      double wide = 0;
      float narrow = 0;
      if (t.kind == type_kind::f64) std::memcpy(&wide, at, sizeof wide);
      if (t.kind == type_kind::f32) std::memcpy(&narrow, at, sizeof narrow);
      if (wide != wide || narrow != narrow) value = "NaN";
      out.push_back(std::move(value));
    }
}

// Nothing: a row became too long, or a decimal too large.
template <class Program>
std::optional<results> run(Program program, const record::batch& in) {
  record::batch_pool pool;
  std::vector<record::batch> out;
  try {
    const size_t taken = program.run(in, 5, pool, out, limits);
    must_hold(taken == in.num_rows, "{} of {} rows were taken", taken, in.num_rows);
  } catch (const record::row_too_large&) {
    return std::nullopt;
  } catch (const expr::call_failed&) {
    return std::nullopt;
  }
  results values;
  append_results(program.output(), out, values);
  return values;
}

expr::row_program vector_program(const row_type& type, const expr::expression& e) {
  expr::row_program_builder builder(type);
  builder.map({{"r", e}});
  return builder.build();
}

// Columns that are no text become state variables, which get the row's values first: then all that depends on them goes
// row by row.
expr::state_program stepping_program(const row_type& type, const std::string& text) {
  expr::scope names;
  names.row = &type;
  names.row_number = true;
  std::vector<size_t> places;
  std::vector<expr::expression> initial;
  for (size_t c = 0; c < type.num_columns(); ++c) {
    if (type[c].type.is_text()) continue;
    places.push_back(c);
    names.state.push_back({type[c].name, type[c].type});
    const expr::expression zero = *expr::compile(type[c].type.is_boolean() ? "1 == 0" : "0", {}).value;
    initial.push_back(*zero.converted_to(type[c].type));
  }
  const expr::compiled c = expr::compile(text, names);
  must_hold(c.value.has_value(), "{}: {} with state variables for columns", text,
            c.problems.empty() ? std::string() : c.problems[0].message);
  expr::state_program_builder builder(type, names.state, initial);
  for (size_t i = 0; i < places.size(); ++i) builder.set(i, expr::column_expression(type, places[i]));
  builder.emit({{"r", *c.value}});
  return builder.build();
}

std::string shown(const std::string& value) {
  std::string out;
  for (const char c : value) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return out;
}

void must_be_equal(const results& a, const results& b, const char* how, const expr::expression& e) {
  must_hold(a.size() == b.size(), "{}: {} results {}, not {}", e.text(), b.size(), how, a.size());
  for (size_t r = 0; r < a.size(); ++r)
    must_hold(a[r] == b[r], "{}: row {} is {} {}, and {} otherwise", e.text(), r, shown(b[r]), how, shown(a[r]));
}

// Every column that is no text becomes a constant with the row's value.
void look_at_constants(const table& t, const std::string& text, const expr::expression& e, const results& values) {
  std::vector<record::column> texts_only;
  for (const record::column& c : t.type.columns())
    if (c.type.is_text()) texts_only.push_back(c);
  for (size_t r = 0; r < t.rows.num_rows; r += 9) {
    row_type others(texts_only);
    expr::scope with_constants;
    with_constants.row = &others;
    with_constants.row_number = true;
    for (const record::column& c : t.type.columns()) {
      if (c.type.is_text()) continue;
      uint64_t bits = record::load_unsigned(t.rows.row(r) + c.offset, c.type.num_bytes);
      if (c.type.is_signed())
        bits = static_cast<uint64_t>(static_cast<int64_t>(bits << (64 - 8 * c.type.num_bytes)) >>
                                     (64 - 8 * c.type.num_bytes));
      if (c.type.kind == type_kind::f32)
        bits = std::bit_cast<uint64_t>(static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits))));
      with_constants.constants.push_back({c.name, c.type, bits});
    }
    const expr::compiled c = expr::compile(text, with_constants);
    must_hold(c.value.has_value(), "{}: {} with scalars for columns", text,
              c.problems.empty() ? std::string() : c.problems[0].message);
    must_hold(c.value->type() == e.type(), "{}: is {} with scalars for columns, and {}", text,
              record::to_string(c.value->type()), record::to_string(e.type()));
    const expr::expression bound = c.value->with(with_constants.constants);
    must_hold(bound.type() == e.type(), "{}: is {} with the scalars' values, and {}", text,
              record::to_string(bound.type()), record::to_string(e.type()));
    // The same row, without what became constants.
    record::batch_pool pool;
    record::batch_builder builder(others, pool, record::rows_of_any_length(1 << 20));
    std::byte* const row = builder.append();
    for (const record::column& o : others.columns()) {
      const std::byte* const from = t.rows.row(r) + t.type[*t.type.index_of(o.name)].offset;
      if (o.type.is_string()) {
        builder.put_string(row + o.offset, record::load_string(from, t.rows.heap));
      } else {
        std::memcpy(row + o.offset, from, o.type.num_bytes);
      }
    }
    expr::row_program program = vector_program(others, bound);
    std::vector<record::batch> out;
    results one;
    program.run(builder.take(), 5 + r, pool, out, limits);
    append_results(program.output(), out, one);
    must_be_equal({values[r]}, one, "with constants", e);
  }
}

void look_at_filter(const table& t, const expr::expression& e, const results& values) {
  if (!e.type().is_boolean()) return;
  expr::row_program_builder builder(t.type);
  builder.filter(e);
  builder.map({{"r", expr::column_expression(builder.current(), 1)}});
  const auto kept = run(builder.build(), t.rows);
  results expected;
  for (size_t r = 0; r < values.size(); ++r)
    if (values[r][0] != 0) expected.emplace_back(reinterpret_cast<const char*>(t.rows.row(r)) + t.type[1].offset, 8);
  must_be_equal(expected, *kept, "behind a filter", e);
}

void look_at_problems(std::string_view text, const expr::compiled& c) {
  must_hold(c.value.has_value() == c.problems.empty(), "{} problems, and {}", c.problems.size(),
            c.value ? "a value" : "no value");
  for (const expr::problem& p : c.problems)
    must_hold(!p.message.empty() && p.offset <= text.size(), "problem '{}' at {} of {} bytes", p.message, p.offset,
              text.size());
}

}  // namespace

void try_input(std::string_view bytes) {
  input in(bytes);
  static const table tables[] = {make_table(0), make_table(3)};
  const table& t = tables[in.below(2)];
  const std::string text(in.rest());
  expr::scope names;
  names.row = &t.type;
  names.row_number = true;
  const expr::compiled c = expr::compile(text, names);
  look_at_problems(text, c);
  const expr::compiled_sort_term term = expr::compile_sort_term("-(" + text + ")", names);
  if (!c.value) return;
  const expr::expression& e = *c.value;
  // The sign and its parentheses may be one too many of what nests.
  if (term.value.has_value() || expr::compile("((" + text + "))", names).value.has_value())
    must_hold(term.value.has_value() && term.value->descending, "{}: can't be a descending key", text);
  const expr::row_program program = vector_program(t.type, e);
  const auto values = run(program, t.rows);
  const auto stepped = run(stepping_program(t.type, text), t.rows);
  must_hold(values.has_value() == stepped.has_value(),
            "{}: rows are too long, or decimals too large, in one program only", text);
  if (!values) return;
  must_be_equal(*values, *stepped, "row by row", e);
  results alone;
  for (size_t r = 0; r < t.rows.num_rows; ++r) {
    if (e.uses_row_number()) break;
    const auto one = run(program, t.rows.slice(r, 1));
    alone.insert(alone.end(), one->begin(), one->end());
  }
  if (!e.uses_row_number()) must_be_equal(*values, alone, "one row at a time", e);
  look_at_filter(t, e, *values);
  look_at_constants(t, text, e, *values);
}

}  // namespace flowrun::fuzz
