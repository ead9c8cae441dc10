// From moments at which transfers ended to a bandwidth: the median over windows of time, without the ramp-up. Pure.
//
// A window begins and ends at a moment at which something ended; what ended at its beginning doesn't count, what ended
// at its end does. Between two such moments the disk has carried out just these bytes, so that the length of a window
// and the size of a transfer don't round the result (a slow disk ends only a handful of large transfers in a window).
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

// The median by total(); of an even number the lower one. `all` is not empty.
inline bandwidth median_bandwidth(std::vector<bandwidth> all) {
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>((all.size() - 1) / 2);
  std::nth_element(all.begin(), middle, all.end(),
                   [](const bandwidth& a, const bandwidth& b) { return a.total() < b.total(); });
  return *middle;
}

class bandwidth_windows {
 public:
  // The first window opens at `ramp_end` or later, once `ramp_transfers` have ended: as many as were started at once.
  bandwidth_windows(uint64_t ramp_end, uint64_t ramp_transfers, uint64_t window_ns, size_t num_windows)
      : ramp_end_(ramp_end), ramp_transfers_(ramp_transfers), window_ns_(window_ns), num_windows_(num_windows) {
    closed_.reserve(num_windows);
  }

  // Everything that ended since the last call. Times rise; some transfers ended.
  void add(uint64_t now, uint64_t num_transfers, uint64_t read_bytes, uint64_t written_bytes) {
    if (!open_) {
      ramped_ += num_transfers;
      open_ = now >= ramp_end_ && ramped_ >= ramp_transfers_;
      opened_at_ = now;
      return;
    }
    read_bytes_ += read_bytes;
    written_bytes_ += written_bytes;
    const uint64_t passed = now - opened_at_;
    if (passed < window_ns_ || passed == 0 || finished()) return;
    const double seconds = static_cast<double>(passed) * 1e-9;
    closed_.push_back({static_cast<double>(read_bytes_) / seconds, static_cast<double>(written_bytes_) / seconds});
    opened_at_ = now;
    read_bytes_ = written_bytes_ = 0;
  }

  bool finished() const { return closed_.size() >= num_windows_; }
  const std::vector<bandwidth>& closed() const { return closed_; }

 private:
  uint64_t ramp_end_;
  uint64_t ramp_transfers_;
  uint64_t window_ns_;
  size_t num_windows_;
  bool open_ = false;
  uint64_t ramped_ = 0;
  uint64_t opened_at_ = 0;
  uint64_t read_bytes_ = 0;
  uint64_t written_bytes_ = 0;
  std::vector<bandwidth> closed_;
};

}  // namespace flowrun::io
