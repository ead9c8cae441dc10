// Stored rows as the head of a pipeline, and the memory that a node wants who stores its input.
#pragma once

#include <memory>

#include "engine/container/stored_rows.h"
#include "engine/exec/operator.h"
#include "engine/plan/operator_declaration.h"

namespace flowrun::operators {

std::unique_ptr<exec::source> make_stored_source(std::unique_ptr<container::stored_reader> rows);

// For the rows (half 0), all of them if they fit; for reading them (half 1), enough to keep the disks busy. Reads the
// fact "stored_bytes".
plan::memory_wish stored_memory(const plan::node& n, int half);

}  // namespace flowrun::operators
