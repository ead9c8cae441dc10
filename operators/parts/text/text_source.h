// The head of the sources of text, file.read_csv and others: reads text files and hands on pieces of whole records.
//
// Each piece is a parcel of numbered_text (engine/exec/parcel.h), so that the parsing stage behind, which runs in
// parallel, knows the lines' numbers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/exec/operator_definition.h"
#include "operators/parts/files/file_input.h"
#include "operators/parts/text/byte_range.h"
#include "operators/parts/text/rejection_tally.h"
#include "operators/parts/text/text_cutter.h"

namespace flowrun::operators {

struct numbered_text {
  text_piece piece;
  uint64_t first_row = 0;  // line ends before the text in all files: the row number where each line is a row
  size_t file = 0;         // index among the paths
};

// `tally` (may be null) is told of each piece before it leaves; the source ends, or fails, only once all were parsed.
// Numbers of lines and rows are counted from the beginning of `range`, which is of a single file.
std::unique_ptr<exec::source> make_text_source(exec::build_context& context, const std::vector<std::string>& paths,
                                               cutter_options options, std::shared_ptr<rejection_tally> tally,
                                               const byte_range& range);

// Estimates the rows of `type` in text files, where each record ends with `line_end` and has at least
// `least_record_bytes`. What is decoded has no bound. Lets the sample go.
plan::row_estimate rows_of_text(input_facts& inputs, char line_end, uint64_t least_record_bytes,
                                const record::row_type& type);

// A record is put together, cut off, parsed and copied: four times its length, in the worst case.
constexpr uint64_t usual_copies_of_a_record = 4;

// What a source of text asks of the planner: the buffers of reading ahead, what decoding takes, and on top what long
// records take.
plan::memory_wish text_reading_memory(const input_facts& inputs,
                                      uint64_t copies_of_a_record = usual_copies_of_a_record);

// Pieces of about the size of a batch, records that with their copies take no more than the node's memory without what
// decoding takes (from 1 MiB to 32 MiB), or are as long as a row of the job may be (up to 16 MiB).
cutter_options default_cutting(const exec::build_context& context, const input_facts& inputs,
                               uint64_t copies_of_a_record = usual_copies_of_a_record);
// The most for lines, of which rows are made without another copy: up to a quarter of the job's memory.
size_t longest_line(const exec::build_context& context, const cutter_options& options);

}  // namespace flowrun::operators
