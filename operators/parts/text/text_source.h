// The head of file.read_csv and file.read_lines: reads text files and hands on pieces of whole records.
//
// A piece travels as a batch whose heap is the text and whose one row is a text_piece_header, so that the parsing stage
// behind, which runs in parallel, knows the lines' numbers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/exec/operator_definition.h"
#include "operators/parts/text/rejection_tally.h"
#include "operators/parts/text/text_cutter.h"

namespace flowrun::operators {

struct text_piece_header {
  uint64_t first_line = 0;  // line ends before the text in its file
  uint64_t first_row = 0;   // the same over all files: the row number where each line is a row
  uint64_t file = 0;        // index among the paths
};

text_piece_header load_header(const record::batch& piece);
inline std::string_view text_of(const record::batch& piece) {
  return {reinterpret_cast<const char*>(piece.heap), piece.heap_bytes};
}

// `tally` (may be null) is told of each piece before it leaves; the source ends, or fails, only once all were parsed.
std::unique_ptr<exec::source> make_text_source(exec::build_context& context, const std::vector<std::string>& paths,
                                               cutter_options options, std::shared_ptr<rejection_tally> tally);

// What a source of text asks of the planner: the buffers of reading ahead, and on top what long records take.
plan::memory_wish text_reading_memory();

// Pieces of about the size of a batch, records of at most a quarter of the node's memory (from 1 MiB to 32 MiB).
cutter_options default_cutting(const exec::build_context& context);

}  // namespace flowrun::operators
