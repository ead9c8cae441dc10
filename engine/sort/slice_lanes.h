// Slices of one run (row_slices.h), merged by several threads at once and handed out in their order:
//
//   start        slice 4 ─▶ lane 1 │ merged on some thread   │
//                           lane 0 │ 3, merged on some thread│
//                           lane 2 │ 2, merged               │ ─▶ next: the rows of 2, in order; pop: lane 2 is free
//
// Where equal keys become one row (unique, combine), the last row of a slice waits for the next one, where its key may
// go on. So what is handed out has each key once.
//
// Cost: two pointers per row of the slices under way; no row is copied but those that wait.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "engine/base/background_work.h"
#include "engine/kernels/row_slices.h"
#include "engine/sort/run_creator.h"
#include "engine/sort/settings.h"

namespace flowrun::sort {

// One thread at a time.
class slice_lanes {
 public:
  // At most `num_lanes` slices under way; with one, and slices that are in order already, the caller does the work.
  // `slices` outlives this. With a combiner, the slices' rows lie in memory that may be written to, where nothing else
  // looks at them.
  slice_lanes(const kernels::row_slices& slices, const sort_settings& settings, const task_poster& post,
              size_t num_lanes);
  ~slice_lanes() { shutdown(); }

  bool has_room() const { return num_busy_ < lanes_.size(); }
  // Only with room. Slices of a run are started in its order.
  void start(kernels::row_slice slice);
  // No more slices come for this run; from `done` on those of the next one may.
  void close() { closed_ = true; }

  // Starts the slices that `next_slice` gives, as far as there is room, and then as next(). next_slice(slice): ready,
  // blocked (`w` will be woken) or done, which closes the run.
  template <class NextSlice>
  outcome merge(NextSlice next_slice, std::span<const record::row_place>& rows, waker& w) {
    for (;;) {
      outcome given;
      while (!closed_ && given.is_ready() && has_room()) {
        kernels::row_slice slice;
        given = next_slice(slice);
        if (given.is_ready()) start(std::move(slice));
        if (given.is_done()) close();
      }
      const bool was_last = closed_;
      const outcome o = next(rows, w);
      if (!o.is_done() || was_last) return o;
      if (given.is_blocked()) return given;
    }
  }

  // ready: the run's next rows, at least one, valid until pop(), which must come before the next call. blocked: `w`
  // will be woken. done: nothing is under way. Throws what a merge threw.
  outcome next(std::span<const record::row_place>& rows, waker& w);
  void pop();

  // Waits until no lane looks at the slices any more.
  void shutdown();

 private:
  struct lane {
    explicit lane(const task_poster& post) : merging(post) {}
    kernels::row_slice slice;
    std::vector<record::row_place> rows;
    background_work merging;
  };
  void merge(lane& l) const;
  void combine(std::vector<record::row_place>& rows) const;
  void fold(std::vector<record::row_place>& rows);
  bool have_equal_keys(const record::row_place& a, const record::row_place& b) const {
    return comparator_.equal(a.row, a.heap, b.row, b.heap);
  }

  const kernels::row_slices& slices_;
  const kernels::wide_rows rows_;
  const record::row_comparator comparator_;
  const bool unique_;
  const std::shared_ptr<const row_combiner> combiner_;
  std::vector<std::unique_ptr<lane>> lanes_;  // a ring
  size_t first_ = 0;                          // the oldest one that is busy
  size_t num_busy_ = 0;
  bool closed_ = false;
  // The row that waits, with its strings; the other one may be among the rows that were handed out.
  std::array<std::vector<std::byte>, 2> copies_;
  size_t newest_copy_ = 0;
  bool one_waits_ = false;
  record::row_place last_;  // the one that waited when the run was closed
};

}  // namespace flowrun::sort
