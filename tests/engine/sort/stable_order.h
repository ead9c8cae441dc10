// What std::stable_sort makes of some rows. Most tests sort the same rows with one option after another: the last
// orders are kept, since under a sanitizer it takes longer to know the answer than to sort.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/record/batch.h"
#include "engine/sort/settings.h"

namespace flowrun::sort {

// All rows in order; `unique` and `limit` of the settings are left to whoever reads it.
struct stable_order {
  std::vector<std::string> rows;
  std::vector<bool> repeats;  // this row has the key of the one before it
};

// Not thread-safe.
std::shared_ptr<const stable_order> stable_order_of(const sort_settings& settings,
                                                    const std::vector<record::batch>& input);

}  // namespace flowrun::sort
