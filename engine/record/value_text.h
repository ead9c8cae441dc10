// Values and rows as a person reads them: in messages and in the run report.
#pragma once

#include <string>
#include <vector>

#include "engine/record/batch.h"

namespace flowrun::record {

// 42, -1, 0.5, true, "text" with escapes; long texts are cut.
std::string value_text(const value_type& type, const std::byte* field, const std::byte* heap);
// The same with texts of up to 64 KiB whole: unquoted() gives them back.
std::string whole_value_text(const value_type& type, const std::byte* field, const std::byte* heap);

// {src: 1, name: "x"}
std::string row_text(const row_type& type, const std::byte* row, const std::byte* heap);
// Of some of its columns.
std::string row_text(const std::vector<column>& columns, const std::byte* row, const std::byte* heap);

}  // namespace flowrun::record
