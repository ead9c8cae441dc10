#include "runner/progress_display.h"

#include <algorithm>

#include "engine/base/clock.h"

namespace flowrun::runner {

namespace {

constexpr uint64_t ms = 1'000'000;

// How often each mode shows something.
uint64_t interval_ns(progress_mode mode) {
  switch (mode) {
    case progress_mode::bar: return 100 * ms;
    case progress_mode::json: return 1000 * ms;
    default: return 30'000 * ms;
  }
}

metrics::moved_so_far moved_by(const exec::job_progress& now) {
  return {now.rows_done, now.bytes_read, now.iterations};
}

}  // namespace

progress_mode effective_mode(progress_mode asked, const terminal& where) {
  if (asked == progress_mode::automatic) {
    if (where.quiet()) return progress_mode::none;
    return where.is_terminal() ? progress_mode::bar : progress_mode::plain;
  }
  return asked;
}

progress_display::progress_display(progress_mode mode, terminal& where)
    : mode_(mode), where_(where), start_ns_(now_ns()), shown_ns_(mode == progress_mode::plain ? start_ns_ : 0) {}

metrics::progress_state progress_display::state_of(const exec::job_progress& now) const {
  metrics::progress_state out;
  out.num_phases = now.num_phases;
  out.phase = std::min(now.phase + 1, now.num_phases);
  out.ratio_known = now.work.exact;
  out.moved = moved_by(now);
  out.elapsed_seconds = static_cast<double>(now_ns() - start_ns_) * 1e-9;
  out.activity = now.activity;
  return out;
}

void progress_display::update(const exec::job_progress& now) {
  const uint64_t time = now_ns();
  estimate_.update(static_cast<double>(time - start_ns_) * 1e-9, now.phase, now.work, moved_by(now));
  if (mode_ == progress_mode::none) return;
  if (shown_ns_ != 0 && time - shown_ns_ < interval_ns(mode_)) return;
  shown_ns_ = time;
  const metrics::progress_state state = state_of(now);
  switch (mode_) {
    case progress_mode::bar:
      where_.redraw(metrics::progress_bar(estimate_, state, where_.width() - 1, where_.unicode()));
      break;
    case progress_mode::json: where_.report_line(metrics::progress_json(estimate_, state)); break;
    default: where_.report_line("flowrun: " + metrics::progress_line(estimate_, state)); break;
  }
}

void progress_display::describe(const exec::job_progress& now, exec::RunReport::Live& out) const {
  const metrics::progress_state state = state_of(now);
  if (!estimate_.open()) out.set_ratio(estimate_.ratio());
  out.set_ratio_known(state.ratio_known);
  out.set_phase(static_cast<uint32_t>(state.phase));
  out.set_activity(state.activity);
  out.set_rows_per_second(estimate_.rows_per_second());
  out.set_bytes_read(now.bytes_read);
  out.set_bytes_read_per_second(estimate_.bytes_read_per_second());
  if (const auto left = estimate_.seconds_left()) out.set_seconds_left(*left);
}

void progress_display::finish(const exec::job_progress& last, const char* status) {
  if (mode_ == progress_mode::bar) where_.erase_line();
  if (mode_ != progress_mode::json) return;
  where_.report_line(metrics::progress_json_end(status, last.done_ratio, state_of(last)));
}

}  // namespace flowrun::runner
