// How much of a job's work is done and how much is left, from what its pipelines say. Pure.
//
// Work is counted in bytes that the heads of pipelines give on. Where nothing is known of a pipeline's bytes (a pipe, a
// loop that still goes round) the work is open: the time that is left can't be told. The ratio takes such a pipeline
// for as much as all the others together.
//
// Bytes of different phases take different times. What a pipeline will ask of the processors and of the scratch disks
// is its demand; progress.h makes seconds of it with the speeds that were measured so far.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace flowrun::metrics {

struct demand {
  double processor = 0;        // seconds of a thread; before any node has worked only proportions
  double scratch_read = 0;     // bytes
  double scratch_written = 0;  // bytes

  demand& operator+=(const demand& other);
  demand times(double factor) const;
  bool operator==(const demand&) const = default;
};

struct pipeline_work {
  size_t phase = 0;   // in which it runs, from 0
  double done = 0;    // bytes; of a pipeline of an earlier phase all of them
  double total = 0;   // bytes that it will come to; of an open one nothing
  bool open = false;  // nothing is known of its total
  bool exact = true;  // false: the total is a guess or a bound
  demand all = {};    // of the total
};

// Measured, of the whole job so far.
struct resources_spent {
  unsigned threads = 1;
  double busy_seconds = 0;  // of all threads together
  double scratch_read = 0;  // bytes
  double scratch_written = 0;
  double reading_seconds = 0;  // of the disk that was busy longest
  double writing_seconds = 0;
};

struct job_work {
  double ratio = 0;           // 0 … 1
  double done = 0;            // bytes, of all pipelines
  double left_now = 0;        // bytes left in the phase that runs
  double left_later = 0;      // bytes left in the phases behind it
  bool open = false;          // more is to be done than the bytes say
  bool exact = true;          // the ratio is no guess
  demand asked;               // by what is done
  demand now;                 // of the whole phase that runs
  std::vector<demand> later;  // of each phase behind it
  resources_spent spent;
};

// `spent` is left to the caller.
job_work add_up(std::span<const pipeline_work> pipelines, size_t phase_now);

}  // namespace flowrun::metrics
