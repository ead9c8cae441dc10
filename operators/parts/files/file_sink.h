// The end of every file.write_*: bytes in order into one output that appears whole or not at all, compressed or as they
// are; "-" is standard output.
#pragma once

#include <cstdint>
#include <functional>
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

// What the prologue becomes when so many bytes are written behind it: as long as it was.
using final_prologue = std::function<std::string(uint64_t num_bytes)>;

// `prologue` is written first, also when no batch comes. `index`: of the rows, written beside them (row_index.h); null:
// none. `at_end`: of a file that isn't compressed; null: the prologue stays as it is. Throws error(output) when the
// file can't be created, or is a pipe or device whose prologue can't become another.
std::unique_ptr<exec::ordered_stage> make_file_sink(exec::build_context& context, const written_file& to,
                                                    sink_content content, std::string prologue = {},
                                                    std::unique_ptr<row_index_builder> index = nullptr,
                                                    final_prologue at_end = nullptr);

}  // namespace flowrun::operators
