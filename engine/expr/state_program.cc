// Within one row the state is in single assignment form: a variable after an assignment is another value of the graph.
// So updates need no order of their own; the row ends by writing the last value of each variable back.
#include "engine/expr/state_program.h"

#include <algorithm>
#include <set>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/expr/chunk_code.h"
#include "engine/expr/chunk_writer.h"
#include "engine/expr/coerce.h"
#include "engine/expr/primitive.h"
#include "engine/expr/scalars.h"
#include "engine/expr/value_graph.h"
#include "engine/record/row_too_large.h"

namespace flowrun::expr {

namespace {

// Where the row-at-a-time part finds a value.
struct source {
  enum class from : uint8_t { input, slot, state };
  from where = from::input;
  uint32_t index = 0;
};

struct scalar_step {
  opcode op = opcode::constant;
  bool is_text = false;  // the result
  source out;            // a slot, or a state cell that nothing reads any more in this row
  std::vector<source> args;
  std::vector<bool> text_args;  // which of them are texts
  uint64_t imm = 0, imm2 = 0;
  text_kernel texts = nullptr;
  std::shared_ptr<const outside_call> call;  // keeps what imm points to
};

// A state variable: its start, and where its value at the end of a row comes from.
struct state_cell {
  bool is_text = false;
  uint64_t initial_lane = 0;
  std::string initial_text;
  bool is_updated = false;
  source last;
};

struct capture {
  bool is_text = false;
  source from;
  bool in_heap = false;  // a text of the input batch, which must not be moved: the output refers to the batch's heap
};

struct scalar_code {
  std::vector<scalar_step> steps;
  std::vector<state_cell> cells;
  std::vector<capture> captures;
  uint32_t num_slots = 0;
  bool has_text_steps = false;
  bool reads_old_state_late = false;  // an update's source is a state cell: all sources are read before any is written
};

constexpr size_t most_spare_bytes = 64 * KiB;         // kept for the next value of a text
constexpr uint64_t texts_of_tiny_budgets = 16 * MiB;  // that a state may have, however little a row may take

}  // namespace

struct state_program::code {
  record::row_type input, output;
  chunk_code steps;
  output_layout layout;
  scalar_code scalar;
  bool may_be_cut = false;  // a chunk may end before rows that the state has seen
  mutable frame_list frames{steps};
};

// The state between rows, and the row-at-a-time interpreter.
struct state_program::memory final : scan_step {
  explicit memory(const scalar_code& program) : scalar(program) {
    lanes.resize(scalar.cells.size());
    texts.resize(scalar.cells.size());
    views.resize(scalar.cells.size());
    next_lanes.resize(scalar.cells.size());
    slots.resize(std::max<size_t>(scalar.num_slots, 1));
    text_slots.resize(slots.size());
    reset();
  }

  void reset() {
    for (size_t k = 0; k < scalar.cells.size(); ++k) {
      lanes[k] = scalar.cells[k].initial_lane;
      texts[k] = scalar.cells[k].initial_text;
      views[k] = texts[k];
    }
  }

  // The state as it is now is what go_back() returns to.
  void remember() {
    lanes_before = lanes;
    texts_before = texts;
  }
  void go_back() {
    lanes = lanes_before;
    for (size_t k = 0; k < texts.size(); ++k) {
      texts[k] = texts_before[k];
      views[k] = texts[k];
    }
  }

  const void* at(source s, bool is_text, const std::vector<text_operand>& in, size_t& step) const {
    step = 0;
    switch (s.where) {
      case source::from::input: step = in[s.index].step; return in[s.index].data;
      case source::from::slot:
        return is_text ? static_cast<const void*>(&text_slots[s.index]) : static_cast<const void*>(&slots[s.index]);
      case source::from::state:
        return is_text ? static_cast<const void*>(&views[s.index]) : static_cast<const void*>(&lanes[s.index]);
    }
    internal_error("state_program: unknown source");
  }

  struct bound_step {
    bool is_text;
    size_t index;  // of the scalar_step
    bound_primitive numbers;
  };
  struct bound_capture {
    lane_source from;
    uint64_t* out;
  };
  struct update {
    size_t cell;
    lane_source from;
  };

  lane_source lane_at(source s, const std::vector<text_operand>& in) const {
    lane_source operand;
    operand.data = static_cast<const uint64_t*>(at(s, false, in, operand.step));
    return operand;
  }

