// How much of a job's work is done and how much is left, from what its pipelines say. Pure.
//
// Work is counted in bytes that the heads of pipelines give on. Where nothing is known of a pipeline's bytes (a pipe, a
// loop that still goes round) the work is open: the time that is left can't be told. The ratio takes such a pipeline
// for as much as all the others together.
#pragma once

#include <cstddef>
#include <span>

namespace flowrun::metrics {

struct pipeline_work {
  size_t phase = 0;   // in which it runs, from 0
  double done = 0;    // bytes; of a pipeline of an earlier phase all of them
  double total = 0;   // bytes that it will come to; of an open one nothing
  bool open = false;  // nothing is known of its total
  bool exact = true;  // false: the total is a guess or a bound
};

struct job_work {
  double ratio = 0;       // 0 … 1
  double done = 0;        // bytes, of all pipelines
  double left_now = 0;    // bytes left in the phase that runs
  double left_later = 0;  // bytes left in the phases behind it
  bool open = false;      // more is to be done than the bytes say
  bool exact = true;      // the ratio is no guess
  bool operator==(const job_work&) const = default;
};

job_work add_up(std::span<const pipeline_work> pipelines, size_t phase_now);

}  // namespace flowrun::metrics
