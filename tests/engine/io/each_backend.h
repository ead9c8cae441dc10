// Lets a suite run once with each backend: INSTANTIATE_TEST_SUITE_P(each, my_test, each_backend, backend_label);
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "engine/io/request.h"

namespace flowrun::io {

inline const auto each_backend =
    testing::Values(backend_kind::io_uring, backend_kind::threads, backend_kind::mmap, backend_kind::memory);

inline std::string backend_label(const testing::TestParamInfo<backend_kind>& info) {
  switch (info.param) {
    case backend_kind::io_uring: return "io_uring";
    case backend_kind::threads: return "threads";
    case backend_kind::mmap: return "mmap";
    case backend_kind::memory: return "memory";
    case backend_kind::automatic: break;
  }
  return "automatic";
}

}  // namespace flowrun::io
