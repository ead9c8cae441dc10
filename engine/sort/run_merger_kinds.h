#pragma once

#include <memory>

#include "engine/sort/run_merger.h"

namespace flowrun::sort {

// The two implementations behind make_run_merger().
std::unique_ptr<run_merger> make_narrow_run_merger(const sort_settings& settings, const sort_resources& resources,
                                                   runs::sorted_runs runs, size_t batch_bytes);
std::unique_ptr<run_merger> make_wide_run_merger(const sort_settings& settings, const sort_resources& resources,
                                                 runs::sorted_runs runs, size_t batch_bytes);

}  // namespace flowrun::sort
