// Primitives on single numbers: the one interpreter. What depends on a state, on an event or on two rows at once can't
// go through the vector kernels. So scans (state_program.cc), rules of events (event_program.h), comparisons of pairs
// (pair_condition.h) and the folding of constants (evaluate, kernels.h) run on what is here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/base/error.h"
#include "engine/expr/decimal_lane.h"
#include "engine/expr/lane.h"
#include "engine/expr/ops.h"
#include "engine/expr/real_math.h"
#include "engine/expr/time_lane.h"

namespace flowrun::expr {

// Calls `body` with the primitive as a function of three lanes. The compiler makes a table of it.
template <class Body>
[[gnu::always_inline]] inline void with_primitive(opcode op, uint64_t m, uint64_t m2, Body body) {
  switch (op) {
#define X(name, value)                                                                                           \
  case opcode::name:                                                                                             \
    return body([m, m2]([[maybe_unused]] uint64_t a, [[maybe_unused]] uint64_t b, [[maybe_unused]] uint64_t c) { \
      static_cast<void>(m);                                                                                      \
      static_cast<void>(m2);                                                                                     \
      return static_cast<uint64_t>(value);                                                                       \
    });
    FLOWRUN_UNARY_OPS(X)
    FLOWRUN_BINARY_OPS(X)
    FLOWRUN_TERNARY_OPS(X)
#undef X
    default: internal_error("not a numeric primitive");
  }
}

[[gnu::always_inline]] inline uint64_t apply(opcode op, uint64_t a, uint64_t b, uint64_t c, uint64_t m, uint64_t m2) {
  uint64_t out = 0;
  with_primitive(op, m, m2, [&](auto primitive) { out = primitive(a, b, c); });
  return out;
}

// Where an operand lies, and how far it is to the next row's: 0 for all but the lanes of a chunk.
struct lane_source {
  const uint64_t* data = nullptr;
  size_t step = 0;
  uint64_t get(size_t row) const { return data[row * step]; }
};

// A primitive whose operands are known addresses; those that it doesn't have are any that can be read.
struct bound_primitive {
  opcode op = opcode::constant;
  lane_source a, b, c;
  uint64_t m = 0, m2 = 0;
  uint64_t* out = nullptr;
  [[gnu::always_inline]] void run(size_t row) const { *out = apply(op, a.get(row), b.get(row), c.get(row), m, m2); }
};

inline void run(const std::vector<bound_primitive>& steps, size_t row) {
  for (const bound_primitive& p : steps) p.run(row);
}

}  // namespace flowrun::expr
