// Where in its input a source is, in its own terms, such as file, byte and line; and where a pipeline is: its source,
// and the stages behind it that need the order of the rows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace flowrun::resume {

using source_position = std::vector<uint64_t>;

struct pipeline_position {
  source_position source;  // empty: from the beginning
  std::vector<std::string>
      states;  // of the ordered stages between the source and the end, once they have all before it
};

}  // namespace flowrun::resume
