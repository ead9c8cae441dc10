#include "engine/expr/row_program.h"

#include <algorithm>
#include <set>

#include "engine/base/error.h"
#include "engine/expr/chunk_code.h"
#include "engine/expr/chunk_writer.h"
#include "engine/expr/value_graph.h"

namespace flowrun::expr {

struct row_program::code {
  record::row_type input, output;
  chunk_code steps;
  output_layout layout;
  mutable frame_list frames{steps};
};

namespace {

// Rows a chunk may have: fewer where rows carry long strings, so that what is computed from them stays small.
size_t rows_per_chunk(const chunk_code& code, const record::batch& in) {
  constexpr size_t heap_per_chunk = size_t{4} << 20;
  if (in.heap_bytes <= heap_per_chunk) return code.rows_per_chunk;
  const size_t average = std::max<size_t>(in.heap_bytes / std::max<size_t>(in.num_rows, 1), 1);
  return std::clamp<size_t>(heap_per_chunk / average, 1, code.rows_per_chunk);
}

}  // namespace

row_program::row_program(std::shared_ptr<const code> program) : code_(std::move(program)) {}

const record::row_type& row_program::input() const { return code_->input; }
const record::row_type& row_program::output() const { return code_->output; }
bool row_program::keeps_all_rows() const { return !code_->steps.has_filter; }

void row_program::run(const record::batch& in, uint64_t first_row_number, record::batch_pool& pool,
                      std::vector<record::batch>& out) const {
  if (in.num_rows == 0) return;
  FLOWRUN_CHECK(in.row_bytes == code_->input.row_bytes());
  const output_layout& layout = code_->layout;
  if (layout.is_input_row && !code_->steps.has_filter) {
    out.push_back(in);
    return;
  }
  const frame_list::lease frame = code_->frames.take(pool);
  chunk_writer writer(layout, &in, in.num_rows, pool, out);
  const size_t num_before = out.size();
  const size_t most = rows_per_chunk(code_->steps, in);
  // Rows that were all kept by filters are only counted until the first one is dropped.
  size_t unchanged = 0;
  bool all_kept = layout.is_input_row;
  for (size_t first = 0; first < in.num_rows; first += most) {
    const size_t n = std::min(most, in.num_rows - first);
    const size_t kept = frame->run(in.row(first), in.row_bytes, in.heap, first_row_number + first, n);
    if (all_kept && kept == n) {
      unchanged += n;
      continue;
    }
    if (all_kept) writer.append_unchanged(0, unchanged);
    all_kept = false;
    writer.append(*frame, first, kept);
  }
  if (all_kept) {
    out.push_back(in);
    return;
  }
  writer.finish();
  if (keeps_all_rows()) {
    uint64_t at = in.first_row;
    for (size_t i = num_before; i < out.size(); ++i) {
      out[i].first_row = at;
      at += out[i].num_rows;
    }
  }
}

void row_program::generate(uint64_t first_row_number, size_t count, record::batch_pool& pool,
                           std::vector<record::batch>& out) const {
  FLOWRUN_CHECK(code_->input.num_columns() == 0);
  if (count == 0) return;
  const frame_list::lease frame = code_->frames.take(pool);
  const size_t most = code_->steps.rows_per_chunk;
  chunk_writer writer(code_->layout, nullptr, count, pool, out);
  const size_t num_before = out.size();
  for (size_t first = 0; first < count; first += most) {
    const size_t n = std::min(most, count - first);
    writer.append(*frame, first, frame->run(nullptr, 0, nullptr, first_row_number + first, n));
  }
  writer.finish();
  if (keeps_all_rows()) {
    uint64_t at = first_row_number;
    for (size_t i = num_before; i < out.size(); ++i) {
      out[i].first_row = at;
      at += out[i].num_rows;
    }
  }
}

struct row_program_builder::state {
  explicit state(record::row_type type) : input(std::move(type)), current(input), graph(input) {
    for (size_t i = 0; i < input.num_columns(); ++i) columns.push_back(graph.column(i));
  }
  record::row_type input, current;
  value_graph graph;
  std::vector<value_id> columns;     // of `current`
  std::vector<value_id> conditions;  // of the filters, in order
};

row_program_builder::row_program_builder(record::row_type input) : state_(std::make_unique<state>(std::move(input))) {}
row_program_builder::row_program_builder(row_program_builder&&) noexcept = default;
row_program_builder::~row_program_builder() = default;

const record::row_type& row_program_builder::current() const { return state_->current; }

void row_program_builder::filter(const expression& condition) {
  FLOWRUN_CHECK(condition.type().is_boolean());
  const value_id id = state_->graph.insert(condition.root(), state_->current, state_->columns, {});
  const value& v = state_->graph[id];
  if (v.op == opcode::constant && v.imm == 1) return;
  state_->conditions.push_back(id);
}

void row_program_builder::map(const std::vector<std::pair<std::string, expression>>& columns) {
  std::vector<record::column> types;
  std::vector<value_id> ids;
  std::set<std::string> names;
  for (const auto& [name, value] : columns) {
    FLOWRUN_CHECK(names.insert(name).second);
    types.push_back({name, value.type(), 0});
    ids.push_back(state_->graph.insert(value.root(), state_->current, state_->columns, {}));
  }
  state_->current = record::row_type(std::move(types));
  state_->columns = std::move(ids);
}

row_program row_program_builder::build() {
  auto code = std::make_shared<row_program::code>();
  code->input = state_->input;
  code->output = state_->current;
  std::vector<value_id> needed;
  code->layout = plan_output(state_->graph, state_->input, state_->current, state_->columns, needed);
  chunk_builder builder(state_->input, state_->graph);
  for (value_id condition : state_->conditions) builder.filter(condition);
  std::vector<register_ref> places;
  code->steps = builder.build(needed, code->layout.row_bytes, places);
  for (size_t i = 0; i < places.size(); ++i) code->layout.fields[i].place = places[i];
  state_.reset();
  return row_program(std::move(code));
}

}  // namespace flowrun::expr
