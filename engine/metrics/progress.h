// How fast a job goes and how long it will still take, from what it says about itself every now and then. Pure: time
// comes in from outside.
//
// The phase that runs is measured by itself: its heads, and what it moves to and from scratch, each by its last
// `window_seconds` mixed with all of it, since the recent speed alone jumps about and the overall one lags behind. The
// slowest of them counts. A head may be ahead of the disks by what memory holds, and stands still while runs are merged
// that are too many for one merge.
//
// The phases behind it take what their demand takes (work.h): of the processors, or of the disks, whichever takes
// longer, at the speeds that were measured so far, and as much beyond that as the phases so far have taken.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>

#include "engine/metrics/work.h"

namespace flowrun::metrics {

// Counted since the start of the job.
struct moved_so_far {
  uint64_t rows = 0;        // given on by heads
  uint64_t bytes_read = 0;  // of input files
  uint64_t iterations = 0;  // of loops
};

class progress_estimate {
 public:
  static constexpr double window_seconds = 15;
  static constexpr double warm_up_seconds = 1;    // no estimate before that
  static constexpr double settling_seconds = 10;  // of a phase behind the first one

  // Times, phases and rows never go back; neither does the ratio (0 … 1): a smaller one counts as the largest so far.
  void update(double now_seconds, size_t phase, const job_work& work, const moved_so_far& moved);

  double ratio() const { return ratio_; }
  // Nothing is known of what is still to come: the ratio is no more than a place on the bar.
  bool open() const { return !first_ || work_.open; }
  // Speeds within the window; 0 while there is none.
  double rows_per_second() const;
  double bytes_read_per_second() const;
  double iterations_per_second() const;
  // Empty while it can't be told: too early, nothing moves, or the work is open.
  std::optional<double> seconds_left() const;

 private:
  struct sample {
    double seconds;
    size_t phase;
    double done;  // bytes of heads
    moved_so_far moved;
    resources_spent spent;
  };
  double per_second(uint64_t moved_so_far::*what) const;
  std::optional<double> seconds_left_now() const;
  std::optional<double> seconds_for(std::span<const demand> phases) const;

  std::deque<sample> window_;
  std::optional<sample> first_;           // since the end of the work is known
  std::optional<sample> first_of_phase_;  // of the phase that runs
  double bound_before_ = 0;               // seconds that the phases before it took at least
  job_work work_;
  double ratio_ = 0;
};

// What a progress line says.
struct progress_state {
  size_t phase = 0;  // from 1
  size_t num_phases = 0;
  bool ratio_known = false;
  moved_so_far moved;
  double elapsed_seconds = 0;
  std::string activity;
};

// " 43% ████████▌            2/3 sorted, 12.3 M rows/s, 1 min 05 s left", at most `width` columns; ASCII unless
// `unicode`. Of open work no share is told: "  1/2 lines, 240 MiB read, 4.00 MiB/s, 62.0 k rows/s, 1 min 02 s so far".
std::string progress_bar(const progress_estimate& estimate, const progress_state& state, size_t width, bool unicode);
// "43 %, phase 2 of 3 (sorted), 12.3 M rows/s, 12.0 s so far, 1 min 05 s left"
std::string progress_line(const progress_estimate& estimate, const progress_state& state);
// One JSON object without line end.
std::string progress_json(const progress_estimate& estimate, const progress_state& state);
// The last such line: how the job has ended ("succeeded", "failed", "cancelled").
std::string progress_json_end(const std::string& status, double ratio, const progress_state& state);

// "850", "12.3 k", "1.20 M", "3.40 G"
std::string format_rate(double per_second);

}  // namespace flowrun::metrics
