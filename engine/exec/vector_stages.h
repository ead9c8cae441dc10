// Rows into and out of external vectors: what stored inputs, the streams of a body and the results of control nodes are
// kept in.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/container/external_vector.h"
#include "engine/exec/operator.h"
#include "engine/exec/services.h"
#include "engine/plan/order.h"

namespace flowrun::exec {

// Finished; read by anybody.
using shared_rows = std::shared_ptr<const container::external_vector>;

// Appends all rows and finishes the vector.
std::unique_ptr<ordered_stage> make_vector_sink(std::shared_ptr<container::external_vector> rows);

// An empty one; `sorted_by`: with an index. `keep_read`: it will be sought in many times
// (container::external_vector::settings).
std::shared_ptr<container::external_vector> make_vector(const record::row_type& type, const plan::order& sorted_by,
                                                        services& job, uint64_t memory_bytes, bool keep_read = false);

// Adds the number of rows to `count`, which outlives it.
std::unique_ptr<ordered_stage> make_count_sink(uint64_t& count);

struct vector_output {
  unsigned port = 0;
  shared_rows rows;
};
// Gives one vector after another, each at its port, in batches of about `batch_bytes`.
std::unique_ptr<source> make_vector_source(std::vector<vector_output> outputs, uint64_t memory_bytes,
                                           size_t batch_bytes);

}  // namespace flowrun::exec