  size_t run(const std::vector<text_operand>& in, const std::vector<void*>& out, text_arena& arena,
             size_t num_rows) override {
    bind(in, out);
    const bool numbers_only = text_captures.empty() && text_updates.empty() && !scalar.has_text_steps;
    if (numbers_only && bound.size() == 1 && updates.empty()) {
      run_one(bound[0].numbers, num_rows);
      return num_rows;
    }
    for (size_t row = 0; row < num_rows; ++row) {
      if (row > 0 && arena.step_is_full()) return row;
      for (const bound_step& s : bound) {
        if (s.is_text)
          run_text(s, row, arena);
        else
          s.numbers.run(row);
      }
      for (const bound_capture& c : captured) c.out[row] = c.from.get(row);
      for (size_t k : text_captures) {
        const text_operand from = text_at(scalar.captures[k].from, in);
        const std::string_view text = static_cast<const std::string_view*>(from.data)[row * from.step];
        static_cast<std::string_view*>(out[k])[row] = scalar.captures[k].in_heap ? text : arena.keep(text);
      }
      if (scalar.reads_old_state_late) {
        for (const update& u : updates) next_lanes[u.cell] = u.from.get(row);
        for (const update& u : updates) lanes[u.cell] = next_lanes[u.cell];
      } else {
        for (const update& u : updates) lanes[u.cell] = u.from.get(row);
      }
      if (!text_updates.empty()) update_texts(row, in);
    }
    return num_rows;
  }

  // One primitive a row (a running sum, a maximum): chosen once for the chunk.
  void run_one(const bound_primitive& s, size_t num_rows) const {
    with_primitive(s.op, s.m, s.m2, [&](auto primitive) {
      for (size_t row = 0; row < num_rows; ++row) {
        *s.out = primitive(s.a.get(row), s.b.get(row), s.c.get(row));
        for (const bound_capture& c : captured) c.out[row] = c.from.get(row);
      }
    });
  }

  text_operand text_at(source s, const std::vector<text_operand>& in) const {
    text_operand operand;
    operand.data = at(s, true, in, operand.step);
    return operand;
  }

  void bind(const std::vector<text_operand>& in, const std::vector<void*>& out) {
    const lane_source nothing = {slots.data(), 0};
    bound.clear();
    text_args.resize(scalar.steps.size());
    for (size_t k = 0; k < scalar.steps.size(); ++k) {
      const scalar_step& code = scalar.steps[k];
      bound_step s = {is_text_op(code.op), k, {code.op, nothing, nothing, nothing, code.imm, code.imm2, nullptr}};
      if (!code.is_text)
        s.numbers.out = code.out.where == source::from::state ? &lanes[code.out.index] : &slots[code.out.index];
      if (s.is_text) {
        text_args[k].clear();
        for (size_t i = 0; i < code.args.size(); ++i) {
          text_operand operand;
          operand.data = at(code.args[i], code.text_args[i], in, operand.step);
          text_args[k].push_back(operand);
        }
      } else {
        if (!code.args.empty()) s.numbers.a = lane_at(code.args[0], in);
        if (code.args.size() > 1) s.numbers.b = lane_at(code.args[1], in);
        if (code.args.size() > 2) s.numbers.c = lane_at(code.args[2], in);
      }
      bound.push_back(s);
    }
    captured.clear();
    text_captures.clear();
    for (size_t k = 0; k < scalar.captures.size(); ++k) {
      if (scalar.captures[k].is_text)
        text_captures.push_back(k);
      else
        captured.push_back({lane_at(scalar.captures[k].from, in), static_cast<uint64_t*>(out[k])});
    }
    updates.clear();
    text_updates.clear();
    for (size_t k = 0; k < scalar.cells.size(); ++k) {
      if (!scalar.cells[k].is_updated) continue;
      if (scalar.cells[k].is_text)
        text_updates.push_back(k);
      else
        updates.push_back({k, lane_at(scalar.cells[k].last, in)});
    }
  }

  void run_text(const bound_step& s, size_t row, text_arena& arena) {
    const scalar_step& code = scalar.steps[s.index];
    row_args.clear();
    for (size_t i = 0; i < code.args.size(); ++i) {
      const size_t cell = code.text_args[i] ? sizeof(std::string_view) : sizeof(uint64_t);
      const text_operand& arg = text_args[s.index][i];
      row_args.push_back({static_cast<const std::byte*>(arg.data) + row * arg.step * cell, 0});
    }
    text_call call;
    call.args = row_args.data();
    call.num_args = row_args.size();
    call.out = code.is_text ? static_cast<void*>(&text_slots[code.out.index]) : s.numbers.out;
    call.imm = code.imm;
    call.arena = &arena;
    call.num_rows = 1;
    code.texts(call);
  }

