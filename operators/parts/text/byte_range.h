// The parameter `range` of sources of text: the lines that lie in a stretch of a single file's bytes. The tasks of a
// cluster read one file in this way (cluster/text_cuts.h).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/plan/node_checker.h"
#include "operators/parts/files/file_input.h"
#include "operators/parts/files/row_range.h"

namespace flowrun::operators {

// Of bytes; both ends are ends of lines, or of the file.
using byte_range = row_range;

plan::parameter_declaration byte_range_parameter();

// Reads it and reports what is wrong with it. Afterwards `inputs`, as look_at_inputs() has found them, are about the
// range alone.
byte_range read_byte_range(plan::node_checker& node, const std::vector<std::string>& paths, input_facts& inputs);

// Before the range is read: throws error(bad_data) where it is of something compressed, or doesn't begin and end at
// ends of lines. (Whether these lie within quotes can't be seen there.)
void look_at_range(const std::string& path, const byte_range& range, char line_end);

// The line ends in front of the range, for messages, which count lines from the file's beginning. They are counted when
// they are asked for, once, by reading all that lies there. Thread-safe. Empty where there are none.
using line_counter = std::function<uint64_t()>;
line_counter lines_in_front(const std::vector<std::string>& paths, const byte_range& range, char line_end);
inline uint64_t count_of(const line_counter& lines) { return lines ? lines() : 0; }

}  // namespace flowrun::operators
