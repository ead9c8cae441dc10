// Grouping adjacent rows: what group does, and a sort that combines.
#pragma once

#include <string>
#include <vector>

#include "engine/exec/operator_definition.h"
#include "operators/parts/order/aggregation.h"

namespace flowrun::operators {

// The columns of a group: its keys, then its aggregates.
record::row_type group_type(std::vector<record::column> keys, const named_aggregates& aggregates);

// Adds what turns rows of `input` with equal keys next to each other into one row of `output` (a group_type) each, to
// `to`: if arguments are more than columns, a program in front, in parallel with other batches and fused with what
// precedes it; and an ordered stage that finds the group starts of a whole batch and then aggregates column by column,
// so that the cost per row doesn't depend on how long groups are. Bounded memory: one row per open group, and there is
// only one. `output` and `pool` outlive the stages.
void add_group_stages(exec::assembly& to, const record::row_type& input, const std::vector<std::string>& keys,
                      const named_aggregates& aggregates, const record::row_type& output, record::batch_pool& pool,
                      const record::batch_limits& limits);

// The same for rows that are partial results: `totals` combines them (see combining()), and the first `num_keys`
// columns are the keys.
void add_total_stage(exec::assembly& to, const record::row_type& partial, size_t num_keys,
                     const std::vector<column_aggregate>& totals, const record::row_type& output,
                     record::batch_pool& pool, const record::batch_limits& limits);

}  // namespace flowrun::operators
