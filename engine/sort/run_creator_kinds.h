#pragma once

#include <memory>

#include "engine/sort/run_creator.h"

namespace flowrun::sort {

// The two implementations behind make_run_creator().
std::unique_ptr<run_creator> make_narrow_run_creator(const sort_settings& settings, const sort_resources& resources);
std::unique_ptr<run_creator> make_wide_run_creator(const sort_settings& settings, const sort_resources& resources);

// How a creator divides its memory: write buffers, and two halves of the run buffer.
struct creator_memory {
  unsigned num_buffers = 2;
  uint64_t half_bytes = 0;
};
creator_memory divide_creator_memory(const sort_resources& resources);

}  // namespace flowrun::sort
