// Vector kernels: one loop per primitive over registers of at most chunk_rows lanes.
//
// They are compiled three times in one file, for plain x86-64, AVX2 and AVX-512, and chosen once by what the processor
// has (kernels.cc). A kernel never reads beyond the n lanes or rows that it is given, and makes no assumption about the
// alignment of rows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/expr/ops.h"
#include "engine/record/value_type.h"

namespace flowrun::expr {

constexpr size_t chunk_rows = 1024;

// out[i] = op(a[i], b[i], c[i], m, m2) for i < n. out overlaps no operand; unused operands may be null.
using lane_kernel = void (*)(uint64_t* out, const uint64_t* a, const uint64_t* b, const uint64_t* c, uint64_t m,
                             uint64_t m2, size_t n);
// out[i] = the field of row (rows == null ? i : rows[i]), widened to a lane; `field` is the field in row 0.
using load_kernel = void (*)(uint64_t* out, const std::byte* field, size_t row_bytes, const uint16_t* rows, size_t n);
// Narrows lane i into the field of row i.
using store_kernel = void (*)(std::byte* field, size_t row_bytes, const uint64_t* lanes, size_t n);
// Copies `num_bytes` of row (rows == null ? i : rows[i]) of `from` to row i of `to`.
using copy_kernel = void (*)(std::byte* to, size_t to_row_bytes, const std::byte* from, size_t from_row_bytes,
                             const uint16_t* rows, size_t num_bytes, size_t n);

struct kernel_set {
  const char* name;
  lane_kernel lanes[num_opcodes];            // all operands in registers
  lane_kernel immediate[num_opcodes];        // binary ops whose right operand is m
  load_kernel load[record::num_type_kinds];  // by type_kind
  store_kernel store[record::num_type_kinds];
  // out[i] = first_row + (rows == null ? i : rows[i])
  void (*number_rows)(uint64_t* out, uint64_t first_row, const uint16_t* rows, size_t n);
  // Writes the positions of the set lanes to `positions` (n of them are written to); returns how many there are.
  size_t (*positions)(uint16_t* positions, const uint64_t* mask, size_t n);
  // lanes[i] = lanes[positions[i]], in place; positions ascend.
  void (*compact)(uint64_t* lanes, const uint16_t* positions, size_t n);
  void (*compact_rows)(uint16_t* rows, const uint16_t* positions, size_t n);
  // A kernel for copies of this many bytes.
  copy_kernel (*copy)(size_t num_bytes);
};

// The best set for this processor.
const kernel_set& kernels();
// All sets that this processor can run, for tests.
size_t num_kernel_sets();
const kernel_set& kernel_set_at(size_t i);

// The same primitive for one row.
uint64_t evaluate(opcode op, uint64_t a, uint64_t b, uint64_t c, uint64_t m, uint64_t m2);

}  // namespace flowrun::expr
