// A permutation of 2^n rows by a bit matrix without a sort, in one pass over the data (ViC*, section 4.2).
//
//   rows ─▶ [memoryload of 2^m rows] ─▶ whole blocks of the target ─▶ disks ─▶ block 0, block 1, … read in order
//
// The rows of a memoryload go to places that are a coset of the space spanned by the first m columns of the matrix.
// They fill whole blocks of 2^b rows if that space contains the b lowest unit vectors, which is so if the rows of the
// matrix from b on have rank m - b in those columns. (The paper's MLD permutations read blocks in another order and
// write memoryloads; these, their inverses, read a stream as it comes.) Then each block is written and read once, and
// every row is copied twice; nothing is compared. Rows that all fit in memory need no such condition: all threads
// gather them from there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/base/error.h"
#include "engine/exec/operator_definition.h"
#include "engine/plan/stored_pass.h"
#include "operators/parts/algorithms/bit_matrix.h"

namespace flowrun::operators {

// The log2 of the rows of a memoryload and of a block.
struct block_shape {
  unsigned memoryload = 0;
  unsigned block = 0;
};

// Blocks as large as they may be, of at least 2 KiB. nullopt: the matrix needs a sort, or another memory. Pure.
std::optional<block_shape> whole_blocks(const bit_matrix& matrix, uint32_t row_bytes, uint64_t memory_bytes,
                                        uint64_t block_bytes);

// How the rows of all 2^n places are put there with so much memory.
struct block_placement {
  bool in_memory = false;  // all of them; no shape
  block_shape shape;
};
// nullopt: not this way. `kept_bytes`: what the rows may take if they stay in memory; 0: nothing. Pure.
std::optional<block_placement> placement_of(const bit_matrix& matrix, const record::row_type& type,
                                            uint64_t memory_bytes, uint64_t kept_bytes, uint64_t block_bytes);
// That, for the planner.
plan::stored_pass_rule placement_rule(const bit_matrix& matrix, const record::row_type& type);

// The intake, if the rows can be permuted this way; else adds nothing.
void add_permuting_in_blocks(exec::assembly& to, exec::build_context& c, const bit_matrix& matrix);
// The work, if that was the intake.
void add_reading_of_blocks(exec::assembly& to, exec::build_context& c);

// The number of rows that `node` gets is not that of the places.
error wrong_number_of_rows(const std::string& node, const std::string& rows, unsigned num_bits);

}  // namespace flowrun::operators
