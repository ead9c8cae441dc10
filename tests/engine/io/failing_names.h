// System calls on names that fail when a test says so. The test program's own symbols stand before those of the C
// library, so the code under test needs no seam for it.
#pragma once

#include <cstdint>

namespace flowrun::io {

enum class name_call : uint8_t { sync, link, rename, exchange };

// While it lives, calls of a kind fail with an errno: the nth from now on (from 1), or all from the nth on.
class failing_name_call {
 public:
  failing_name_call(name_call what, int nth, int cause, bool from_then_on = false);
  ~failing_name_call();
  failing_name_call(const failing_name_call&) = delete;
  failing_name_call& operator=(const failing_name_call&) = delete;
  // How many calls of that kind there were.
  int num_calls() const;

 private:
  const name_call what_;
};

}  // namespace flowrun::io
