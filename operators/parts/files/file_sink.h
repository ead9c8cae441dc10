// The end of every file.write_*: bytes in order into one output that appears whole or not at all, compressed or as they
// are; "-" is standard output.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/exec/operator_definition.h"
#include "engine/io/encoding.h"
#include "operators/parts/files/row_index.h"
#include "operators/parts/files/text_block.h"

namespace flowrun::operators {

// Where a sink writes, and how that is compressed.
struct written_file {
  std::string path;
  io::encoding content = io::encoding::plain;
};
// The parameters `path` and `compression`, and what they say.
std::vector<plan::parameter_declaration> written_file_parameters();
written_file read_written_file(plan::node_checker& node);

// What a sink asks of the planner: four buffers for writing behind, from 64 KiB to 2 MiB each; two more for an index;
// and for compressing a piece at a time, or several.
plan::memory_wish writing_memory(const written_file& to, bool indexed = false);

enum class sink_content {
  rows,  // the rows of each batch as they are
  text,  // text that a stage before has made: parcels of text_block
};

// `prologue` is written first, also when no batch comes. `index`: of the rows, written beside them (row_index.h); null:
// none. Throws error(output) when the file can't be created.
std::unique_ptr<exec::ordered_stage> make_file_sink(exec::build_context& context, const written_file& to,
                                                    sink_content content, std::string prologue = {},
                                                    std::unique_ptr<row_index_builder> index = nullptr);

}  // namespace flowrun::operators
