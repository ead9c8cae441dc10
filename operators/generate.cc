// generate: rows out of nothing, the same for the same parameters.
//
// Every row depends on its number i only. So a serial head merely hands out ranges of i (batches of rows without
// bytes), and the stage behind makes the rows in parallel.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/exec/parcel.h"
#include "engine/expr/row_program.h"
#include "operators/parts/algorithms/generate_rmat.h"
#include "operators/parts/algorithms/sort_benchmark.h"
#include "operators/parts/rules/estimates.h"
#include "operators/word.h"
#include "specs/value.h"

namespace flowrun::operators {

namespace {

using columns_of_i = std::vector<std::pair<std::string, expr::expression>>;

struct settings {
  uint64_t rows = 0;
  uint64_t first = 0;
  std::string kind;  // empty: columns
  columns_of_i columns;
  record::row_type type;
  uint64_t seed = 0;
  unsigned scale = 0;
  double a = 0, b = 0, c = 0;
  record_style style = record_style::binary;
  void bind(const expr::scalar_values& values) { expr::bind(columns, values); }
};

const record::row_type& no_columns() {
  static const record::row_type type;
  return type;
}

expr::scope scope_of_i() {
  expr::scope scope;
  scope.row = &no_columns();
  scope.row_number = true;
  scope.index_name = "i";
  return scope;
}

columns_of_i column(const std::string& name, const std::string& text) {
  return {{name, expr::compile(text, scope_of_i()).value.value()}};
}

// Faults for parameters that mean nothing to this kind.
void refuse_foreign(plan::node_checker& node, const std::string& kind) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> belongs = {
      {"seed", {"random", "rmat"}}, {"scale", {"rmat"}}, {"a", {"rmat"}}, {"b", {"rmat"}}, {"c", {"rmat"}},
      {"ascii", {"records"}}};
  for (const auto& [parameter, kinds] : belongs)
    if (node.has(parameter) && std::find(kinds.begin(), kinds.end(), kind) == kinds.end())
      node.fault_at_parameter(
          parameter, fmt::format("'{}' has no effect here", parameter),
          fmt::format("kind: {}", fmt::join(kinds, " or ")),
          kind.empty() && parameter == "seed" ? "write the seed into the expressions: rand(1, i)" : "");
}

void read_rmat(plan::node_checker& node, settings& s) {
  const uint64_t scale = node.integer("scale");
  if (scale < 1 || scale > rmat_generator::max_scale) {
    const std::string expected = fmt::format("1 to {}: the graph has 2^scale nodes", rmat_generator::max_scale);
    if (node.has("scale"))
      node.fault_at_parameter("scale", fmt::format("scale {} is out of range", scale), expected);
    else
      node.fault_at_node("kind rmat needs `scale`", expected);
    return;
  }
  s.scale = static_cast<unsigned>(scale);
  const auto number = [&node](const char* name) { return specs::to_double(*node.value(name)).value_or(0); };
  s.a = number("a");
  s.b = number("b");
  s.c = number("c");
  if (s.a < 0 || s.b < 0 || s.c < 0 || s.a + s.b + s.c > 1)
    node.fault_at_parameter(node.has("a")   ? "a"
                            : node.has("b") ? "b"
                                            : "c",
                            fmt::format("a, b and c are {}, {} and {}", s.a, s.b, s.c),
                            "probabilities whose sum is at most 1");
  const auto id = record::value_type::of(scale <= 32 ? record::type_kind::u32 : record::type_kind::u64);
  s.type = record::row_type({{"src", id}, {"dst", id}});
}

settings read(plan::node_checker& node) {
  settings s;
  s.rows = node.integer("rows");
  s.first = node.integer("first");
  s.kind = node.text("kind");
  s.seed = node.integer("seed");
  if (s.first > UINT64_MAX - s.rows)
    node.fault_at_parameter("first", "the last row's number does not fit 64 bits", "first + rows below 2^64");
  if (s.kind.empty() == !node.has("columns")) {
    node.fault_at_node(
        s.kind.empty() ? "nothing says which columns to generate" : "`kind` and `columns` exclude each other",
        "columns: {name: expression of i}, or kind: counter, random, rmat or records");
    return s;
  }
  refuse_foreign(node, s.kind);
  if (s.kind.empty()) {
    s.columns = node.named_expressions("columns", scope_of_i());
    if (node.ok() && s.columns.empty())
      node.fault_at_parameter("columns", "a row needs at least one column", "columns: {name: expression of i}");
  } else if (s.kind == "counter") {
    s.columns = column("i", "i");
  } else if (s.kind == "random") {
    s.columns = column("value", fmt::format("rand({}, i)", s.seed));
  } else if (s.kind == "rmat") {
    read_rmat(node, s);
  } else {
    s.style = node.boolean("ascii") ? record_style::ascii : record_style::binary;
    s.type =
        record::row_type({{"key", record::value_type::fixed_bytes(benchmark_key_bytes)},
                          {"value", record::value_type::fixed_bytes(benchmark_record_bytes - benchmark_key_bytes)}});
  }
  if (!s.columns.empty()) {
    std::vector<record::column> columns;
    for (const auto& [name, value] : s.columns) columns.push_back({name, value.type()});
    s.type = record::row_type(std::move(columns));
  }
  return s;
}

// i itself, or u32(i) where all numbers fit.
bool is_row_number(const expr::expression& value, const settings& s) {
  if (value.text() == "i" || value.text() == "row_number") return true;
  if (!value.type().is_unsigned() || value.text() != fmt::format("{}(i)", record::to_string(value.type())))
    return false;
  const unsigned num_bits = 8 * value.type().num_bytes;
  return num_bits >= 64 || s.first + s.rows <= uint64_t{1} << num_bits;
}

settings check(plan::node_checker& node) {
  settings s = read(node);
  if (!node.ok()) return s;
  plan::order order;
  for (const auto& [name, value] : s.columns)
    if (order.empty() && is_row_number(value, s)) order.push_back({name});
  node.set_output(0, s.type, std::move(order), exactly(s.rows, s.type));
  return s;
}

// The values of i of a batch.
struct row_range {
  uint64_t first = 0;
  uint64_t num_rows = 0;
};

class range_source final : public exec::source {
 public:
  range_source(uint64_t first, uint64_t num_rows, size_t rows_per_batch)
      : next_(first), left_(num_rows), rows_per_batch_(rows_per_batch) {}

