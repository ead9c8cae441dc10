// Aggregates that are not in the language's own list (aggregate.h): those of plugins.
//
// What an aggregate knows of a group so far is its state: so many bytes of plain data, which may be copied, and stored
// in a row as bytes[N]. A state is started, takes rows, takes in other states, and gives the result:
//
//   start(s); update(s, rows 0-4); start(t); update(t, rows 5-9); combine(s, t); finish(s)
//
// gives the same bytes as start(s); update(s, rows 0-9); finish(s), if the aggregate can be combined.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "engine/expr/functions.h"
#include "engine/expr/outside_function.h"
#include "engine/record/value_type.h"

namespace flowrun::expr {

struct text_call;
struct text_operand;

// Where rows go: those in [starts[k], starts[k + 1]) go to state k, in order. The first row is row 0; a state may get
// none.
struct row_targets {
  std::byte* states = nullptr;  // side by side
  size_t num_states = 0;
  const uint32_t* starts = nullptr;  // num_states + 1
};

// An aggregate of arguments of certain types, with its constants. Immutable, and thread-safe. All functions may throw
// call_failed: the job ends.
class bound_aggregate {
 public:
  static constexpr size_t state_alignment = 16;

  virtual ~bound_aggregate() = default;
  // States of start(), update() and finish() lie at addresses that are multiples of state_alignment; or, if there is
  // one, their number of bytes decides.
  virtual void start(std::byte* states, size_t num_states) const = 0;
  // `args`: an operand for each argument, as `wanted` says.
  virtual void update(const row_targets& to, const text_operand* args) const = 0;
  // Whether update_in_rows() does what update() does.
  virtual bool reads_rows() const { return false; }
  // Of one argument, of 8 bytes: that of row 0 is at `field`, and `stride` bytes further is the next one. (Copying them
  // into lanes first would cost more than adding them up.)
  virtual void update_in_rows(const row_targets&, const std::byte* /*field*/, size_t /*stride*/) const {}
  // The rows are states, `step` bytes from one to the next. Neither they nor those of `to` need lie at such addresses.
  virtual void combine(const row_targets& to, const std::byte* from, size_t step) const = 0;
  // As a text_kernel (text_kernels.h) without arguments: call.num_rows states give as many cells.
  virtual size_t finish(const std::byte* states, const text_call& call) const = 0;
};

struct aggregate_binding {
  record::value_type result;               // bytes[N] it is not
  std::vector<record::value_type> wanted;  // of each argument: u64, i64, f64, bool or string
  uint32_t state_bytes = 0;                // 1 to record::max_fixed_bytes
  bool is_combinable = false;              // states of neighbours may be combined
  bool is_ordered = false;                 // the order of the rows matters
  std::shared_ptr<const bound_aggregate> aggregate;
};

class outside_aggregate {
 public:
  virtual ~outside_aggregate() = default;
  // The name is as expressions have it: "sketch.distinct".
  virtual const function_help& help() const = 0;
  virtual size_t min_args() const = 0;
  virtual size_t max_args() const = 0;
  // Pure.
  virtual std::variant<aggregate_binding, binding_fault> bind(const std::vector<given_argument>& args) const = 0;
};

}  // namespace flowrun::expr
