// How fast a job goes and how long it will still take, from what it says about itself every now and then. Pure: time
// comes in from outside.
//
// Phases differ in speed: a merge is faster than the creation of runs, a filter than a sort. So the phase that runs is
// measured by itself, by its last `window_seconds` mixed with all of it, since the recent speed alone jumps about and
// the overall one lags behind. The phases behind it are taken to be as fast as all so far.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "engine/metrics/work.h"

namespace flowrun::metrics {

class progress_estimate {
 public:
  static constexpr double window_seconds = 15;
  static constexpr double warm_up_seconds = 1;  // no estimate before that

  // Times, phases and rows never go back; neither does the ratio (0 … 1): a smaller one counts as the largest so far.
  void update(double now_seconds, size_t phase, const job_work& work, uint64_t rows);

  double ratio() const { return ratio_; }
  // The speed within the window; 0 while there is none.
  double rows_per_second() const;
  // Empty while it can't be told: too early, nothing moves, or the work is open.
  std::optional<double> seconds_left() const;

 private:
  struct sample {
    double seconds;
    size_t phase;
    double done;  // bytes
    uint64_t rows;
  };
  double speed_of_phase(double overall) const;

  std::deque<sample> window_;
  std::optional<sample> first_;           // since the end of the work is known
  std::optional<sample> first_of_phase_;  // of the phase that runs
  job_work work_;
  double ratio_ = 0;
};

// What a progress line says.
struct progress_state {
  size_t phase = 0;  // from 1
  size_t num_phases = 0;
  bool ratio_known = false;
  uint64_t rows = 0;
  double elapsed_seconds = 0;
  std::string activity;
};

// " 43% ████████▌            2/3 sorted, 12.3 M rows/s, 1 min 05 s left", at most `width` columns; ASCII unless
// `unicode`.
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
