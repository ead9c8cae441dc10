#include "engine/expr/chunk_code.h"

#include <algorithm>
#include <limits>
#include <map>
#include <new>

#include "engine/base/error.h"
#include "engine/base/mutex.h"

namespace flowrun::expr {

namespace {

// Rows of a chunk for which the frame and the output rows stay small. The frame is what a thread holds on to, and what
// should stay in the cache from one step to the next.
size_t rows_for(const chunk_code& code, size_t output_row_bytes) {
  constexpr size_t most_bytes = size_t{1} << 20, step = 16;
  const size_t frame_bytes =
      size_t{code.num_number_registers} * sizeof(uint64_t) + size_t{code.num_text_registers} * sizeof(std::string_view);
  const size_t per_row = std::max({frame_bytes, output_row_bytes, size_t{1}});
  return std::clamp(most_bytes / per_row / step * step, step, chunk_rows);
}

// Steps that make new texts share one arena; a share is worth a chunk of short texts.
size_t arena_share_for(size_t num_steps) {
  return std::max<size_t>(text_arena::usual_share / std::max<size_t>(num_steps, 1), 64 * 1024);
}

}  // namespace

// Computing a value, or a stage between.
struct chunk_builder::event {
  const stage* at = nullptr;  // null: compute `id`
  value_id id = 0;
};

// Registers by number, reused once their value is dead.
class chunk_builder::allocator {
 public:
  uint32_t take() {
    if (free_.empty()) return num_registers++;
    const uint32_t r = free_.back();
    free_.pop_back();
    return r;
  }
  void give_back(uint32_t r) { free_.push_back(r); }
  uint32_t num_registers = 0;