  outcome pull(exec::output& out, waker&) override {
    if (left_ == 0) return outcome::done();
    const row_range range{next_, std::min<uint64_t>(left_, rows_per_batch_)};
    next_ += range.num_rows;
    left_ -= range.num_rows;
    out.emit(exec::make_parcel(range, range.num_rows, 0));
    return outcome::ready();
  }
  // The number of the next row.
  resume::source_position position() const override { return {next_}; }

 private:
  uint64_t next_;
  uint64_t left_;
  const size_t rows_per_batch_;
};

class generate_stage final : public exec::parcel_stage<row_range> {
 public:
  generate_stage(settings s, record::batch_pool& pool) : settings_(std::move(s)), pool_(pool) {
    if (!settings_.columns.empty()) {
      expr::row_program_builder builder(no_columns());
      builder.map(settings_.columns);
      program_ = builder.build();
    } else if (settings_.kind == "rmat") {
      rmat_.emplace(settings_.scale, settings_.a, settings_.b, settings_.c, settings_.seed);
    }
  }

  void open(const row_range& all, exec::output& out) const override {
    const uint64_t num_done = out.within();
    const row_range range{all.first + num_done, all.num_rows - num_done};
    std::vector<record::batch> batches;
    if (program_) {
      const size_t num_made = program_->generate(range.first, range.num_rows, pool_, batches, out.limits());
      if (num_made < range.num_rows) out.leave(0, num_done + num_made);
    } else {
      record::batch b;
      b.num_rows = range.num_rows;
      b.row_bytes = settings_.type.row_bytes();
      std::shared_ptr<std::byte[]> rows = pool_.take(b.num_rows * b.row_bytes);
      if (rmat_) {
        put_edges(range, rows.get());
      } else {
        generate_records(range.first, range.num_rows, settings_.style, rows.get());
      }
      b.rows = rows.get();
      b.owner = std::move(rows);
      batches.push_back(std::move(b));
    }
    uint64_t row = range.first - settings_.first;
    for (record::batch& b : batches) {
      b.first_row = row;
      row += b.num_rows;
    }
    out.emit(batches);
  }

