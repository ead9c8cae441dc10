// Stored rows as the head of a pipeline, and the memory that a node wants who stores its input.
#pragma once

#include <memory>

#include "engine/container/stored_rows.h"
#include "engine/exec/operator.h"
#include "engine/plan/operator_declaration.h"

namespace flowrun::operators {

std::unique_ptr<exec::source> make_stored_source(std::unique_ptr<container::stored_reader> rows);

// The intake wants room for all rows (node_facts::stored_bytes), if they fit. Reading them wants enough to keep the
// disks busy.
plan::memory_wish stored_memory(const plan::node& n, plan::node_part part);

}  // namespace flowrun::operators
