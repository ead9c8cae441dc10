// Rows as text: cells separated by commas, "1,-2,abc,true".
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/record/batch.h"

namespace flowrun::operators::testing {

using rows = std::vector<std::string>;

record::batch to_batch(const record::row_type& type, std::span<const std::string> text, record::batch_pool& pool);
void append_text(const record::row_type& type, const record::batch& b, rows& out);

}  // namespace flowrun::operators::testing
