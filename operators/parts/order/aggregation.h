// Aggregates over groups of rows, a column at a time.
//
// A batch comes with the starts of its groups; each aggregate runs one tight loop over the batch and leaves one lane
// per group. The last group stays open and continues with the next batch. Numbers live in 8-byte lanes: sums as they
// are, min and max in their order-preserving form (engine/record/key.h: the order of a sort, NaN included), first and
// last as raw bits. count_distinct counts the rows whose value differs from the one before. Cost: 0.3-1 ns per row and
// aggregate for long groups; text compares byte by byte.
//
// Aggregates of plugins have lanes of their own (outside_lane.h).
//
// A sum of floats is added up row after row, so that the result doesn't depend on where batches end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/expr/aggregate.h"
#include "engine/record/batch.h"
#include "operators/parts/order/outside_lane.h"
#include "operators/parts/order/stage_state.h"
#include "operators/parts/rules/program.h"

namespace flowrun::operators {

using named_aggregates = std::vector<std::pair<std::string, expr::aggregate>>;
// Whether the order of the rows matters to one of them.
bool has_ordered(const named_aggregates& aggregates);

// An aggregate of a column.
struct column_aggregate {
  expr::aggregate_kind kind = expr::aggregate_kind::count;
  record::column argument;  // where it lies in the rows; unused by count
  record::value_type result;
  std::optional<outside_use> outside;  // of a plugin; `argument` is unused then
};

class aggregation {
 public:
  // Results go to columns of `output`, from column `first_column` on. What is kept of an open group may take
  // `most_bytes`, as a row of `output` with its texts: add() throws row_too_large.
  aggregation(std::vector<column_aggregate> aggregates, const record::row_type& output, size_t first_column,
              record::batch_pool& pool, uint64_t most_bytes);

  // `starts` as group_tracker::add gives them; `open`: group 0 was open before. Both, and the rows, stay where they are
  // as long as results of complete groups are asked for.
  void add(const record::batch& rows, const std::vector<uint32_t>& starts, bool open);
  // Finishes groups from `from` on, at most `count` of them, and returns how many: only their results can be stored.
  size_t make(size_t from, size_t count);
  // Writes the results of groups [from, from + count) of the last add() into `count` rows at `to` of `into`. Once per
  // group.
  void store(size_t from, size_t count, std::byte* to, record::batch_builder& into);
  // What the texts of groups [from, from + count) of the last add() take in their rows.
  size_t text_bytes(size_t from, size_t count) const;
  // Writes the results of the open group, or of no rows at all (0 and empty text) when nothing was added.
  void store_open(std::byte* to, record::batch_builder& into);
  // Writes the results of all of `rows`, at least one, and keeps nothing. Not together with add().
  void store_all(const record::batch& rows, std::byte* to, record::batch_builder& into);

  // --- what is known of the open group, for another process ---

  // False: there are aggregates of plugins, whose states nobody else can read.
  bool has_state() const { return !has_outside_; }
  void write_state(state_writer& out) const;
  void begin_with(state_reader& in);

 private:
  struct lane {
    column_aggregate what;
    uint32_t offset;  // of the result
    std::vector<uint64_t> values;
    std::vector<std::string_view> texts;
    uint64_t open_value = 0;
    uint64_t last_value = 0;  // of count_distinct over numbers: of the row before
    std::string open_text;
    std::string kept_text;  // what open_text was before the last add(): texts[0] may lie in it
    std::unique_ptr<outside_lane> outside;
    void keep_last_text();
    void count_values(const record::batch& rows, const std::vector<uint32_t>& starts, bool open);
    void store_values(size_t from, size_t count, std::byte* field, size_t stride);
    void store_text(std::string_view text, std::byte* field, record::batch_builder& into) const;
  };
  void compute(const record::batch& rows, const std::vector<uint32_t>& starts, bool open);

  std::vector<lane> lanes_;
  bool started_ = false;
  bool has_outside_ = false;
  size_t made_from_ = 0, made_end_ = 0;  // groups that outside lanes have made
  uint32_t row_bytes_;
  uint64_t most_bytes_;
};

// How to compute a list of aggregates: a projection in front, if an argument is more than a column, and the aggregates
// of columns behind it.
struct aggregation_plan {
  record::row_type rows;         // what the aggregation sees
  named_expressions projection;  // from the input to `rows`; empty: the input as it is
  std::vector<size_t> keys;      // where the key columns are in `rows`
  std::vector<column_aggregate> aggregates;
};
// `keep_row`: the projection starts with the whole input row (for a hash of it), else with the `keys` only.
aggregation_plan plan_aggregation(const record::row_type& input, const std::vector<std::string>& keys,
                                  const named_aggregates& aggregates, bool keep_row);

// Results of parts can be combined, in order, into the result of the whole, bit by bit: not so for sums of floats and
// counts of different values, nor for aggregates of plugins that don't say so.
bool can_combine(const std::vector<column_aggregate>& aggregates);
// The aggregates of a part: those of plugins give their states.
std::vector<column_aggregate> partial_aggregates(const std::vector<column_aggregate>& aggregates);
// The aggregates that combine partial results which lie in `partial`, one column each from `first_column` on.
std::vector<column_aggregate> combining(const std::vector<column_aggregate>& aggregates,
                                        const record::row_type& partial, size_t first_column);

}  // namespace flowrun::operators
