#include "runner/disk_search.h"

#include <algorithm>
#include <numeric>

#include "engine/base/error.h"
#include "engine/base/units.h"

namespace flowrun::runner {

namespace {

constexpr unsigned depth_for_block_sizes = 8;
constexpr size_t last_steps = 3;  // length of the last measurements, in steps
constexpr size_t num_windows = 5;

class searcher {
 public:
  searcher(io::disk_probe& probe, const std::vector<uint64_t>& file_bytes, const search_settings& settings,
           const std::function<void(const search_step&)>& tell)
      : probe_(probe),
        settings_(settings),
        tell_(tell),
        num_disks_(file_bytes.size()),
        smallest_file_(*std::min_element(file_bytes.begin(), file_bytes.end())) {
    out_.measurements.resize(num_disks_);
    out_.alone.resize(num_disks_);
  }

  search_result run() {
    const unsigned depth = first_depth();
    std::vector<uint64_t> block_sizes;
    for (const uint64_t b : settings_.block_sizes)
      if (fits(b, depth)) block_sizes.push_back(b);
    if (block_sizes.empty())
      throw error(error_kind::usage,
                  fmt::format("{} transfers of {} don't fit into half of a file of {}", depth,
                              format_bytes(settings_.block_sizes.front()), format_bytes(smallest_file_)),
                  "a larger --file-size, or smaller --block-sizes");
    count_steps(block_sizes.size());

    std::vector<double> sums;
    for (const uint64_t b : block_sizes) sums.push_back(measure_mixed(b, depth));
    const size_t chosen = smallest_good_enough(sums);
    out_.block_bytes = block_sizes[chosen];

    std::vector<unsigned> depths;
    std::vector<double> sums_by_depth;
    for (const unsigned d : settings_.depths) {
      if (!fits(out_.block_bytes, d)) continue;
      depths.push_back(d);
      sums_by_depth.push_back(d == depth ? sums[chosen] : measure_mixed(out_.block_bytes, d));
    }
    out_.depth = depths[smallest_good_enough(sums_by_depth)];

    measure_chosen();
    return std::move(out_);
  }

 private:
  // 8, or what comes closest to it from below.
  unsigned first_depth() const {
    const std::vector<unsigned>& all = settings_.depths;
    const auto above = std::upper_bound(all.begin(), all.end(), depth_for_block_sizes);
    return above == all.begin() ? all.front() : above[-1];
  }

  // A mixed measurement has a half of the file for reads and one for writes.
  bool fits(uint64_t block_bytes, unsigned depth) const { return block_bytes <= smallest_file_ / 2 / depth; }

  void count_steps(size_t num_block_sizes) {
    const size_t alone = num_block_sizes + settings_.depths.size() - 1 + 3 * last_steps;
    step_.total = alone * num_disks_ + (num_disks_ > 1 ? 3 * last_steps : 0);
  }

  io::probe_result measure(size_t disk, io::probe_pattern pattern, uint64_t block_bytes, unsigned depth, size_t steps) {
    step_.disk = disk;
    step_.pattern = pattern;
    step_.block_bytes = block_bytes;
    step_.depth = depth;
    tell_(step_);
    std::vector<size_t> which(disk == num_disks_ ? num_disks_ : 1, disk);
    if (disk == num_disks_) std::iota(which.begin(), which.end(), size_t{0});
    // A sixth for the ramp-up, the rest in windows.
    const double part = settings_.seconds * static_cast<double>(steps) * 1e9 / (num_windows + 1);
    const auto part_ns = static_cast<uint64_t>(part);
    const io::probe_result result =
        probe_.measure(which, {pattern, static_cast<size_t>(block_bytes), depth, part_ns, part_ns, num_windows});
    step_.done += steps;
    if (disk < num_disks_) out_.measurements[disk].push_back({pattern, block_bytes, depth, result.together});
    return result;
  }

  // On each disk by itself; the sum of the bandwidths.
  double measure_mixed(uint64_t block_bytes, unsigned depth) {
    double sum = 0;
    for (size_t i = 0; i < num_disks_; ++i)
      sum += measure(i, io::probe_pattern::mixed, block_bytes, depth, 1).together.total();
    return sum;
  }

  void measure_chosen() {
    const auto each_pattern = [&](size_t disk) {
      const auto one = [&](io::probe_pattern pattern) {
        return measure(disk, pattern, out_.block_bytes, out_.depth, last_steps).together;
      };
      pattern_speeds speeds;
      speeds.read = one(io::probe_pattern::read);
      speeds.write = one(io::probe_pattern::write);
      speeds.mixed = one(io::probe_pattern::mixed);
      return speeds;
    };
    for (size_t i = 0; i < num_disks_; ++i) out_.alone[i] = each_pattern(i);
    out_.together = num_disks_ > 1 ? each_pattern(num_disks_) : out_.alone[0];
  }

  io::disk_probe& probe_;
  const search_settings& settings_;
  const std::function<void(const search_step&)>& tell_;
  size_t num_disks_;
  uint64_t smallest_file_;
  search_step step_;
  search_result out_;
};

}  // namespace

std::string_view name_of(io::probe_pattern pattern) {
  switch (pattern) {
    case io::probe_pattern::read: return "read";
    case io::probe_pattern::write: return "write";
    case io::probe_pattern::mixed: return "mixed";
  }
  internal_error("unknown pattern");
}

size_t smallest_good_enough(const std::vector<double>& values) {
  const double best = *std::max_element(values.begin(), values.end());
  return static_cast<size_t>(
      std::find_if(values.begin(), values.end(), [&](double v) { return v >= good_enough * best; }) - values.begin());
}

search_result search(io::disk_probe& probe, const std::vector<uint64_t>& file_bytes, const search_settings& settings,
                     const std::function<void(const search_step&)>& tell) {
  return searcher(probe, file_bytes, settings, tell).run();
}

}  // namespace flowrun::runner
