// A file of sorted rows as a stream that can leave rows out: only blocks that may hold wanted rows are read, as the
// file's index tells (row_index.h).
//
//   seek ─▶ block by first rows ─▶ 1, 2, 4, … blocks read ahead, for as long as none is left out
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "engine/exec/operator_definition.h"
#include "operators/parts/order/skip_join.h"

namespace flowrun::operators {

// The rows of `path` have the type and order of input `input` of the node; blocks, index and what is read ahead take up
// to `memory_bytes`. Counts what it reads as the node's. Throws as row_index::load; peek() throws error(bad_data) for a
// block that isn't the one that was indexed.
std::unique_ptr<skipping_stream> open_indexed_file(exec::build_context& c, const std::string& path, size_t input,
                                                   uint64_t memory_bytes);

}  // namespace flowrun::operators
