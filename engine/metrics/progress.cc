#include "engine/metrics/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/base/units.h"

namespace flowrun::metrics {

namespace {

// Below this share of what is to be read, what was read says nothing of the speed.
constexpr double least_share_read = 0.05;

// The least seconds in which a phase can have used this much.
double bound_seconds(const resources_spent& before, const resources_spent& after) {
  const double processors = (after.busy_seconds - before.busy_seconds) / std::max(after.threads, 1U);
  return std::max({processors, after.reading_seconds - before.reading_seconds,
                   after.writing_seconds - before.writing_seconds, 0.0});
}

// Seconds for `left` where `moved` took `seconds`. Empty: nothing has moved.
std::optional<double> at_speed(double left, double moved, double seconds) {
  if (!(moved > 0) || !(seconds > 0)) return std::nullopt;
  return left * seconds / moved;
}

}  // namespace

void progress_estimate::update(double now_seconds, size_t phase, const job_work& work, const moved_so_far& moved) {
  ratio_ = std::max(ratio_, std::clamp(work.ratio, 0.0, 1.0));
  const sample now{now_seconds, phase, work.done, moved, work.spent};
  // Time in which it was unknown what was to come says nothing of the bytes that are left.
  if (!first_ || work_.open) {
    first_ = now;
    bound_before_ = 0;
  }
  if (!first_of_phase_ || first_of_phase_->phase != phase || work_.open) {
    if (first_of_phase_ && !work_.open) bound_before_ += bound_seconds(first_of_phase_->spent, now.spent);
    first_of_phase_ = now;
  }
  work_ = work;
  window_.push_back(now);
  // One sample older than the window stays, so that the window is always spanned.
  while (window_.size() > 2 && now_seconds - window_[1].seconds >= window_seconds) window_.pop_front();
}

double progress_estimate::per_second(uint64_t moved_so_far::*what) const {
  if (window_.size() < 2) return 0;
  const double seconds = window_.back().seconds - window_.front().seconds;
  const uint64_t from = window_.front().moved.*what;
  const uint64_t to = window_.back().moved.*what;
  return seconds > 0 && to > from ? static_cast<double>(to - from) / seconds : 0;
}

double progress_estimate::rows_per_second() const { return per_second(&moved_so_far::rows); }
double progress_estimate::bytes_read_per_second() const { return per_second(&moved_so_far::bytes_read); }
double progress_estimate::iterations_per_second() const { return per_second(&moved_so_far::iterations); }

// Of the phase that runs. Empty: it is too young to tell, or nothing of it has moved.
std::optional<double> progress_estimate::seconds_left_now() const {
  const sample& now = window_.back();
  const sample& begin = *first_of_phase_;
  const double elapsed = now.seconds - begin.seconds;
  if (elapsed <= 0) return std::nullopt;
  const sample& recent = window_.front().seconds > begin.seconds ? window_.front() : begin;
  std::optional<double> slowest;
  const auto measure = [&](auto amount, double left) {
    const double speed =
        ((amount(now) - amount(begin)) / elapsed + (amount(now) - amount(recent)) / (now.seconds - recent.seconds)) / 2;
    if (left > 0 && speed > 0) slowest = std::max(slowest.value_or(0), left / speed);
  };
  measure([](const sample& s) { return s.done; }, work_.left_now);
  const auto written = [](const sample& s) { return s.spent.scratch_written; };
  const auto read = [](const sample& s) { return s.spent.scratch_read; };
  measure(written, work_.now.scratch_written - (written(now) - written(begin)));
  measure(read, work_.now.scratch_read - (read(now) - read(begin)));
  return slowest;
}

// Of demands that are met one after another, at the speeds that were measured so far. Empty: nothing is known of any.
std::optional<double> progress_estimate::seconds_for(std::span<const demand> phases) const {
  const sample& now = window_.back();
  const double elapsed = now.seconds - first_->seconds;
  const resources_spent& spent = now.spent;
  const double bound = bound_before_ + bound_seconds(first_of_phase_->spent, spent);
  const double threads = std::max(spent.threads, 1U);
  double least = 0;
  for (const demand& phase : phases) {
    const auto processors = at_speed(phase.processor, work_.asked.processor, spent.busy_seconds / threads);
    const auto writing = at_speed(phase.scratch_written, spent.scratch_written, spent.writing_seconds);
    // A disk from which next to nothing was read yet reads as fast as it writes.
    const bool was_read = spent.scratch_read > least_share_read * phase.scratch_read;
    const auto reading = was_read ? at_speed(phase.scratch_read, spent.scratch_read, spent.reading_seconds)
                                  : at_speed(phase.scratch_read, spent.scratch_written, spent.writing_seconds);
    least += std::max({processors.value_or(0), writing.value_or(0), reading.value_or(0)});
  }
  if (!(least > 0) || !(bound > 0)) return std::nullopt;
  return least * std::max(elapsed / bound, 1.0);
}

std::optional<double> progress_estimate::seconds_left() const {
  // What is left when all bytes have moved (a flush, the last rows of a stage) can't be told either.
  if (window_.size() < 2 || work_.open || work_.left_now + work_.left_later <= 0) return std::nullopt;
  const sample& now = window_.back();
  const double elapsed = now.seconds - first_->seconds;
  if (elapsed < warm_up_seconds) return std::nullopt;
  const std::optional<double> measured = seconds_left_now();
  const double since = now.seconds - first_of_phase_->seconds;
  std::optional<double> in_phase;
  if (since >= warm_up_seconds) in_phase = measured;
  // A young phase may still fill its buffers, or wait for its first blocks: what was expected of it counts for less and
  // less.
  const double all_now = work_.left_now + now.done - first_of_phase_->done;
  const demand left = work_.now.times(all_now > 0 ? work_.left_now / all_now : 0);
  if (now.phase != first_->phase && since < settling_seconds) {
    const double settled = std::max(since - warm_up_seconds, 0.0) / (settling_seconds - warm_up_seconds);
    if (const auto expected = seconds_for({&left, 1}))
      in_phase = *expected + (in_phase.value_or(*expected) - *expected) * settled;
  }
  // Where no speed was measured of what is asked for, bytes are taken to move as fast as all so far.
  const auto as_before = [&](double bytes) { return at_speed(bytes, now.done - first_->done, elapsed); };
  if (!in_phase && since < warm_up_seconds) in_phase = as_before(work_.left_now);
  if (!in_phase && work_.left_now <= 0) in_phase = 0;
  std::optional<double> behind = work_.left_later > 0 ? seconds_for(work_.later) : 0;
  if (!behind) behind = as_before(work_.left_later);
  if (!in_phase || !behind) return std::nullopt;
  return *in_phase + *behind;
}

std::string format_rate(double per_second) {
  constexpr const char* units[] = {"", " k", " M", " G", " T"};
  size_t unit = 0;
  while (per_second >= 999.5 && unit + 1 < std::size(units)) {
    per_second /= 1000;
    ++unit;
  }
  if (unit == 0) return fmt::format("{:.0f}", per_second);
  return fmt::format("{:.{}f}{}", per_second, per_second < 9.995 ? 2 : per_second < 99.95 ? 1 : 0, units[unit]);
}

namespace {

using json = nlohmann::ordered_json;

// To whole parts of a number of them.
double rounded(double value, double parts) { return std::round(value * parts) / parts; }

constexpr size_t bar_cells = 20;

std::string bar(double ratio, bool unicode) {
  constexpr const char* eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto filled = static_cast<size_t>(ratio * static_cast<double>(bar_cells) * 8);
  std::string out;
  size_t cells = filled / 8;
  for (size_t i = 0; i < cells; ++i) out += unicode ? "█" : "#";
  if (unicode && filled % 8 > 0) {
    out += eighths[filled % 8];
    ++cells;
  }
  out.append(bar_cells - cells, unicode ? ' ' : '.');
  return out;
}

std::string percent(const progress_estimate& estimate, const progress_state& state) {
  // 100 % is only said of a job that has ended.
  const double shown = estimate.ratio() >= 1 ? 100 : std::min(99.0, std::floor(estimate.ratio() * 100));
  return fmt::format("{}{:.0f}", state.ratio_known ? "" : "~", shown);
}

// Cuts to `width` columns of UTF-8 text, each code point one column.
std::string cut(const std::string& text, size_t width) {
  size_t columns = 0;
  size_t end = 0;
  while (end < text.size()) {
    if ((static_cast<unsigned char>(text[end]) & 0xC0) != 0x80 && ++columns > width) break;
    ++end;
  }
  return text.substr(0, end);
}

// ", 240 MiB read, 4.00 MiB/s, 62.0 k rows/s"
std::string speeds(const progress_estimate& estimate, const progress_state& state) {
  std::string out;
  if (const double rate = estimate.iterations_per_second(); rate > 0)
    out += fmt::format(", {} iterations/s", format_rate(rate));
  // Where a share of the whole can be told, it says more than bytes.
  if (estimate.open() && state.moved.bytes_read > 0) {
    out += fmt::format(", {} read", format_bytes(state.moved.bytes_read));
    if (const double rate = estimate.bytes_read_per_second(); rate >= 1)
      out += fmt::format(", {}/s", format_bytes(static_cast<uint64_t>(rate)));
  }
  if (const double rate = estimate.rows_per_second(); rate > 0) out += fmt::format(", {} rows/s", format_rate(rate));
  return out;
}

}  // namespace

std::string progress_bar(const progress_estimate& estimate, const progress_state& state, size_t width, bool unicode) {
  std::string out =
      estimate.open() ? " " : fmt::format("{:>4}% {} ", percent(estimate, state), bar(estimate.ratio(), unicode));
  if (state.num_phases > 1) out += fmt::format(" {}/{}", state.phase, state.num_phases);
  if (!state.activity.empty()) out += " " + state.activity;
  out += speeds(estimate, state);
  if (estimate.open()) out += fmt::format(", {} so far", format_whole_seconds(std::floor(state.elapsed_seconds)));
  if (const auto left = estimate.seconds_left()) out += fmt::format(", {} left", format_whole_seconds(*left));
  return cut(out, width);
}

std::string progress_line(const progress_estimate& estimate, const progress_state& state) {
  std::string out = estimate.open() ? "" : percent(estimate, state) + " %, ";
  out += fmt::format("phase {} of {}", state.phase, state.num_phases);
  if (!state.activity.empty()) out += " (" + state.activity + ")";
  out += speeds(estimate, state);
  out += fmt::format(", {} so far", format_duration(state.elapsed_seconds));
  if (const auto left = estimate.seconds_left()) out += fmt::format(", {} left", format_whole_seconds(*left));
  return out;
}

std::string progress_json(const progress_estimate& estimate, const progress_state& state) {
  const auto left = estimate.seconds_left();
  json out = {{"ratio", nullptr},
              {"ratio_known", state.ratio_known},
              {"phase", state.phase},
              {"phases", state.num_phases},
              {"activity", state.activity},
              {"rows", state.moved.rows},
              {"rows_per_second", std::llround(estimate.rows_per_second())},
              {"bytes_read", state.moved.bytes_read},
              {"bytes_read_per_second", std::llround(estimate.bytes_read_per_second())},
              {"iterations", state.moved.iterations},
              {"elapsed_seconds", rounded(state.elapsed_seconds, 10)},
              {"seconds_left", nullptr}};
  if (!estimate.open()) out["ratio"] = rounded(estimate.ratio(), 10'000);
  if (left) out["seconds_left"] = rounded(*left, 10);
  return out.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string progress_json_end(const std::string& status, double ratio, const progress_state& state) {
  const json out = {{"status", status},
                    {"ratio", rounded(ratio, 10'000)},
                    {"rows", state.moved.rows},
                    {"elapsed_seconds", rounded(state.elapsed_seconds, 10)}};
  return out.dump();
}

}  // namespace flowrun::metrics