  void update_texts(size_t row, const std::vector<text_operand>& in) {
    // New values may be views into old ones.
    next_texts.resize(text_updates.size());
    for (size_t k = 0; k < text_updates.size(); ++k) {
      const text_operand from = text_at(scalar.cells[text_updates[k]].last, in);
      next_texts[k].assign(static_cast<const std::string_view*>(from.data)[row * from.step]);
    }
    for (size_t k = 0; k < text_updates.size(); ++k) {
      texts[text_updates[k]].swap(next_texts[k]);
      views[text_updates[k]] = texts[text_updates[k]];
      if (next_texts[k].capacity() > most_spare_bytes) next_texts[k] = std::string();
    }
    uint64_t num_bytes = 0;
    for (const std::string& text : texts) num_bytes += text.size();
    if (num_bytes > most_text_bytes) throw record::row_too_large("the texts of its state", num_bytes, most_text_bytes);
  }

  const scalar_code& scalar;
  uint64_t most_text_bytes = UINT64_MAX;
  std::vector<uint64_t> lanes, next_lanes;
  std::vector<std::string> texts, next_texts;
  std::vector<std::string_view> views;
  std::vector<uint64_t> lanes_before;
  std::vector<std::string> texts_before;
  std::vector<uint64_t> slots;
  std::vector<std::string_view> text_slots;
  std::vector<bound_step> bound;
  std::vector<std::vector<text_operand>> text_args;  // per step
  std::vector<bound_capture> captured;
  std::vector<size_t> text_captures, text_updates;
  std::vector<update> updates;
  std::vector<text_operand> row_args;
};

state_program::state_program(std::shared_ptr<const code> program)
    : code_(std::move(program)), memory_(std::make_unique<memory>(code_->scalar)) {}
state_program::state_program(state_program&&) noexcept = default;
state_program& state_program::operator=(state_program&&) noexcept = default;
state_program::~state_program() = default;

const record::row_type& state_program::input() const { return code_->input; }
const record::row_type& state_program::output() const { return code_->output; }
void state_program::reset() { memory_->reset(); }

size_t state_program::run(const record::batch& in, uint64_t first_row_number, record::batch_pool& pool,
                          std::vector<record::batch>& out, const run_limits& limits) {
  if (in.num_rows == 0) return 0;
  FLOWRUN_CHECK(in.row_bytes == code_->input.row_bytes());
  const frame_list::lease frame = code_->frames.take(pool);
  frame->limit_texts(limits.row_bytes);
  memory_->most_text_bytes = std::max(limits.row_bytes, texts_of_tiny_budgets);
  chunk_writer writer(code_->layout, &in, in.num_rows, limits, pool, out);
  size_t first = 0;
  const auto run_rows = [&](size_t n) {
    return frame->run(in.row(first), in.row_bytes, in.heap, first_row_number + first, n, memory_.get());
  };
  while (first < in.num_rows && !writer.full()) {
    if (code_->may_be_cut) memory_->remember();
    const size_t kept = run_rows(std::min(writer.rows_wanted(*frame), in.num_rows - first));
    const size_t num_scanned = frame->num_scanned();
    const size_t num_done = writer.append(*frame, first, kept);
    if (num_done < num_scanned) {  // texts behind the state got long: the state has seen rows whose turn is yet to come
      memory_->go_back();
      run_rows(num_done);
      FLOWRUN_CHECK(frame->num_taken() == num_done);
      frame->want_rows(num_done);
    }
    first += num_done;
  }
  writer.finish();
  return first;
}

struct state_program_builder::state {
  state(record::row_type type, std::vector<variable> names)
      : input(std::move(type)), variables(std::move(names)), graph(input) {
    for (size_t i = 0; i < input.num_columns(); ++i) columns.push_back(graph.column(i));
  }
  // A new state cell; its value at the start of a row.
  value_id add_cell(state_cell cell) {
    const value_id id = graph.state(cells.size(), cell.is_text);
    cells.push_back(std::move(cell));
    return id;
  }
  value_id insert(const node_ptr& root) { return graph.insert(root, input, columns, now); }