 private:
  std::vector<uint32_t> free_;
};

chunk_code chunk_builder::build(const std::vector<value_id>& results, size_t output_row_bytes,
                                std::vector<register_ref>& places) {
  constexpr size_t never = 0, at_end = std::numeric_limits<size_t>::max();
  const size_t num_values = graph_.num_values();
  const auto is_leaf_constant = [&](value_id id) {
    return graph_[id].op == opcode::constant || graph_[id].op == opcode::text_constant;
  };
  const auto as_immediate = [&](const value& v) {
    return is_binary(v.op) && graph_[v.args[1]].op == opcode::constant && graph_[v.args[0]].op != opcode::constant;
  };

  // The order: before each stage, what it needs and nothing more.
  std::vector<event> events;
  std::vector<bool> ordered(num_values, false);
  const auto order = [&](const std::vector<value_id>& needed) {
    std::vector<bool> wanted(num_values, false);
    for (value_id id : needed) wanted[id] = true;
    for (value_id id = static_cast<value_id>(num_values); id-- > 0;)
      if (wanted[id] && !ordered[id])
        for (value_id arg : graph_[id].args) wanted[arg] = true;
    for (value_id id = 0; id < num_values; ++id) {
      if (!wanted[id] || ordered[id] || is_leaf_constant(id)) continue;
      FLOWRUN_CHECK(!graph_[id].stateful);  // those are captured by the scan
      ordered[id] = true;
      events.push_back({nullptr, id});
    }
  };
  for (const stage& s : stages_) {
    order(s.needs);
    for (value_id id : s.defines) ordered[id] = true;
    events.push_back({&s, 0});
  }
  order(results);

  // Event after which a value is dead.
  std::vector<size_t> last_use(num_values, never);
  for (size_t t = 0; t < events.size(); ++t)
    for (value_id id : events[t].at != nullptr ? events[t].at->needs : graph_[events[t].id].args) last_use[id] = t + 1;
  for (value_id id : results) last_use[id] = at_end;

  chunk_code code;
  allocator numbers, texts;
  std::vector<register_ref> place(num_values);
  std::vector<bool> placed(num_values, false);
  std::vector<value_id> live;
  const auto put = [&](value_id id) {
    const bool text = graph_[id].is_text;
    place[id] = {text ? register_ref::file::texts : register_ref::file::numbers, text ? texts.take() : numbers.take()};
    placed[id] = true;
    live.push_back(id);
    return place[id];
  };
  const auto operand = [&](value_id id) {
    if (is_leaf_constant(id) && !placed[id]) {
      if (graph_[id].is_text) {
        place[id] = {register_ref::file::text_constants, static_cast<uint32_t>(code.text_constants.size())};
        code.text_constants.push_back(graph_[id].text);
      } else {
        place[id] = {register_ref::file::numbers, numbers.take()};
        code.number_constants.push_back({place[id].index, graph_[id].imm});
      }
      placed[id] = true;
    }
    FLOWRUN_CHECK(placed[id]);
    return place[id];
  };
  // Constants of numbers never share a register with anything: they are taken first, so theirs are the lowest.
  for (const event& e : events) {
    if (e.at != nullptr) {
      for (value_id id : e.at->needs)
        if (is_leaf_constant(id)) operand(id);
      continue;
    }
    const value& v = graph_[e.id];
    for (size_t i = 0; i < v.args.size(); ++i)
      if (is_leaf_constant(v.args[i]) && !(i == 1 && as_immediate(v))) operand(v.args[i]);
  }
  for (value_id id : results)
    if (is_leaf_constant(id)) operand(id);

  const kernel_set& set = kernels();
  size_t num_text_steps = 0;
  for (size_t t = 0; t < events.size(); ++t) {
    step s;
    if (const stage* at = events[t].at) {
      s.kind = at->kind == stage_kind::filter ? step_kind::filter : step_kind::scan;
      for (value_id id : at->needs) s.args.push_back(operand(id));
      if (at->kind == stage_kind::filter) {
        code.has_filter = true;
        for (value_id id : live)
          if (last_use[id] > t + 1) (graph_[id].is_text ? s.live_texts : s.live_numbers).push_back(place[id].index);
      } else {
        // Captures follow the inputs in args.
        s.imm = s.args.size();
        for (value_id id : at->defines) s.args.push_back(put(id));
        ++num_text_steps;
      }
    } else {
      const value& v = graph_[events[t].id];
      const auto op = static_cast<size_t>(v.op);
      s.imm = v.imm;
      s.imm2 = v.imm2;
      if (v.op == opcode::column) {
        const record::column& c = input_[v.imm];
        s.kind = c.type.is_string()  ? step_kind::load_string
                 : c.type.is_bytes() ? step_kind::load_bytes
                                     : step_kind::load;
        s.offset = c.offset;
        s.num_bytes = c.type.num_bytes;
        s.load = set.load[static_cast<size_t>(c.type.kind)];
      } else if (v.op == opcode::row_number) {
        s.kind = step_kind::number_rows;
      } else if (is_text_op(v.op)) {
        s.kind = step_kind::texts;
        s.texts = text_kernel_for(v.op);
        s.call = v.call;
        num_text_steps += makes_new_text(v.op) ? 1 : 0;
        for (value_id id : v.args) s.args.push_back(operand(id));
      } else {
        s.kind = step_kind::lanes;
        const bool immediate = as_immediate(v);
        s.lanes = immediate ? set.immediate[op] : set.lanes[op];
        for (size_t i = 0; i < v.args.size() - (immediate ? 1 : 0); ++i) s.args.push_back(operand(v.args[i]));
        if (immediate) s.imm = graph_[v.args[1]].imm;
      }
      s.out = put(events[t].id);
    }
    code.steps.push_back(std::move(s));
    std::erase_if(live, [&](value_id id) {
      if (last_use[id] > t + 1) return false;
      (graph_[id].is_text ? texts : numbers).give_back(place[id].index);
      return true;
    });
  }
  places.clear();
  for (value_id id : results) places.push_back(operand(id));
  code.num_number_registers = numbers.num_registers;
  code.num_text_registers = texts.num_registers;
  code.rows_per_chunk = rows_for(code, output_row_bytes);
  code.arena_share = arena_share_for(num_text_steps);
  return code;
}

chunk_frame::chunk_frame(const chunk_code& code, record::batch_pool& pool)
    : code_(code), kernels_(kernels()), arena_(pool), rows_wanted_(code.rows_per_chunk) {
  const size_t number_bytes = code.num_number_registers * code.rows_per_chunk * sizeof(uint64_t);
  const size_t text_bytes = code.num_text_registers * code.rows_per_chunk * sizeof(std::string_view);
  if (number_bytes + text_bytes > 0) memory_ = pool.take(number_bytes + text_bytes);
  numbers_ = reinterpret_cast<uint64_t*>(memory_.get());
  texts_ = reinterpret_cast<std::string_view*>(memory_.get() + number_bytes);
  for (const auto& [index, lane] : code.number_constants) std::fill_n(numbers_at(index), code.rows_per_chunk, lane);
  for (const std::string& text : code.text_constants) text_constants_.push_back(text);
  prepare_calls();
}

void* chunk_frame::cells(register_ref r) const {
  return r.where == register_ref::file::numbers ? static_cast<void*>(numbers_at(r.index))
                                                : static_cast<void*>(texts_at(r.index));
}

text_operand chunk_frame::operand(register_ref r) const {
  if (r.where == register_ref::file::text_constants) return {&text_constants_[r.index], 0};
  // One cell of a constant is enough, and leaves room in the cache for what differs from row to row.
  const bool is_constant = r.where == register_ref::file::numbers && r.index < code_.number_constants.size();
  return {cells(r), is_constant ? size_t{0} : size_t{1}};
}

void chunk_frame::filter(const step& s, size_t& n) {
  const size_t kept = kernels_.positions(positions_, numbers(s.args[0]), n);
  if (kept == n) return;
  n = kept;
  for (uint32_t r : s.live_numbers) kernels_.compact(numbers_at(r), positions_, kept);
  for (uint32_t r : s.live_texts) {
    std::string_view* const views = texts_at(r);
    for (size_t i = 0; i < kept; ++i) views[i] = views[positions_[i]];
  }
  if (selected_)
    kernels_.compact_rows(rows_, positions_, kept);
  else
    std::copy_n(positions_, kept, rows_);
  selected_ = true;
}

void chunk_frame::prepare_calls() {
  for (const step& s : code_.steps)
    if (s.kind == step_kind::texts)
      for (const register_ref r : s.args) operands_.push_back(operand(r));
  const text_operand* args = operands_.data();
  for (const step& s : code_.steps) {
    text_call& call = calls_.emplace_back();
    if (s.kind != step_kind::texts) continue;
    call.args = args;
    call.num_args = s.args.size();
    call.out = cells(s.out);
    call.imm = s.imm;
    call.arena = &arena_;
    args += s.args.size();
  }
}

size_t chunk_frame::run_texts(const step& s, size_t n) {
  text_call& call = calls_[static_cast<size_t>(&s - code_.steps.data())];
  call.num_rows = n;
  arena_.begin_step(code_.arena_share);
  return s.texts(call);
}

size_t chunk_frame::run_scan(const step& s, scan_step& scan, size_t n) {
  std::vector<text_operand> in;
  std::vector<void*> out;
  for (size_t i = 0; i < s.args.size(); ++i) {
    if (i < s.imm)
      in.push_back(operand(s.args[i]));
    else
      out.push_back(cells(s.args[i]));
  }
  arena_.begin_step(code_.arena_share);
  return scan.run(in, out, arena_, n);
}

// A step has done the first `done` of n rows: the chunk ends before the next of them.
void chunk_frame::cut(size_t& n, size_t done) {
  if (done == n) return;
  num_taken_ = position(done);
  n = done;
}

size_t chunk_frame::run(const std::byte* rows, size_t row_bytes, const std::byte* heap, uint64_t first_row,
                        size_t num_rows, scan_step* scan) {
  size_t n = num_rows;
  num_taken_ = num_rows;
  num_scanned_ = 0;
  selected_ = false;
  arena_.clear();
  for (const step& s : code_.steps) {
    const uint16_t* const picked = selected();
    switch (s.kind) {
      case step_kind::load: s.load(static_cast<uint64_t*>(cells(s.out)), rows + s.offset, row_bytes, picked, n); break;
      case step_kind::load_bytes: {
        auto* const out = static_cast<std::string_view*>(cells(s.out));
        const char* const field = reinterpret_cast<const char*>(rows) + s.offset;
        for (size_t i = 0; i < n; ++i) out[i] = {field + (picked ? picked[i] : i) * row_bytes, s.num_bytes};
        break;
      }
      case step_kind::load_string: {
        auto* const out = static_cast<std::string_view*>(cells(s.out));
        const std::byte* const field = rows + s.offset;
        for (size_t i = 0; i < n; ++i) out[i] = record::load_string(field + (picked ? picked[i] : i) * row_bytes, heap);
        break;
      }
      case step_kind::number_rows:
        kernels_.number_rows(static_cast<uint64_t*>(cells(s.out)), first_row, picked, n);
        break;
      case step_kind::lanes: {
        const auto arg = [&](size_t i) { return i < s.args.size() ? numbers(s.args[i]) : nullptr; };
        s.lanes(static_cast<uint64_t*>(cells(s.out)), arg(0), arg(1), arg(2), s.imm, s.imm2, n);
        break;
      }
      case step_kind::texts: cut(n, run_texts(s, n)); break;
      case step_kind::filter: filter(s, n); break;
      case step_kind::scan:
        cut(n, run_scan(s, *scan, n));
        num_scanned_ = n;
        break;
    }
    if (n == 0) break;
  }
  // Rows that are alike get a chunk of their own length; where they get shorter again it grows.
  rows_wanted_ =
      num_taken_ < num_rows ? num_taken_ : std::min(std::max(rows_wanted_, 2 * num_rows), code_.rows_per_chunk);
  return n;
}

frame_list::lease frame_list::take(record::batch_pool& pool) {
  {
    mutex_lock lock(mutex_);
    if (!free_.empty()) {
      chunk_frame* const frame = free_.back().release();
      free_.pop_back();
      return {frame, {this}};
    }
  }
  auto frame = std::make_unique<chunk_frame>(code_, pool);
  mutex_lock lock(mutex_);
  free_.reserve(num_frames_ + 1);
  ++num_frames_;
  return {frame.release(), {this}};
}

void frame_list::give_back(chunk_frame* frame) noexcept {
  frame->forget_texts();
  mutex_lock lock(mutex_);
  free_.emplace_back(frame);
}

}  // namespace flowrun::expr
