#include "engine/plan/control_memory.h"

#include <algorithm>

#include "engine/base/units.h"
#include "engine/plan/body_ports.h"

namespace flowrun::plan {

namespace {

uint64_t num_vectors(const node& n) {
  uint64_t count = 1;
  const auto add = [&](const graph& body) {
    for (const node& inside : body.nodes) count += inside.declaration == &body_result() ? 2 : 0;
  };
  for (const auto& body : n.bodies) add(*body);
  if (const auto outer = n.recursion.lock()) add(*outer);
  return count;
}

// As a spilling queue: two blocks of each disk to write behind.
uint64_t vector_minimum(const machine& resources) {
  const uint64_t block = resources.block_bytes > 0 ? resources.block_bytes : 64 * KiB;
  return 2 * block * std::max(1U, resources.num_disks);
}

}  // namespace

control_memory divide_control_memory(const node& n, const machine& resources, uint64_t num_bytes) {
  const uint64_t count = num_vectors(n);
  const uint64_t vectors = std::min(std::max(num_bytes / 16, count * vector_minimum(resources)), num_bytes);
  return {num_bytes - vectors, vectors / count};
}

uint64_t control_minimum(const node& n, const machine& resources) {
  uint64_t body = 0;
  for (const auto& graph : n.bodies) body = std::max(body, least_memory(*graph, resources));
  // A fifteenth of the body's on top, so that a sixteenth of the sum is left for the vectors.
  return std::max(body + num_vectors(n) * vector_minimum(resources), body + (body + 14) / 15);
}

}  // namespace flowrun::plan
