// The run buffer of a sort: a ring of stretches that are filled and written in turn (run_creator.h).
//
//   ring    │ being written │ full │ full │ filling │ free │ free │
//
// A full stretch is sorted at once and written when those before it are, in the background. As many full ones as may
// stay in memory, should they be the last, wait before they are written; but half the ring is for filling and writing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <utility>

#include "engine/base/background_work.h"
#include "engine/runs/sorted_runs.h"
#include "engine/sort/settings.h"

namespace flowrun::sort {

// `Stretch`, such as word_stretch or row_stretch, has
//   num_rows(), held_bytes()   what was filled in
//   sort_rest()                what was filled in is sorted in the background, as far as it isn't already
//   sorted(waker)              done: all of it is. blocked: the waker will be woken. Throws what sorting threw.
//   keep()                     once sorted: the same as a run that stays in memory
//   shutdown()                 waits until nothing is being sorted
//
// One thread at a time.
template <class Stretch>
class stretch_ring {
 public:
  // A step in the background. done: the whole stretch is on its way to the disks, and it is free again. `rows_taken`:
  // with its last row.
  using write_step = std::function<outcome(Stretch&, uint64_t rows_taken, waker&)>;

  // The ring needs at least two stretches, which add() makes.
  stretch_ring(const sort_settings& settings, const sort_resources& resources, write_step write)
      : force_spill_(settings.force_spill),
        kept_bytes_(resources.kept_bytes),
        keeps_none_once_spilled_(resources.keeps_none_once_spilled),
        write_(std::move(write)),
        writing_(resources.post) {}

  // Called before all else: adds a stretch, made with these arguments.
  template <class... Args>
  void add(Args&&... args) {
    ring_.emplace_back(std::forward<Args>(args)...);
  }

  // ready: the stretch that is being filled, or comes next, is free. blocked: `w` will be woken.
  outcome room(waker& w) { return writing_.at_most(ring_.size() - 1 - full_.size(), &w); }
  // The same, and all others are free, and have given their pages back: for a stretch that takes the memory of several.
  // Stretch has give_back() for this. blocked: `w` will be woken.
  outcome alone(waker& w) {
    while (!full_.empty()) write_first();
    if (const outcome o = writing_.idle(&w); o.is_blocked()) return o;
    for (Stretch& s : ring_)
      if (&s != &filling()) s.give_back();
    return outcome::ready();
  }
  // What stays in memory is all rows or none, from now on.
  void keep_none_once_spilled() { keeps_none_once_spilled_ = true; }
  // Only after room() was ready.
  Stretch& filling() { return ring_[filling_]; }
  // Another stretch is filled from now on.
  void hand_over() {
    close_filling();
    filling_ = (filling_ + 1) % ring_.size();
    const size_t most_waiting = ring_.size() > 2 ? ring_.size() / 2 : 0;
    while (full_.size() > most_waiting || held_bytes() > kept_bytes_) write_first();
  }

  // After the last row. done: what may stay is sorted, and all else was handed to the disks.
  outcome finish(waker& w) {
    if (!closing_) {
      if (const outcome o = room(w); o.is_blocked()) return o;
      closing_ = true;
      if (filling().num_rows() > 0) close_filling();
      const auto spills = [this] { return force_spill_ || (has_spilled_ && keeps_none_once_spilled_); };
      while (!full_.empty() && (spills() || held_bytes() > kept_bytes_)) write_first();
    }
    if (const outcome o = writing_.idle(&w); o.is_blocked()) return o;
    for (Stretch& s : ring_)
      if (const outcome o = s.sorted(w); o.is_blocked()) return o;
    return outcome::done();
  }

  // After finish(): adds what stays to the runs that were written. The ring is of no use afterwards.
  void take(runs::sorted_runs& out) {
    for (const full_stretch& last : full_) out.keep(last.stretch->keep());
    if (out.runs.empty() && full_.empty() && !force_spill_) out.keep(std::make_shared<runs::memory_run>());
    full_.clear();
    ring_.clear();
  }

  // Sorting may wake the writing, which must then still be there, even if it is asleep. So sorting ends first.
  void stop_sorting() {
    for (Stretch& s : ring_) s.shutdown();
  }
  void stop_writing() { writing_.shutdown(); }

 private:
  struct full_stretch {
    Stretch* stretch;
    uint64_t rows_taken;  // with its last row
  };

  // What waits, or stays.
  uint64_t held_bytes() const {
    uint64_t num_bytes = 0;
    for (const full_stretch& s : full_) num_bytes += s.stretch->held_bytes();
    return num_bytes;
  }

  void close_filling() {
    rows_taken_ += filling().num_rows();
    filling().sort_rest();
    full_.push_back({&filling(), rows_taken_});
  }

  void write_first() {
    const full_stretch first = full_.front();
    full_.pop_front();
    has_spilled_ = true;
    writing_.start([this, first](waker& w) { return write_(*first.stretch, first.rows_taken, w); });
  }

  const bool force_spill_;
  const uint64_t kept_bytes_;
  bool keeps_none_once_spilled_;
  const write_step write_;
  std::deque<Stretch> ring_;
  size_t filling_ = 0;
  std::deque<full_stretch> full_;  // not being written; in the end: what stays
  uint64_t rows_taken_ = 0;        // by full ones
  bool has_spilled_ = false;
  bool closing_ = false;
  background_work writing_;
};

}  // namespace flowrun::sort
