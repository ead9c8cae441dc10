#include "engine/metrics/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/base/units.h"

namespace flowrun::metrics {

void progress_estimate::update(double now_seconds, size_t phase, const job_work& work, uint64_t rows) {
  ratio_ = std::max(ratio_, std::clamp(work.ratio, 0.0, 1.0));
  const sample now{now_seconds, phase, work.done, rows};
  // Time in which it was unknown what was to come says nothing of the bytes that are left.
  if (!first_ || work_.open) first_ = now;
  if (!first_of_phase_ || first_of_phase_->phase != phase || work_.open) first_of_phase_ = now;
  work_ = work;
  window_.push_back(now);
  // One sample older than the window stays, so that the window is always spanned.
  while (window_.size() > 2 && now_seconds - window_[1].seconds >= window_seconds) window_.pop_front();
}

double progress_estimate::rows_per_second() const {
  if (window_.size() < 2) return 0;
  const double seconds = window_.back().seconds - window_.front().seconds;
  const uint64_t from = window_.front().rows;
  const uint64_t to = window_.back().rows;
  return seconds > 0 && to > from ? static_cast<double>(to - from) / seconds : 0;
}

// Bytes per second; `overall` while the phase is too young to tell.
double progress_estimate::speed_of_phase(double overall) const {
  const sample& now = window_.back();
  const double elapsed = now.seconds - first_of_phase_->seconds;
  if (elapsed < warm_up_seconds) return overall;
  const sample* from = &*first_of_phase_;
  if (window_.front().seconds > from->seconds) from = &window_.front();
  const double of_all = (now.done - first_of_phase_->done) / elapsed;
  const double recent = (now.done - from->done) / (now.seconds - from->seconds);
  return (of_all + recent) / 2;
}

std::optional<double> progress_estimate::seconds_left() const {
  // What is left when all bytes have moved (a flush, the last rows of a stage) can't be told either.
  if (window_.size() < 2 || work_.open || work_.left_now + work_.left_later <= 0) return std::nullopt;
  const sample& now = window_.back();
  const double elapsed = now.seconds - first_->seconds;
  if (elapsed < warm_up_seconds) return std::nullopt;
  const double overall = (now.done - first_->done) / elapsed;
  const double in_phase = speed_of_phase(overall);
  if (!(overall > 0) || !(in_phase > 0)) return std::nullopt;
  return work_.left_now / in_phase + work_.left_later / overall;
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

}  // namespace

std::string progress_bar(const progress_estimate& estimate, const progress_state& state, size_t width, bool unicode) {
  std::string out = fmt::format("{:>4}% {} ", percent(estimate, state), bar(estimate.ratio(), unicode));
  if (state.num_phases > 1) out += fmt::format(" {}/{}", state.phase, state.num_phases);
  if (!state.activity.empty()) out += " " + state.activity;
  if (const double rate = estimate.rows_per_second(); rate > 0) out += fmt::format(", {} rows/s", format_rate(rate));
  if (const auto left = estimate.seconds_left()) out += fmt::format(", {} left", format_duration(std::ceil(*left)));
  return cut(out, width);
}

std::string progress_line(const progress_estimate& estimate, const progress_state& state) {
  std::string out = fmt::format("{} %, phase {} of {}", percent(estimate, state), state.phase, state.num_phases);
  if (!state.activity.empty()) out += " (" + state.activity + ")";
  if (const double rate = estimate.rows_per_second(); rate > 0) out += fmt::format(", {} rows/s", format_rate(rate));
  out += fmt::format(", {} so far", format_duration(state.elapsed_seconds));
  if (const auto left = estimate.seconds_left()) out += fmt::format(", {} left", format_duration(std::ceil(*left)));
  return out;
}

std::string progress_json(const progress_estimate& estimate, const progress_state& state) {
  const auto left = estimate.seconds_left();
  json out = {{"ratio", rounded(estimate.ratio(), 10'000)},
              {"ratio_known", state.ratio_known},
              {"phase", state.phase},
              {"phases", state.num_phases},
              {"activity", state.activity},
              {"rows", state.rows},
              {"rows_per_second", std::llround(estimate.rows_per_second())},
              {"elapsed_seconds", rounded(state.elapsed_seconds, 10)},
              {"seconds_left", nullptr}};
  if (left) out["seconds_left"] = std::llround(*left);
  return out.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string progress_json_end(const std::string& status, double ratio, const progress_state& state) {
  const json out = {{"status", status},
                    {"ratio", rounded(ratio, 10'000)},
                    {"rows", state.rows},
                    {"elapsed_seconds", rounded(state.elapsed_seconds, 10)}};
  return out.dump();
}

}  // namespace flowrun::metrics
