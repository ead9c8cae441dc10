// What is left to do behind a sort in the order of the stream: drop rows that repeat a key, stop at a limit.
#pragma once

#include <cstdint>

#include "engine/exec/operator_definition.h"
#include "engine/record/key.h"

namespace flowrun::operators {

// Where rows may repeat the key of the row before.
enum class repeats { none, at_batch_starts, anywhere };

// An ordered stage over rows of `type`: drops rows that repeat `key` where `where` says they may, and lets `limit` rows
// through (0: all). What passes is handed on as slices, but for short ones, which become one batch.
exec::stage make_ordered_cut(const record::row_type& type, repeats where, const record::key& key, uint64_t limit,
                             record::batch_pool& pool);

}  // namespace flowrun::operators
