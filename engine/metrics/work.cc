#include "engine/metrics/work.h"

#include <algorithm>

namespace flowrun::metrics {

demand& demand::operator+=(const demand& other) {
  processor += other.processor;
  scratch_read += other.scratch_read;
  scratch_written += other.scratch_written;
  return *this;
}

demand demand::times(double factor) const {
  return {processor * factor, scratch_read * factor, scratch_written * factor};
}

job_work add_up(std::span<const pipeline_work> pipelines, size_t phase_now) {
  job_work out;
  double num_open = 0;
  double num_open_done = 0;
  for (const pipeline_work& p : pipelines) {
    const bool over = p.phase < phase_now;
    if (p.open) {
      ++num_open;
      num_open_done += over ? 1 : 0;
      out.open = out.open || !over;
      continue;
    }
    const double left = over ? 0 : std::max(p.total - p.done, 0.0);
    out.asked += over ? p.all : p.all.times(p.total > 0 ? std::min(p.done / p.total, 1.0) : 0);
    if (p.phase == phase_now) out.now += p.all;
    if (p.phase > phase_now) {
      out.later.resize(std::max(out.later.size(), p.phase - phase_now));
      out.later[p.phase - phase_now - 1] += p.all;
    }
    out.done += over ? std::max(p.total, p.done) : p.done;
    (p.phase <= phase_now ? out.left_now : out.left_later) += left;
    out.exact = out.exact && (p.exact || over);
  }
  out.exact = out.exact && !out.open;
  const double bytes = out.done + out.left_now + out.left_later;
  const double of_an_open_one = bytes > 0 ? bytes : 1;
  const double all = bytes + num_open * of_an_open_one;
  if (all > 0) out.ratio = (out.done + num_open_done * of_an_open_one) / all;
  return out;
}

}  // namespace flowrun::metrics
