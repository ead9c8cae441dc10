// The rules of a pq_scan as code, one program for each kind of event: for each input, for messages, and for the end of
// a group.
//
// What depends on the columns of an input's rows alone is computed for up to 1,024 rows at a time by the vector kernels
// (engine/expr/chunk_code.h); `kind == 1` is then one load for each event. What depends on the state, and all of a
// message, runs event by event: primitives in a row, whose operands are known addresses, without a stack. A condition
// that can't hold for this kind of event drops its rule here. Programs also say what all events with one key have in
// common, so that those can be gone through at once: a condition over the state alone, while no rule changes it; rows
// whose messages can be made a chunk at a time; messages that say the same as the one before.
//
// Items of the queue (engine/container/queue_item.h) hold a message's columns one behind the other, the order columns
// first, as numbers whose order is the columns' order.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/container/queue_item.h"
#include "engine/expr/chunk_code.h"
#include "engine/expr/lane.h"
#include "engine/expr/ops.h"
#include "engine/record/row_type.h"
#include "operators/parts/rules/pq_scan_settings.h"

namespace flowrun::operators {

// A column in an item or key: order-preserving bits, `shift` above the lowest bit.
class ordered_field {
 public:
  ordered_field(record::value_type of, bool is_descending, uint32_t at)
      : type(of),
        descending(is_descending),
        shift(at),
        plain_((of.is_unsigned() || of.is_boolean()) && !is_descending),
        zero_(plain_ ? 0 : encode_slowly(0)) {}

  unsigned num_bits() const { return 8 * type.num_bytes; }
  uint64_t mask() const { return ~uint64_t{0} >> (64 - num_bits()); }
  // The bits are the number itself.
  bool plain() const { return plain_; }
  // From a lane (engine/expr/coerce.h) to its bits, and back.
  uint64_t encode(uint64_t lane) const { return plain_ ? lane & mask() : encode_slowly(lane); }
  uint64_t decode(uint64_t bits) const { return plain_ ? bits : decode_slowly(bits); }
  uint64_t zero() const { return zero_; }  // encode(0)

  record::value_type type;
  bool descending;
  uint32_t shift;

 private:
  uint64_t encode_slowly(uint64_t lane) const;
  uint64_t decode_slowly(uint64_t bits) const;
  bool plain_;
  uint64_t zero_;
};

// The columns of `type` with the given order first, packed from the top of 8 * num_bytes bits down.
std::vector<ordered_field> item_fields(const record::row_type& type, const plan::order& order);

// An address and the distance to the next row's value: 0 for all but lanes of a chunk.
struct lane_source {
  const uint64_t* data = nullptr;
  size_t step = 0;
};

struct primitive {
  expr::opcode op;
  uint32_t a, b, c;  // sources
  uint64_t m, m2;
  uint64_t* out;
};

struct assignment {
  std::vector<primitive> steps;
  uint32_t value;  // a source
  uint64_t* cell;
};

struct pushed_field {
  uint32_t value;
  ordered_field to;
};

struct emitted_field {
  uint32_t value;
  record::value_type type;
  uint32_t offset;
};

struct compiled_rule {
  size_t number = 0;  // in its list, from 1
  bool has_condition = false;
  bool decided_by_state = true;  // whether it holds is the same for all events of its kind while the state is
  bool negated = false;          // holds where `condition` is 0
  std::vector<primitive> condition_steps;
  uint32_t condition = 0;
  std::vector<assignment> sets;
  bool pushes = false, emits = false;
  std::vector<primitive> push_steps, emit_steps;
  std::vector<pushed_field> pushed;  // the others are at their zero
  unsigned port = 0;
  std::vector<emitted_field> emitted;
};

// The state, shared by the programs of a node.
struct rule_state {
  std::vector<uint64_t> cells, initial;
};

class rule_program final : public expr::scan_step {
 public:
  enum class kind { input, messages, end };
  // `row` is the type of an input's rows, of messages, or of the group columns; `input_name` is for inputs only.
  // `state` outlives the program.
  rule_program(const pq_scan_settings& s, kind what, const std::string& input_name, const record::row_type& row,
               rule_state& state, record::batch_pool& pool);
  ~rule_program() override;
  rule_program(const rule_program&) = delete;
  rule_program& operator=(const rule_program&) = delete;

  const std::vector<compiled_rule>& rules() const { return rules_; }
  // No event changes the state, and whether its only rule holds depends on nothing else: it holds for all events with
  // one key or for none. Null where that isn't so.
  const compiled_rule* only_rule() const { return only_rule_ ? &rules_.front() : nullptr; }
  // There is such a rule, it pushes and does nothing else, and what it pushes depends on the rows alone.
  bool sends_rows() const { return sends_rows_; }
  // When it has happened for one event, nothing more comes of others with the same key.
  bool same_again() const { return same_again_; }
  bool pushes() const { return pushes_; }
  size_t rows_per_chunk() const { return code_.rows_per_chunk; }
  // An input: computes what needs only the rows. At most rows_per_chunk().
  void load(const std::byte* rows, size_t row_bytes, size_t num_rows);
  // Others: where the columns that are used go: (column of `row`, lane).
  const std::vector<std::pair<size_t, uint64_t*>>& columns_used() const { return columns_used_; }

  uint64_t value(uint32_t source, size_t row) const {
    const lane_source& s = sources_[source];
    return s.data[s.step * row];
  }
  void run(const std::vector<primitive>& steps, size_t row) const {
    if (!steps.empty()) run_some(steps, row);
  }

 private:
  class compiler;
  void classify(bool sets_constants, bool pushes_rows);
  void run_some(const std::vector<primitive>& steps, size_t row) const {
    for (const primitive& p : steps) *p.out = compute(p, value(p.a, row), value(p.b, row), value(p.c, row));
  }
  static uint64_t compute(const primitive& p, uint64_t a, uint64_t b, uint64_t c);
  void run(const std::vector<expr::text_operand>& in, const std::vector<void*>& out, expr::text_arena& arena,
           size_t num_rows) override;

  std::vector<lane_source> sources_;
  std::vector<uint32_t> lanes_;  // sources that are lanes of a chunk, in the order of the scan's inputs
  std::vector<std::unique_ptr<uint64_t>> slots_;
  std::vector<compiled_rule> rules_;
  bool only_rule_ = false, sends_rows_ = false, same_again_ = false, pushes_ = false;
  std::vector<std::pair<size_t, uint64_t*>> columns_used_;
  expr::chunk_code code_;
  std::unique_ptr<expr::chunk_frame> frame_;
};

// Switches over what numbers can do; the compiler makes a table of it.
inline uint64_t rule_program::compute(const primitive& p, [[maybe_unused]] uint64_t a, [[maybe_unused]] uint64_t b,
                                      [[maybe_unused]] uint64_t c) {
  const uint64_t m = p.m, m2 = p.m2;
  namespace lane = expr::lane;
  using expr::opcode;
  switch (p.op) {
#define X(name, value) \
  case opcode::name: return static_cast<uint64_t>(value);
    FLOWRUN_UNARY_OPS(X)
    FLOWRUN_BINARY_OPS(X)
    FLOWRUN_TERNARY_OPS(X)
#undef X
    default: return m + m2;  // no other op is compiled
  }
}

}  // namespace flowrun::operators
