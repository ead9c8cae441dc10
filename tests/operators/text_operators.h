// Two operators that exist in tests only: `test.rows {type, sorted_by}`, a source whose rows the test gives, and
// `test.sink`, whose rows the test reads. The source cuts its batches at random places. Both are blocked now and then,
// and woken at once or by a task that runs later.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "engine/exec/operator_definition.h"
#include "tests/operators/text_rows.h"
#include "tests/support/checked_job.h"

namespace flowrun::operators::testing {

// Outlives the jobs that it is in.
class text_operators {
 public:
  // `inputs` and `sinks` by node. At most `most_rows` are in a batch.
  text_operators(std::map<std::string, rows> inputs, uint64_t seed, size_t most_rows);
  text_operators() : text_operators({}, 1, 1) {}
  text_operators(const text_operators&) = delete;
  text_operators& operator=(const text_operators&) = delete;

  exec::more_operators definitions() const { return {&source_, &sink_}; }
  const std::map<std::string, rows>& sinks() const { return sinks_; }

 private:
  exec::assembly build_source(exec::build_context& c);
  exec::assembly build_sink(exec::build_context& c);

  const std::map<std::string, rows> inputs_;
  const uint64_t seed_;
  const size_t most_rows_;
  std::map<std::string, rows> sinks_;
  exec::operator_definition source_, sink_;
};

}  // namespace flowrun::operators::testing
