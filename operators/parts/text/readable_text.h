// What is no text with lines, though it was taken for one.
#pragma once

#include <string>
#include <string_view>

namespace flowrun::operators {

// `beginning` of the file `path`: throws error(bad_data) for UTF-16, a spreadsheet, Parquet, other bytes that no text
// has, and lines that end with \r alone; says what it is, and what makes text of it.
void refuse_unreadable(const std::string& path, std::string_view beginning);

}  // namespace flowrun::operators
