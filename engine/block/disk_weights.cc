#include "engine/block/disk_weights.h"

#include <algorithm>
#include <cmath>

namespace flowrun::block {

namespace {

constexpr double as_good_as_equal = 0.8;
constexpr double steps = 16;

double coarse(double share) {
  return share >= as_good_as_equal ? 1.0 : std::max(std::round(share * steps), 1.0) / steps;
}

// Largest 1; empty when not known yet.
std::vector<double> measured_shares(std::span<const disk_speed> measured) {
  std::vector<double> out;
  for (const disk_speed& one : measured) {
    if (one.num_bytes < least_measured || one.busy_ns == 0) return {};
    out.push_back(static_cast<double>(one.num_bytes) / static_cast<double>(one.busy_ns));
  }
  const double fastest = *std::max_element(out.begin(), out.end());
  for (double& share : out) share = coarse(share / fastest);
  return out;
}

}  // namespace

std::vector<double> disk_weights(std::span<const double> given, std::span<const disk_speed> measured,
                                 const std::vector<bool>& takes) {
  const bool known = std::all_of(given.begin(), given.end(), [](double weight) { return weight > 0; });
  std::vector<double> out = known ? std::vector<double>(given.begin(), given.end()) : measured_shares(measured);
  if (out.empty()) out.assign(given.size(), 1.0);
  double largest = 0;
  for (size_t d = 0; d < out.size(); ++d) {
    if (!takes[d]) out[d] = 0;
    largest = std::max(largest, out[d]);
  }
  for (double& weight : out) weight = largest > 0 ? weight / largest : 1.0;
  return out;
}

}  // namespace flowrun::block
