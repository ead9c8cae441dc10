#include "operators/parts/order/stored_source.h"

#include <algorithm>
#include <utility>

#include "engine/base/units.h"
#include "engine/plan/graph.h"

namespace flowrun::operators {

namespace {

class stored_source final : public exec::source {
 public:
  explicit stored_source(std::unique_ptr<container::stored_reader> rows) : rows_(std::move(rows)) {}
  outcome pull(exec::output& out, waker& w) override {
    const record::batch* front = nullptr;
    if (const outcome o = rows_->front(front, w); !o.is_ready()) return o;
    out.emit(*front);
    rows_->pop();
    return outcome::ready();
  }

 private:
  std::unique_ptr<container::stored_reader> rows_;
};

}  // namespace

std::unique_ptr<exec::source> make_stored_source(std::unique_ptr<container::stored_reader> rows) {
  return std::make_unique<stored_source>(std::move(rows));
}

plan::memory_wish stored_memory(const plan::node& n, plan::node_part part) {
  if (part != plan::node_part::intake) return {256 * KiB, 16 * MiB, 0.25};
  plan::memory_wish wish{MiB, UINT64_MAX / 4, 1};
  if (const auto known = n.facts.stored_bytes) wish.maximum = std::max(wish.minimum, *known + *known / 8 + MiB);
  return wish;
}

}  // namespace flowrun::operators
