// An aggregate of a plugin over groups of rows (engine/expr/outside_aggregate.h), as one of the lanes of an
// aggregation.
//
// Rows, or states of rows, become results, or states. The open group has its state from batch to batch; those of other
// groups are made when their results are wanted, some hundred at once, so that memory doesn't depend on how many groups
// a batch has nor on how long texts are. Arguments become cells, 1,024 rows at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/expr/aggregate.h"
#include "engine/expr/text_kernels.h"
#include "engine/record/batch.h"

namespace flowrun::operators {

// An argument: a column of the rows, or the same for all of them.
struct outside_argument {
  bool is_constant = false;
  record::column column;
  record::value_type wanted;
  uint64_t lane = 0;  // of a constant
  std::string text;
};

struct outside_use {
  std::shared_ptr<const expr::bound_aggregate> aggregate;
  uint32_t state_bytes = 0;
  bool is_combinable = false;
  std::vector<outside_argument> arguments;
  bool of_states = false;  // rows are states, in the one column of `states`
  record::column states;
  bool gives_states = false;  // as bytes[state_bytes]
};

class outside_lane {
 public:
  // Texts of results may have `most_bytes`. `num_lanes`: of the aggregation, this one included; they share what states
  // may take.
  outside_lane(outside_use use, record::value_type result, record::batch_pool& pool, uint64_t most_bytes,
               size_t num_lanes);
  outside_lane(const outside_lane&) = delete;
  outside_lane& operator=(const outside_lane&) = delete;

  // As aggregation::add. `starts` and the rows stay where they are as long as results of them are asked for.
  void add(const record::batch& rows, const std::vector<uint32_t>& starts, bool open);
  // All rows are one group, which is complete; then make(0, 1).
  void add_whole(const record::batch& rows, const std::vector<uint32_t>& starts);

  // So many results are best made at once.
  size_t most_at_once() const { return most_states_; }
  // Makes the results of complete groups [from, from + count), count <= most_at_once(), and returns how many it has
  // made: at least one.
  size_t make(size_t from, size_t count);
  // Of groups that were made last.
  size_t text_bytes(size_t from, size_t count) const;
  void store(size_t from, size_t count, std::byte* field, size_t stride, record::batch_builder& into) const;

  // The open group, or no rows at all.
  size_t open_text_bytes();
  void store_open(std::byte* field, record::batch_builder& into) const;

 private:
  void fold(const expr::row_targets& to);
  void fold_cells(const expr::row_targets& to);
  void update_chunk(const expr::row_targets& to, size_t from, size_t count);
  void load(const outside_argument& argument, size_t place, size_t from, size_t count);
  size_t finish(const std::byte* states, size_t count);
  void store_made(size_t i, std::byte* field, record::batch_builder& into) const;

  const outside_use use_;
  const record::value_type result_;
  const size_t most_states_;
  record::batch rows_;  // as add() got them, without their owner
  const std::vector<uint32_t>* starts_ = nullptr;
  bool continued_ = false;  // group 0 has rows before these
  std::vector<std::byte> open_, continued_state_, states_;
  std::vector<uint32_t> chunk_starts_;
  // Cells of the arguments, and the operands that point to them.
  std::vector<std::vector<uint64_t>> lanes_;
  std::vector<std::vector<std::string_view>> texts_;
  std::vector<expr::text_operand> operands_;
  // What make() made, from group made_from_ on.
  size_t made_from_ = 0;
  std::vector<uint64_t> made_lanes_;
  std::vector<std::string_view> made_texts_;
  expr::text_arena arena_;
};

}  // namespace flowrun::operators
