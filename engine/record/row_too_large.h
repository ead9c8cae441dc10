// A single row that is larger than the memory allows. Batches are cut between rows, so this ends the job, with a way
// out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/error.h"
#include "engine/base/units.h"

namespace flowrun::record {

class row_too_large : public error {
 public:
  row_too_large(uint64_t num_bytes, uint64_t most_bytes)
      : error(
            error_kind::resources,
            fmt::format("one row takes {} or more, and the memory budget leaves {} for a row", format_bytes(num_bytes),
                        format_bytes(most_bytes)),
            "raise the memory budget (-m), of which a row may take an eighth, and less where many streams meet; or cut "
            "its texts, with text[0:n]") {}
  // Of what is no row, such as the texts that a state holds.
  row_too_large(std::string_view what, uint64_t num_bytes, uint64_t most_bytes)
      : error(
            error_kind::resources,
            fmt::format("{} take {} or more, and may take {}", what, format_bytes(num_bytes), format_bytes(most_bytes)),
            "raise the memory budget (-m), or cut them, with text[0:n]") {}
  // The same error with the name of the node in front.
  row_too_large(const std::string& node, const row_too_large& cause)
      : error(cause.kind(), fmt::format("node '{}': {}", node, cause.what()), cause.hint()) {}
};

}  // namespace flowrun::record