 private:
  void put_edges(const row_range& range, std::byte* to) const {
    const uint32_t id_bytes = settings_.type[0].type.num_bytes;
    for (uint64_t i = range.first; i < range.first + range.num_rows; ++i) {
      const auto [source, target] = rmat_->edge(i);
      std::memcpy(to, &source, id_bytes);
      std::memcpy(to + id_bytes, &target, id_bytes);
      to += 2 * id_bytes;
    }
  }

  const settings settings_;
  record::batch_pool& pool_;
  std::optional<expr::row_program> program_;
  std::optional<rmat_generator> rmat_;
};

exec::assembly build(exec::build_context& c, const settings& s) {
  exec::assembly out;
  const uint64_t first = c.begin_at != nullptr ? c.begin_at->at(0) : s.first;
  out.head = std::make_unique<range_source>(first, s.rows - (first - s.first),
                                            record::shape_for(s.type, c.batches.target_bytes).max_rows);
  out.stages.push_back(std::make_unique<generate_stage>(s, c.job.pool()));
  return out;
}

}  // namespace

template <>
exec::operator_definition word<"generate">() {
  using plan::parameter_kind;
  plan::operator_declaration d;
  d.name = "generate";
  d.summary = "Makes rows from their number, without an input.";
  d.details =
      "`columns` computes each column as an expression of i, the row's number, with rand(seed, i) for random numbers. "
      "Or `kind` names a ready-made generator:\n\n"
      "- counter: {i: u64}, the numbers themselves\n"
      "- random: {value: u64}, the same as rand(seed, i)\n"
      "- rmat: {src, dst}, edges of a random graph with 2^scale nodes and skewed degrees (R-MAT); u32 up to scale 32, "
      "u64 above; loops and repeated edges occur\n"
      "- records: {key: bytes[10], value: bytes[90]}, the records of the sort benchmark, byte for byte as gensort 1.5 "
      "makes them\n\n"
      "The rows depend on the parameters only, not on threads or batches.";
  d.order = "gives: the first column that is i, or u32(i) and the like where all numbers fit";
  d.example =
      "drawn: {op: generate, with: {rows: 1000000, columns: {u: \"u32(rand(1, 2 * i) % 4096)\", v: \"u32(rand(1, 2 * i "
      "+ 1) % 4096)\"}}}\n"
      "input: {op: generate, with: {kind: records, rows: 10000000}}\n";
  d.role = plan::operator_role::source;
  d.division = plan::operator_division::numbers;
  d.outputs = {{"out", "the rows, by i"}};
  const auto add = [&d](std::string name, parameter_kind kind, std::string default_text, std::string help) {
    plan::parameter_declaration p;
    p.name = std::move(name);
    p.kind = kind;
    p.default_text = std::move(default_text);
    p.help = std::move(help);
    d.parameters.push_back(std::move(p));
  };
  add("rows", parameter_kind::integer, "", "How many rows.");
  d.parameters.back().required = true;
  add("columns", parameter_kind::named_expressions, "", "The columns as expressions of i.");
  add("kind", parameter_kind::choice, "", "A ready-made generator instead of columns.");
  d.parameters.back().choices = {"counter", "random", "rmat", "records"};
  add("first", parameter_kind::integer, "0", "The number of the first row.");
  add("seed", parameter_kind::integer, "1", "Another seed gives other random numbers (random, rmat).");
  add("scale", parameter_kind::integer, "", "The graph has 2^scale nodes (rmat).");
  add("a", parameter_kind::number, "0.57", "Probability of the quadrant with small sources and small targets (rmat).");
  add("b", parameter_kind::number, "0.19", "Probability of the quadrant with small sources and large targets (rmat).");
  add("c", parameter_kind::number, "0.19", "Probability of the quadrant with large sources and small targets (rmat).");
  add("ascii", parameter_kind::boolean, "false", "Printable records, as gensort -a makes them (records).");
  return exec::define<settings>(std::move(d), check, build);
}

}  // namespace flowrun::operators
