#include "engine/io/disk_model.h"

#include <algorithm>
#include <cmath>

#include "engine/base/error.h"
#include "engine/base/units.h"

namespace flowrun::io {

namespace {

constexpr uint64_t microsecond = 1'000;
constexpr uint64_t millisecond = 1'000'000;
constexpr double second = 1e9;

}  // namespace

uint64_t disk_model::seek_ns(uint64_t distance) const {
  if (distance == 0 || longest_seek_ns == 0) return 0;
  const double share = std::min(1.0, static_cast<double>(distance) / static_cast<double>(capacity));
  return shortest_seek_ns + static_cast<uint64_t>(std::llround(static_cast<double>(longest_seek_ns - shortest_seek_ns) *
                                                               std::sqrt(share)));
}

uint64_t disk_model::transfer_ns(uint64_t offset, uint64_t num_bytes) const {
  double ns = 0;
  const uint64_t end = offset + num_bytes;
  for (const zone& z : zones) {
    const bool last = &z == &zones.back();
    if (!last && z.until <= offset) continue;
    const uint64_t until = last ? end : std::min(end, z.until);
    ns += static_cast<double>(until - offset) * second / z.bytes_per_second;
    offset = until;
    if (offset == end) break;
  }
  return static_cast<uint64_t>(std::llround(ns));
}

uint64_t disk_model::positioning_ns(uint64_t head, uint64_t offset) const {
  if (head == offset) return latency_when_sequential ? latency_ns : 0;
  return seek_ns(head < offset ? offset - head : head - offset) + latency_ns;
}

disk_model ibm_120gxp() {
  disk_model model;
  model.name = "ibm_120gxp";
  model.capacity = 80'000'000'000;
  constexpr unsigned num_zones = 8;
  for (unsigned i = 0; i < num_zones; ++i)
    model.zones.push_back({model.capacity / num_zones * (i + 1), 48e6 - 24e6 * i / (num_zones - 1)});
  model.shortest_seek_ns = 1'500 * microsecond;
  // So that the mean is 8.5 ms.
  model.longest_seek_ns = model.shortest_seek_ns + 7 * millisecond * 15 / 8;
  model.latency_ns = static_cast<uint64_t>(second * 60 / 7200 / 2);
  return model;
}

disk_model nvme() {
  disk_model model;
  model.name = "nvme";
  model.zones.push_back({UINT64_MAX, 3.5e9});
  model.latency_ns = 80 * microsecond;
  model.latency_when_sequential = true;
  model.depth = 32;
  return model;
}

disk_model uniform(uint64_t block_bytes, uint64_t block_ns) {
  disk_model model;
  model.name = "uniform";
  model.zones.push_back({UINT64_MAX, static_cast<double>(block_bytes) * second / static_cast<double>(block_ns)});
  return model;
}

disk_model disk_model_named(std::string_view name) {
  if (name == "ibm_120gxp") return ibm_120gxp();
  if (name == "nvme") return nvme();
  throw error(error_kind::usage, fmt::format("no disk model is called '{}'", name), "choose ibm_120gxp or nvme");
}

disk_model shrunk(disk_model model, uint64_t factor) {
  FLOWRUN_CHECK(factor > 0);
  for (disk_model::zone& z : model.zones) {
    if (z.until != UINT64_MAX) z.until /= factor;
    z.bytes_per_second /= static_cast<double>(factor);
  }
  if (model.capacity != UINT64_MAX) model.capacity /= factor;
  return model;
}

modelled_disk::modelled_disk(disk_model model) : model_(std::move(model)), ends_(model_.depth, 0) {
  FLOWRUN_CHECK(!model_.zones.empty() && model_.depth > 0);
}

uint64_t modelled_disk::serve(uint64_t now, uint64_t offset, uint64_t num_bytes) {
  uint64_t& slot = ends_[num_transfers_ % ends_.size()];  // of the transfer `depth` before this one
  const uint64_t positioned = std::max(now, slot) + model_.positioning_ns(head_, offset);
  const uint64_t idle_from = last_end_;
  last_end_ = std::max(positioned, last_end_) + model_.transfer_ns(offset, num_bytes);
  busy_ns_ += last_end_ - std::max(idle_from, now);
  num_seeks_ += head_ != offset ? 1 : 0;
  slot = last_end_;
  head_ = offset + num_bytes;
  ++num_transfers_;
  return last_end_;
}

}  // namespace flowrun::io
