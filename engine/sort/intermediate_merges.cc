#include "engine/sort/intermediate_merges.h"

#include <iterator>
#include <utility>

#include "engine/base/machine.h"

namespace flowrun::sort {

intermediate_merges::intermediate_merges(const std::vector<uint64_t>& run_sizes, uint64_t fan_in, beginning begin,
                                         ending end)
    : begin_(std::move(begin)),
      end_(std::move(end)),
      steps_(plan_merges(run_sizes, fan_in)),
      passes_(merge_passes(run_sizes.size(), steps_)) {}

outcome intermediate_merges::advance(std::vector<runs::run>& runs, waker& w) {
  const merge_step& plan = steps_[next_];
  const auto first = runs.begin() + static_cast<std::ptrdiff_t>(plan.first);
  const auto last = first + static_cast<std::ptrdiff_t>(plan.count);
  if (!merge_) {
    streams_.clear();
    for (auto r = first; r != last; ++r) streams_.push_back(r->stream);
    merge_ = begin_(std::vector<runs::run>(std::make_move_iterator(first), std::make_move_iterator(last)));
  }
  const outcome s = merge_->advance(w);
  if (!s.is_done()) return s;
  *first = merge_->take();
  if (end_) end_(streams_, *first);
  runs.erase(first + 1, last);
  merge_.reset();
  // What was known of the merged runs' blocks lay in many small pieces, and the next lists are long ones, elsewhere.
  give_back_freed_memory();
  ++next_;
  return outcome::ready();
}

}  // namespace flowrun::sort
