#include "engine/exec/node_work.h"

#include <utility>

#include "engine/base/clock.h"

namespace flowrun::exec {

namespace {

// Also of work that throws.
class timed {
 public:
  explicit timed(node_counters& counters) : counters_(counters), begin_(now_ns()) {}
  ~timed() { counters_.busy_ns.fetch_add(now_ns() - begin_, std::memory_order_relaxed); }
  timed(const timed&) = delete;
  timed& operator=(const timed&) = delete;

 private:
  node_counters& counters_;
  const uint64_t begin_;
};

}  // namespace

task_poster node_poster(services& job, node_counters& counters) {
  return [&job, &counters](std::function<void()> work) {
    job.spawn([&counters, work = std::move(work)] {
      const timed here(counters);
      work();
    });
  };
}

}  // namespace flowrun::exec
