// Row types and keys as a command line has them: --type "{src: u64, tag: bytes[8]}" --by "-src,tag[0:3]".
#pragma once

#include <string>
#include <string_view>

#include "engine/record/key.h"
#include "engine/record/row_type.h"

namespace flowrun::runner {

struct row_description {
  record::row_type type;
  record::key key;
};

// The braces may be left out; a type alone (u64) is one column named "value". An empty `by` means all columns in order.
// Throws error(usage): strings have no fixed width, so they are refused too.
row_description parse_rows(std::string_view type, std::string_view by);
// The key alone, of rows of that type. Throws error(usage).
record::key parse_key(const record::row_type& type, std::string_view by);

// "-dst, src"
std::string record_key_text(const row_description& rows);

}  // namespace flowrun::runner
