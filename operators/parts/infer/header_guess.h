// Whether the first record of a table names the columns, or is a row like the others.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "operators/parts/text/csv_record.h"

namespace flowrun::operators {

struct header_guess {
  bool is_header = false;
  std::string question;  // where the records don't tell, and what was done; else empty
};

// Of records with the same number of fields each; the first one is the one in question.
header_guess guess_header(std::span<const std::vector<csv_field>> records);

}  // namespace flowrun::operators
