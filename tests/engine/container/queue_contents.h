// What goes into an external queue, and what comes out.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "engine/base/waker.h"
#include "engine/container/external_queue.h"
#include "tests/support/random_rows.h"

namespace flowrun::container {

inline void push_all(external_queue& queue, std::vector<record::batch> input) {
  blocking_waker w;
  for (record::batch& b : input)
    while (queue.push(b, w).is_blocked()) w.wait();
  queue.close();
}

// Appends the contents of the next batch; false at the end.
inline bool read_one(external_queue& queue, const record::row_type& type, std::vector<std::string>& out) {
  blocking_waker w;
  const record::batch* front = nullptr;
  for (;;) {
    const outcome s = queue.front(front, w);
    if (s.is_done()) return false;
    if (s.is_ready()) break;
    w.wait();
  }
  EXPECT_EQ(front->row_bytes, type.row_bytes());
  for (size_t i = 0; i < front->num_rows; ++i) out.push_back(record::content_of(type, front->row(i), front->heap));
  queue.pop();
  return true;
}

inline std::vector<std::string> read_all(external_queue& queue, const record::row_type& type) {
  std::vector<std::string> out;
  while (read_one(queue, type, out)) {
  }
  return out;
}

}  // namespace flowrun::container
