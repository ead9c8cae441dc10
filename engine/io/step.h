// The answer of everything that may have to wait for a disk (architecture.md, "Life of a job").
#pragma once

#include <cstdint>

namespace flowrun::io {

enum class step : uint8_t {
  ready,    // it happened; call again for more
  blocked,  // not now: the waker that was handed in is woken when it is worth another try
  done,     // and there is nothing more to come
};

}  // namespace flowrun::io
