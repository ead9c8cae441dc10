// From what a column's fields have been to its type, and what is worth saying about it.
//
// A type is chosen only if every value that was seen is one of it. Integers get room: a sample shows neither the
// largest number nor, always, that none is negative, so they are u32, u64 or i64, never u8. Numbers that all have as
// many digits behind the point, from two to four, are decimals, as amounts of money are written; others f64. What would
// be lost as a number stays text: leading zeros, a plus in front of all, more digits than 64 bits have.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/record/value_type.h"
#include "operators/parts/infer/column_evidence.h"

namespace flowrun::operators {

struct column_decision {
  record::value_type type = record::value_type::of(record::type_kind::string);
  std::string form;                    // of dates and timestamps that are not written as ISO 8601 has it
  std::vector<size_t> missing;         // the places in missing_words that are no values of the type
  uint64_t num_missing = 0;            // fields with these
  std::string least, most;             // of the values; empty: nothing to say
  std::vector<std::string> notes;      // "2 to 14 bytes"
  std::vector<std::string> questions;  // what the fields don't tell, and how it was decided
};

// What is known before of the values, as JSON tells texts from numbers.
enum class column_kind {
  any,
  texts,    // no number or bool, whatever they look like
  numbers,  // nothing else
};

// `name`: the column's; a number such as 20241123 is a day where that says so. `day_first`: what other columns of the
// file tell about 3/4/2024.
column_decision decide_column(const column_evidence& seen, std::string_view name, std::optional<bool> day_first,
                              column_kind kind = column_kind::any);

}  // namespace flowrun::operators
