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

// Finished, so any thread may read it.
using shared_rows = std::shared_ptr<const container::external_vector>;

// Appends all rows and finishes the vector.
std::unique_ptr<ordered_stage> make_vector_sink(std::shared_ptr<container::external_vector> rows);

// The memory of a vector: while it is filled, and how much of that its rows may keep once it is finished.
struct vector_memory {
  uint64_t filling_bytes = 0;
  uint64_t kept_bytes = 0;
  bool keep_read = false;  // it will be sought in many times (container::external_vector::settings)
};

// An empty vector. With `sorted_by`, it keeps an index.
std::shared_ptr<container::external_vector> make_vector(const record::row_type& type, const plan::order& sorted_by,
                                                        services& job, const vector_memory& memory);

// Adds the number of rows to `count`, which outlives it.
std::unique_ptr<ordered_stage> make_count_sink(uint64_t& count);

struct vector_output {
  unsigned port = 0;
  shared_rows rows;
};
// Gives one vector after another, each at its port, in batches of about `batch_bytes`. A vector that has no other owner
// is freed as it is read.
std::unique_ptr<source> make_vector_source(std::vector<vector_output> outputs, uint64_t memory_bytes,
                                           size_t batch_bytes);

}  // namespace flowrun::exec
