#include "engine/expr/row_program.h"

#include <algorithm>
#include <set>

#include "engine/base/error.h"
#include "engine/expr/chunk_code.h"
#include "engine/expr/chunk_writer.h"
#include "engine/expr/failed_step.h"
#include "engine/expr/value_graph.h"

namespace flowrun::expr {

struct row_program::code {
  record::row_type input, output;
  chunk_code chunk;
  output_layout layout;
  std::vector<program_step> told;  // what is said of failures; empty: only why
  mutable frame_list frames{chunk};
};

namespace {

// Row numbers of results, one for each row.
void number_rows(std::vector<record::batch>& out, size_t from, uint64_t first_row) {
  for (size_t i = from; i < out.size(); ++i) {
    out[i].first_row = first_row;
    first_row += out[i].num_rows;
  }
}

}  // namespace

row_program::row_program(std::shared_ptr<const code> program) : code_(std::move(program)) {}

const record::row_type& row_program::input() const { return code_->input; }
const record::row_type& row_program::output() const { return code_->output; }
bool row_program::keeps_all_rows() const { return !code_->chunk.has_filter; }

size_t row_program::run(const record::batch& in, uint64_t first_row_number, record::batch_pool& pool,
                        std::vector<record::batch>& out, const run_limits& limits) const {
  try {
    return run_over(in, first_row_number, pool, out, limits);
  } catch (const call_failed& cause) {
    if (code_->told.empty()) throw;
    throw with_place(cause, code_->input, code_->told, {&in, in.num_rows, first_row_number, limits}, pool);
  }
}

size_t row_program::generate(uint64_t first_row_number, size_t count, record::batch_pool& pool,
                             std::vector<record::batch>& out, const run_limits& limits) const {
  try {
    return run_generating(first_row_number, count, pool, out, limits);
  } catch (const call_failed& cause) {
    if (code_->told.empty()) throw;
    throw with_place(cause, code_->input, code_->told, {nullptr, count, first_row_number, limits}, pool);
  }
}

size_t row_program::run_over(const record::batch& in, uint64_t first_row_number, record::batch_pool& pool,
                             std::vector<record::batch>& out, const run_limits& limits) const {
  if (in.num_rows == 0) return 0;
  FLOWRUN_CHECK(in.row_bytes == code_->input.row_bytes());
  const output_layout& layout = code_->layout;
  if (layout.is_input_row && !code_->chunk.has_filter) {
    out.push_back(in);
    return in.num_rows;
  }
  const frame_list::lease frame = code_->frames.take(pool);
  frame->limit_texts(limits.row_bytes);
  chunk_writer writer(layout, &in, in.num_rows, limits, pool, out);
  const size_t num_before = out.size();
  // Rows that were all kept by filters are only counted until the first one is dropped.
  size_t unchanged = 0;
  bool all_kept = layout.is_input_row;
  size_t first = 0;
  while (first < in.num_rows && !writer.full()) {
    const size_t n = std::min(writer.rows_wanted(*frame), in.num_rows - first);
    const size_t kept = frame->run(in.row(first), in.row_bytes, in.heap, first_row_number + first, n);
    if (all_kept && kept == frame->num_taken()) {
      unchanged += kept;
      first += kept;
      continue;
    }
    if (all_kept) writer.append_unchanged(0, unchanged);
    all_kept = false;
    first += writer.append(*frame, first, kept);
  }
  if (all_kept) {
    out.push_back(in);
    return in.num_rows;
  }
  writer.finish();
  if (keeps_all_rows()) number_rows(out, num_before, in.first_row);
  return first;
}

size_t row_program::run_generating(uint64_t first_row_number, size_t count, record::batch_pool& pool,
                                   std::vector<record::batch>& out, const run_limits& limits) const {
  FLOWRUN_CHECK(code_->input.num_columns() == 0);
  if (count == 0) return 0;
  const frame_list::lease frame = code_->frames.take(pool);
  frame->limit_texts(limits.row_bytes);
  chunk_writer writer(code_->layout, nullptr, count, limits, pool, out);
  const size_t num_before = out.size();
  size_t first = 0;
  while (first < count && !writer.full()) {
    const size_t n = std::min(writer.rows_wanted(*frame), count - first);
    first += writer.append(*frame, first, frame->run(nullptr, 0, nullptr, first_row_number + first, n));
  }
  writer.finish();
  if (keeps_all_rows()) number_rows(out, num_before, first_row_number);
  return first;
}

struct row_program_builder::state {
  state(record::row_type type, failures how) : input(std::move(type)), current(input), graph(input), told(how) {
    for (size_t i = 0; i < input.num_columns(); ++i) columns.push_back(graph.column(i));
  }
  void filter(const expression& condition);
  void map(const std::vector<std::pair<std::string, expression>>& results);

  record::row_type input, current;
  value_graph graph;
  std::vector<value_id> columns;     // of `current`
  std::vector<value_id> conditions;  // of the filters, in order
  failures told;
  std::vector<program_step> steps;
};

row_program_builder::row_program_builder(record::row_type input, failures told)
    : state_(std::make_unique<state>(std::move(input), told)) {}
row_program_builder::row_program_builder(row_program_builder&&) noexcept = default;
row_program_builder::~row_program_builder() = default;

const record::row_type& row_program_builder::current() const { return state_->current; }

void row_program_builder::filter(const expression& condition) { add(program_step::filter(condition)); }

void row_program_builder::map(const std::vector<std::pair<std::string, expression>>& columns) {
  add(program_step::map(columns));
}

void row_program_builder::add(const program_step& step) {
  if (step.is_filter())
    state_->filter(*step.condition);
  else
    state_->map(step.columns);
  if (state_->told == failures::with_their_place) state_->steps.push_back(step);
}

void row_program_builder::state::filter(const expression& condition) {
  FLOWRUN_CHECK(condition.type().is_boolean());
  const value_id id = graph.insert(condition.root(), current, columns, {});
  const value& v = graph[id];
  if (v.op == opcode::constant && v.imm == 1) return;
  conditions.push_back(id);
}

void row_program_builder::state::map(const std::vector<std::pair<std::string, expression>>& results) {
  std::vector<record::column> types;
  std::vector<value_id> ids;
  std::set<std::string> names;
  for (const auto& [name, value] : results) {
    FLOWRUN_CHECK(names.insert(name).second);
    types.push_back({name, value.type(), 0});
    ids.push_back(graph.insert(value.root(), current, columns, {}));
  }
  current = record::row_type(std::move(types));
  columns = std::move(ids);
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
  code->chunk = builder.build(needed, code->layout.row_bytes, places);
  for (size_t i = 0; i < places.size(); ++i) code->layout.fields[i].place = places[i];
  code->told = std::move(state_->steps);
  state_.reset();
  return row_program(std::move(code));
}

}  // namespace flowrun::expr
