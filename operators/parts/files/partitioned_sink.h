// The end of a sink whose path names columns: text of rows, which row_distribution has put together by files, into as
// many files, which appear together or not at all.
#pragma once

#include <memory>
#include <string>

#include "engine/exec/operator_definition.h"
#include "engine/io/encoding.h"
#include "operators/parts/files/file_partitions.h"

namespace flowrun::operators {

// What it asks of the planner: the names of the files, text that waits to be written, and for compressing a piece.
plan::memory_wish partitions_memory(io::encoding content, const plan::partition_facts& facts);

// Takes parcels of partitioned_text. `path`: as the job has it. `prologue` comes first in each file. Throws
// error(output) when nothing can be written there.
std::unique_ptr<exec::ordered_stage> make_partitioned_sink(exec::build_context& context, const std::string& path,
                                                           const file_partitions& to, io::encoding content,
                                                           std::string prologue);

}  // namespace flowrun::operators
