// The first rows of a stream, or of each group of neighbours with equal keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/exec/operator_definition.h"

namespace flowrun::operators {

// An ordered stage over rows of `type`: of each group of neighbours with equal values in `keys` (indices of columns;
// none: all rows are one group) it leaves out the first `skip` rows and lets `count` rows through. What passes of a
// batch is handed on as one batch, whose strings stay where they are.
exec::stage make_row_limit(const record::row_type& type, const std::vector<size_t>& keys, uint64_t skip, uint64_t count,
                           record::batch_pool& pool);

// Of a checked node that is a `limit` of the whole stream: what it gives depends on so many rows at the beginning of
// the stream, and on no other. nullopt: on all of them, or it is no such node.
std::optional<uint64_t> rows_that_matter(const plan::node& n);

}  // namespace flowrun::operators