  record::row_type input;
  std::vector<variable> variables;
  value_graph graph;
  std::vector<value_id> columns;
  std::vector<state_cell> cells;  // the variables, then what reset_on_change remembers
  std::vector<value_id> now;      // per cell: its value after the assignments so far
  bool has_assignments = false, has_reset = false, has_output = false;
  std::optional<value_id> condition;
  record::row_type output;
  std::vector<value_id> emitted;
};

state_program_builder::state_program_builder(record::row_type input, std::vector<variable> variables,
                                             const std::vector<expression>& initial)
    : state_(std::make_unique<state>(std::move(input), std::move(variables))) {
  FLOWRUN_CHECK(initial.size() == state_->variables.size());
  for (size_t k = 0; k < initial.size(); ++k) {
    FLOWRUN_CHECK(initial[k].type() == state_->variables[k].type);
    const node_ptr start = constant_value(initial[k].root());
    FLOWRUN_CHECK(start != nullptr);
    state_cell cell;
    cell.is_text = start->type.is_text();
    cell.initial_lane = start->imm;
    cell.initial_text = start->text;
    state_->now.push_back(state_->add_cell(std::move(cell)));
  }
}

state_program_builder::state_program_builder(state_program_builder&&) noexcept = default;
state_program_builder::~state_program_builder() = default;

void state_program_builder::set(size_t index, const expression& value) {
  FLOWRUN_CHECK(index < state_->variables.size());
  FLOWRUN_CHECK(value.type() == state_->variables[index].type);
  state_->now[index] = state_->insert(value.root());
  state_->has_assignments = true;
}

void state_program_builder::reset_on_change(const std::vector<expression>& keys) {
  FLOWRUN_CHECK(!state_->has_assignments && !state_->has_reset && !keys.empty());
  state_->has_reset = true;
  value_graph& graph = state_->graph;
  // Before the first row the state is at its start, so that it doesn't matter what the "row before" had.
  std::optional<value_id> changed;
  for (const expression& key : keys) {
    const bool text = key.type().is_text();
    const value_id value = state_->insert(key.root());
    FLOWRUN_CHECK(!graph[value].stateful);
    state_cell before;
    before.is_text = text;
    const value_id previous = state_->add_cell(std::move(before));
    state_->now.push_back(value);
    const value_id differs = text
                                 ? graph.primitive(opcode::not_b, {graph.primitive(opcode::eq_text, {value, previous})})
                                 : graph.primitive(opcode::ne, {value, previous});
    changed = changed ? graph.primitive(opcode::bit_or, {*changed, differs}) : differs;
  }
  for (size_t k = 0; k < state_->variables.size(); ++k) {
    const state_cell& cell = state_->cells[k];
    const value_id start =
        cell.is_text ? state_->insert(text_node(cell.initial_text)) : graph.number(cell.initial_lane);
    state_->now[k] =
        graph.primitive(cell.is_text ? opcode::select_text : opcode::select, {*changed, start, state_->now[k]});
  }
}

void state_program_builder::emit_when(const expression& condition) {
  FLOWRUN_CHECK(condition.type().is_boolean());
  state_->condition = state_->insert(condition.root());
}

void state_program_builder::emit(const std::vector<std::pair<std::string, expression>>& columns) {
  std::vector<record::column> types;
  std::set<std::string> names;
  state_->emitted.clear();
  for (const auto& [name, value] : columns) {
    FLOWRUN_CHECK(names.insert(name).second);
    types.push_back({name, value.type(), 0});
    state_->emitted.push_back(state_->insert(value.root()));
  }
  state_->output = record::row_type(std::move(types));
  state_->has_output = true;
}

namespace {

// Where the last reader of a cell's old value is the step that computes its new value (or one before), that step can
// write the cell itself. That saves one copy and one trip through memory for each row.
void write_state_directly(scalar_code& scalar) {
  const auto is = [](const source& s, source::from where, size_t index) {
    return s.where == where && s.index == index;
  };
  for (size_t k = 0; k < scalar.cells.size(); ++k) {
    state_cell& cell = scalar.cells[k];
    if (cell.is_text || !cell.is_updated || cell.last.where != source::from::slot) continue;
    const source old_place = cell.last;
    const auto reads_old = [&](const source& s) { return is(s, source::from::state, k); };
    size_t producer = 0;
    while (!is(scalar.steps[producer].out, source::from::slot, old_place.index)) ++producer;
    bool late = false;
    for (size_t t = producer + 1; t < scalar.steps.size(); ++t)
      late = late || std::any_of(scalar.steps[t].args.begin(), scalar.steps[t].args.end(), reads_old);
    for (const capture& c : scalar.captures) late = late || (!c.is_text && reads_old(c.from));
    size_t users = 0;  // cells that take this value: only one can be its place
    for (const state_cell& other : scalar.cells) {
      late = late || (!other.is_text && other.is_updated && reads_old(other.last));
      users += !other.is_text && other.is_updated && is(other.last, source::from::slot, old_place.index) ? 1 : 0;
    }
    if (late || users > 1) continue;
    const source new_place = {source::from::state, static_cast<uint32_t>(k)};
    const auto move = [&](source& s) {
      if (is(s, source::from::slot, old_place.index)) s = new_place;
    };
    scalar.steps[producer].out = new_place;
    for (size_t t = producer + 1; t < scalar.steps.size(); ++t)
      for (source& arg : scalar.steps[t].args) move(arg);
    for (capture& c : scalar.captures)
      if (!c.is_text) move(c.from);
    cell.is_updated = false;
  }
}

}  // namespace

state_program state_program_builder::build() {
  FLOWRUN_CHECK(state_->has_output);
  const value_graph& graph = state_->graph;
  auto code = std::make_shared<state_program::code>();
  code->input = state_->input;
  code->output = state_->output;
  scalar_code& scalar = code->scalar;
  std::vector<value_id> needed;
  code->layout = plan_output(graph, state_->input, state_->output, state_->emitted, needed);

  // What is needed behind the row-at-a-time part, and what that part computes.
  std::vector<bool> wanted(graph.num_values(), false);
  std::vector<value_id> captures;
  const auto capture_value = [&](value_id id) {
    if (!graph[id].stateful || std::find(captures.begin(), captures.end(), id) != captures.end()) return;
    captures.push_back(id);
    wanted[id] = true;
  };
  for (value_id id : needed) capture_value(id);
  if (state_->condition) capture_value(*state_->condition);
  for (value_id id : state_->now) wanted[id] = true;
  for (value_id id = static_cast<value_id>(graph.num_values()); id-- > 0;)
    if (wanted[id] && graph[id].stateful)
      for (value_id arg : graph[id].args) wanted[arg] = true;

  std::vector<value_id> inputs;
  std::vector<source> place(graph.num_values());
  for (value_id id = 0; id < graph.num_values(); ++id) {
    if (!wanted[id]) continue;
    const value& v = graph[id];
    if (!v.stateful) {
      place[id] = {source::from::input, static_cast<uint32_t>(inputs.size())};
      inputs.push_back(id);
    } else if (v.op == opcode::state) {
      place[id] = {source::from::state, static_cast<uint32_t>(v.imm)};
    } else {
      scalar_step s;
      s.op = v.op;
      s.is_text = v.is_text;
      s.out = {source::from::slot, scalar.num_slots++};
      scalar.has_text_steps = scalar.has_text_steps || is_text_op(v.op);
      for (value_id arg : v.args) {
        s.args.push_back(place[arg]);
        s.text_args.push_back(graph[arg].is_text);
      }
      s.imm = v.imm;
      s.imm2 = v.imm2;
      if (is_text_op(v.op)) s.texts = text_kernel_for(v.op);
      s.call = v.call;
      place[id] = s.out;
      scalar.steps.push_back(std::move(s));
    }
  }
  for (value_id id : captures) scalar.captures.push_back({graph[id].is_text, place[id], graph[id].in_heap});
  scalar.cells = std::move(state_->cells);
  for (size_t k = 0; k < scalar.cells.size(); ++k) {
    state_cell& cell = scalar.cells[k];
    cell.last = place[state_->now[k]];
    const bool from_state = cell.last.where == source::from::state;
    cell.is_updated = !(from_state && cell.last.index == k);
    scalar.reads_old_state_late = scalar.reads_old_state_late || (from_state && cell.is_updated);
  }
  write_state_directly(scalar);

  chunk_builder builder(state_->input, graph);
  builder.scan(std::move(inputs), std::move(captures));
  if (state_->condition) builder.filter(*state_->condition);
  std::vector<register_ref> places;
  code->steps = builder.build(needed, code->layout.row_bytes, places);
  for (size_t i = 0; i < places.size(); ++i) code->layout.fields[i].place = places[i];
  code->may_be_cut =
      code->layout.copies_strings || std::any_of(code->steps.steps.begin(), code->steps.steps.end(),
                                                 [](const step& s) { return s.kind == step_kind::texts; });
  state_.reset();
  return state_program(std::move(code));
}

}  // namespace flowrun::expr
