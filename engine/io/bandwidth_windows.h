// From moments at which transfers ended to a bandwidth: the median over windows of time, without the ramp-up. Pure.
//
// A window begins and ends at a moment at which something ended; what ended at its beginning doesn't count, what ended
// at its end does. Between two such moments the disk has carried out just these bytes. So the length of a window and
// the size of a transfer don't round the result, though a slow disk ends only a handful of large transfers in a window.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace flowrun::io {

// Bytes per second.
struct bandwidth {
  double read = 0;
  double write = 0;
  double total() const { return read + write; }
};

class bandwidth_windows {
 public:
  // How long a measurement is: `num_windows` of `window_ns`. A slow disk, which ends transfers in bursts, has fewer and
  // longer windows in the same time: each has `rounds_per_window` times the transfers in flight.
  struct extent {
    uint64_t window_ns = 0;
    size_t num_windows = 1;
    uint64_t in_flight = 1;
  };
  static constexpr uint64_t rounds_per_window = 4;

  // The first window opens at `ramp_end` or later, once as many transfers have ended as were started at once.
  bandwidth_windows(uint64_t ramp_end, extent length) : ramp_end_(ramp_end), length_(length) {
    closed_.reserve(length.num_windows);
  }

  // Everything that ended since the last call. Times rise; some transfers ended.
  void add(uint64_t now, uint64_t num_transfers, uint64_t read_bytes, uint64_t written_bytes) {
    if (finished_) return;
    if (!open_) {
      ramped_ += num_transfers;
      open_ = now >= ramp_end_ && ramped_ >= length_.in_flight;
      first_opened_at_ = now;
      current_ = {now, now, 0, 0, 0};
      return;
    }
    current_.closed_at = now;
    current_.num_transfers += num_transfers;
    current_.read_bytes += read_bytes;
    current_.written_bytes += written_bytes;
    const uint64_t total_ns = length_.window_ns * length_.num_windows;
    const bool out_of_time = now - first_opened_at_ >= total_ns;
    // A window of a very slow disk takes three times the time of a measurement at most.
    const bool enough =
        current_.num_transfers >= rounds_per_window * length_.in_flight || now - first_opened_at_ >= 3 * total_ns;
    const bool long_enough = enough && now > current_.opened_at && now - current_.opened_at >= length_.window_ns;
    if (long_enough) {
      closed_.push_back(current_);
      current_ = {now, now, 0, 0, 0};
    } else if (out_of_time && !closed_.empty()) {  // the rest is too little for a window of its own
      window& last = closed_.back();
      last.closed_at = now;
      last.num_transfers += current_.num_transfers;
      last.read_bytes += current_.read_bytes;
      last.written_bytes += current_.written_bytes;
    }
    finished_ = closed_.size() == length_.num_windows || (out_of_time && !closed_.empty());
  }

  bool finished() const { return finished_; }
  size_t num_closed() const { return closed_.size(); }

  // The median by total(); of an even number of windows the lower one. At least one is closed.
  bandwidth median() const {
    std::vector<bandwidth> all;
    for (const window& w : closed_) {
      const double seconds = static_cast<double>(w.closed_at - w.opened_at) * 1e-9;
      all.push_back({static_cast<double>(w.read_bytes) / seconds, static_cast<double>(w.written_bytes) / seconds});
    }
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>((all.size() - 1) / 2);
    std::nth_element(all.begin(), middle, all.end(),
                     [](const bandwidth& x, const bandwidth& y) { return x.total() < y.total(); });
    return *middle;
  }

 private:
  struct window {
    uint64_t opened_at = 0;
    uint64_t closed_at = 0;
    uint64_t num_transfers = 0;
    uint64_t read_bytes = 0;
    uint64_t written_bytes = 0;
  };
  uint64_t ramp_end_;
  extent length_;
  bool open_ = false;
  bool finished_ = false;
  uint64_t ramped_ = 0;
  uint64_t first_opened_at_ = 0;
  window current_;
  std::vector<window> closed_;
};

}  // namespace flowrun::io
