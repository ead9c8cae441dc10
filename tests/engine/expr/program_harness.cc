#include "tests/engine/expr/program_harness.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <stdexcept>

namespace flowrun::expr::testing {

namespace {

using record::type_kind;
using record::value_type;

void put_low_bytes(std::byte* field, uint64_t bits, size_t num_bytes) {
  for (size_t i = 0; i < num_bytes; ++i) field[i] = static_cast<std::byte>(bits >> (8 * i));
}

uint64_t low_bytes(const std::byte* field, size_t num_bytes) {
  uint64_t bits = 0;
  for (size_t i = 0; i < num_bytes; ++i) bits |= std::to_integer<uint64_t>(field[i]) << (8 * i);
  return bits;
}

uint64_t integer_bits(const cell& value) {
  if (const auto* u = std::get_if<uint64_t>(&value)) return *u;
  return static_cast<uint64_t>(std::get<int64_t>(value));
}

struct owned {
  std::vector<std::byte> rows, heap;
};

void read_field(const record::batch& b, const std::byte* field, value_type t, cell& out) {
  const char* const text = reinterpret_cast<const char*>(field);
  if (t.is_string()) {
    const uint64_t offset = low_bytes(field, 4), length = low_bytes(field + 4, 4);
    EXPECT_LE(offset + length, b.heap_bytes);
    out.emplace<std::string>(reinterpret_cast<const char*>(b.heap) + offset, length);
  } else if (t.is_bytes()) {
    out.emplace<std::string>(text, t.num_bytes);
  } else if (t.kind == type_kind::f64) {
    double wide;
    std::memcpy(&wide, field, sizeof wide);
    out.emplace<double>(wide);
  } else if (t.kind == type_kind::f32) {
    float narrow;
    std::memcpy(&narrow, field, sizeof narrow);
    out.emplace<double>(narrow);
  } else {
    uint64_t bits = low_bytes(field, t.num_bytes);
    const bool negative = t.has_sign() && (bits >> (8 * t.num_bytes - 1)) != 0;
    if (negative && t.num_bytes < 8) bits |= ~uint64_t{0} << (8 * t.num_bytes);
    if (t.has_sign())
      out.emplace<int64_t>(static_cast<int64_t>(bits));
    else
      out.emplace<uint64_t>(bits);
  }
}

}  // namespace

record::row_type type_of(const std::vector<std::pair<std::string, std::string>>& columns) {
  std::vector<record::column> out;
  for (const auto& [name, type] : columns) out.push_back({name, record::parse_value_type(type).value(), 0});
  return record::row_type(std::move(out));
}

record::batch pack(const record::row_type& type, const std::vector<row>& rows) {
  auto data = std::make_shared<owned>();
  data->rows.resize(1 + rows.size() * type.row_bytes());
  for (size_t r = 0; r < rows.size(); ++r) {
    for (size_t c = 0; c < type.num_columns(); ++c) {
      std::byte* const field = data->rows.data() + 1 + r * type.row_bytes() + type[c].offset;
      const cell& value = rows[r][c];
      const value_type t = type[c].type;
      if (t.is_string()) {
        const auto& text = std::get<std::string>(value);
        put_low_bytes(field, data->heap.size(), 4);
        put_low_bytes(field + 4, text.size(), 4);
        for (char byte : text) data->heap.push_back(static_cast<std::byte>(byte));
      } else if (t.is_bytes()) {
        const auto& text = std::get<std::string>(value);
        if (text.size() != t.num_bytes) throw std::logic_error("bytes[N] of another length");
        for (size_t i = 0; i < text.size(); ++i) field[i] = static_cast<std::byte>(text[i]);
      } else if (t.kind == type_kind::f64) {
        std::memcpy(field, &std::get<double>(value), 8);
      } else if (t.kind == type_kind::f32) {
        const float narrow = static_cast<float>(std::get<double>(value));
        std::memcpy(field, &narrow, 4);
      } else {
        put_low_bytes(field, integer_bits(value), t.num_bytes);
      }
    }
  }
  record::batch out;
  out.rows = data->rows.data() + 1;
  out.num_rows = rows.size();
  out.row_bytes = type.row_bytes();
  out.heap = data->heap.data();
  out.heap_bytes = data->heap.size();
  out.owner = std::move(data);
  return out;
}

std::vector<row> unpack(const record::row_type& type, const std::vector<record::batch>& batches) {
  std::vector<row> out;
  for (const record::batch& b : batches) {
    EXPECT_EQ(b.row_bytes, type.row_bytes());
    for (size_t r = 0; r < b.num_rows; ++r) {
      row values(type.num_columns());
      for (size_t c = 0; c < type.num_columns(); ++c) read_field(b, b.row(r) + type[c].offset, type[c].type, values[c]);
      out.push_back(std::move(values));
    }
  }
  return out;
}

expression compiled_ok(const std::string& text, const scope& names) {
  compiled c = compile(text, names);
  if (!c.value) {
    std::string all;
    for (const problem& p : c.problems) all += fmt::format("\n  {}: {}", p.offset, p.message);
    throw std::runtime_error(fmt::format("{} does not compile:{}", text, all));
  }
  return *c.value;
}

std::vector<cell> evaluate_rows(const std::string& text, const record::row_type& type, const record::batch& in) {
  scope names;
  names.row = &type;
  names.row_number = true;
  row_program_builder builder(type);
  builder.map({{"result", compiled_ok(text, names)}});
  const row_program program = builder.build();
  record::batch_pool pool;
  std::vector<record::batch> out;
  program.run(in, 0, pool, out);
  std::vector<cell> cells;
  for (const row& r : unpack(program.output(), out)) cells.push_back(r[0]);
  return cells;
}

cell evaluate_constant(const std::string& text) {
  const expression e = compiled_ok(text, {});
  row_program_builder builder{record::row_type()};
  builder.map({{"result", e}});
  const row_program program = builder.build();
  record::batch_pool pool;
  std::vector<record::batch> out;
  program.generate(0, 1, pool, out);
  return unpack(program.output(), out).at(0).at(0);
}

std::string type_name_over(const std::string& text, const record::row_type& type) {
  return to_string(compiled_ok(text, scope{.row = &type}).type());
}

problem refusal_over(const std::string& text, const record::row_type& type) {
  const compiled c = compile(text, scope{.row = &type});
  EXPECT_FALSE(c.value) << text;
  return c.problems.empty() ? problem{} : c.problems[0];
}

std::string show(const cell& value) {
  if (const auto* u = std::get_if<uint64_t>(&value)) return fmt::format("{}u", *u);
  if (const auto* i = std::get_if<int64_t>(&value)) return fmt::format("{}i", *i);
  if (const auto* d = std::get_if<double>(&value)) return fmt::format("{}f", *d);
  return fmt::format("'{}'", std::get<std::string>(value));
}

bool same(const cell& a, const cell& b) {
  if (a.index() != b.index()) return false;
  if (const auto* x = std::get_if<double>(&a)) {
    const double y = std::get<double>(b);
    return (std::isnan(*x) && std::isnan(y)) || (*x == y && std::signbit(*x) == std::signbit(y));
  }
  return a == b;
}

}  // namespace flowrun::expr::testing
