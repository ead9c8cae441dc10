// The end of every file.write_*: bytes in order into one output that appears whole or not at all, compressed or as they
// are; "-" is standard output. Where the path names columns, into several (partitioned_sink.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/exec/operator_definition.h"
#include "engine/io/encoding.h"
#include "operators/parts/files/file_partitions.h"
#include "operators/parts/files/row_index.h"
#include "operators/parts/files/text_block.h"

namespace flowrun::operators {

// Where a sink writes, and how that is compressed.
struct written_file {
  std::string path;
  io::encoding content = io::encoding::plain;
  std::optional<file_partitions> partitions;  // `path` names columns

  // The columns of the input that are written.
  std::vector<record::column> columns(const record::row_type& type) const {
    return partitions ? partitions->written(type) : type.columns();
  }
};
// The parameters `path`, `compression` and `max_files`, and what they say.
std::vector<plan::parameter_declaration> written_file_parameters();
written_file read_written_file(plan::node_checker& node);

// What a sink asks of the planner: four buffers for writing behind, from 64 KiB to 2 MiB each; two more for an index;
// and for compressing a piece at a time, or several.
plan::memory_wish writing_memory(const plan::node& n, const written_file& to);

// Text of rows from the first on, until it takes `most_bytes`; at least one. `ends` (may be null): where the text of
// each row ends is added. Thread-safe.
using row_formatter = std::function<text_block(const record::batch& in, record::batch_pool& pool, uint64_t most_bytes,
                                               std::vector<size_t>* ends)>;
// That of an object with such a function, which is called `format`.
template <class Formatter>
row_formatter formatting_by(Formatter formatter) {
  return [formatter = std::move(formatter)](const record::batch& in, record::batch_pool& pool, uint64_t most_bytes,
                                            std::vector<size_t>* ends) {
    return formatter.format(in, pool, most_bytes, ends);
  };
}

// What the prologue becomes when so many bytes are written behind it: as long as it was.
using final_prologue = std::function<std::string(uint64_t num_bytes)>;

enum class sink_content {
  rows,  // the rows of each batch as they are
  text,  // text that a stage before has made: parcels of text_block
};

// Into one file. `prologue` is written first, also when no batch comes. `index`: of the rows, written beside them
// (row_index.h); null: none. `at_end`: of a file that isn't compressed; null: the prologue stays as it is. Throws
// error(output) when the file can't be created, or is a pipe or device whose prologue can't become another.
std::unique_ptr<exec::ordered_stage> make_file_sink(exec::build_context& context, const written_file& to,
                                                    sink_content content, std::string prologue = {},
                                                    std::unique_ptr<row_index_builder> index = nullptr,
                                                    final_prologue at_end = nullptr);

// Into one file or several: a stage that makes text of rows, and the one that writes it. `prologue` comes first in each
// file. Throws error(output) when nothing can be written there.
std::vector<exec::stage> write_text(exec::build_context& context, const written_file& to, row_formatter format,
                                    std::string prologue = {});

}  // namespace flowrun::operators
