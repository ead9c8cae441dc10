// A condition over two rows, a and b, for comparing them again and again in changing company (merge with `less`).
//
// What depends on one of the rows alone is computed once per row by the vector kernels, as lanes of 8 bytes; only what
// depends on both runs per pair. Columns that a row's stream doesn't have, and what is known of the stream, are
// constants here and folded: of a condition that chooses by the streams, only the chosen branch is left. The usual
// rest, a lexicographic comparison of some lanes, has a loop of its own (about 1 ns per lane looked at). Unsigned
// numbers next to each other in it that fit 64 bits together are one lane. Anything else is a short list of primitives
// (about 2 ns each).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/expr/expression.h"
#include "engine/expr/ops.h"

namespace flowrun::expr {

// What a column of the pair stands for, in the streams at hand.
struct pair_binding {
  enum class side : uint8_t { a, b, constant } from = side::constant;
  size_t column = 0;  // of that row's type
  uint64_t lane = 0;  // of a constant number; a constant text is empty
};

// The lanes that conditions want of the rows of one stream. Equal ones are one.
class lane_list {
 public:
  // The value (over the stream's rows) as a lane; its place among the lanes.
  size_t add(const expression& value);
  // What a row_program has to compute: rows of 8-byte columns.
  const std::vector<std::pair<std::string, expression>>& columns() const { return columns_; }

 private:
  std::vector<std::string> keys_;
  std::vector<std::pair<std::string, expression>> columns_;
};

// Not thread-safe.
class pair_condition {
 public:
  // `condition` is over a row type whose column k is bindings[k]. Adds to `a_lanes` and `b_lanes`, which may be one
  // list when both rows come from one stream. Check can_pair() first.
  pair_condition(const expression& condition, const std::vector<pair_binding>& bindings, lane_list& a_lanes,
                 lane_list& b_lanes);

  // The lanes of the two rows, as listed.
  bool operator()(const uint64_t* a, const uint64_t* b) const {
    if (!lexicographic_) return run(a, b);
    for (const term& t : terms_) {
      const uint64_t x = a[t.a] ^ t.flip, y = b[t.b] ^ t.flip;
      if (x != y) return x < y;
    }
    return false;
  }
  bool is_lexicographic() const { return lexicographic_; }

  // One lane of each row; the order of the flipped lanes, unsigned, is the order wanted.
  struct term {
    uint32_t a, b;
    uint64_t flip;
  };
  // Of a lexicographic one: the first lanes that differ decide.
  const std::vector<term>& terms() const { return terms_; }

 private:
  class compiler;
  // Where an operand lies: lanes of a, lanes of b, constants, results of earlier steps.
  struct operand {
    uint8_t base = 2;
    uint32_t index = 0;
  };
  struct step {
    opcode op = opcode::constant;
    operand a, b, c;
    uint64_t imm = 0;
  };
  bool run(const uint64_t* a, const uint64_t* b) const;

  bool lexicographic_ = false;
  std::vector<term> terms_;
  std::vector<step> steps_;
  std::vector<uint64_t> constants_;
  operand result_;
  mutable std::vector<uint64_t> results_;
};

// A problem when the condition compares texts of one row with texts of the other, which have no lanes. `is_a` tells for
// each column of the pair whether it is one of a.
std::vector<problem> can_pair(const expression& condition, const std::vector<bool>& is_a);

}  // namespace flowrun::expr
