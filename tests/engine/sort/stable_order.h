// What std::stable_sort makes of some rows. Most tests sort the same rows with one option after another: the last
// orders are kept, since under a sanitizer it takes longer to know the answer than to sort.
#pragma once

#include <string>
#include <vector>

#include "engine/record/batch.h"
#include "engine/sort/settings.h"

namespace flowrun::sort {

// The contents of the rows that a sort must give. Not thread-safe.
std::vector<std::string> expected_rows(const sort_settings& settings, const std::vector<record::batch>& input);

}  // namespace flowrun::sort
