#include "engine/plan/control_memory.h"

#include <algorithm>

#include "engine/base/units.h"
#include "engine/plan/body_ports.h"
#include "specs/value.h"

namespace flowrun::plan {

namespace {

uint64_t num_results(const graph& body) {
  return static_cast<uint64_t>(std::count_if(body.nodes.begin(), body.nodes.end(),
                                             [](const node& n) { return n.declaration == &body_result(); }));
}

// The streams that a loop carries.
uint64_t num_carried(const node& n) {
  uint64_t out = 0;
  for (const parameter_declaration& p : n.declaration->parameters) {
    const specs::Value* const given = p.kind == parameter_kind::carried ? specs::find(n.spec->with(), p.name) : nullptr;
    if (given == nullptr) continue;
    for (const specs::Entry& carried : given->map().entries())
      if (specs::find(carried.value(), "value") == nullptr) ++out;
  }
  return out;
}

// One vector for a row of scalars or for no rows, those for the results of the bodies, and as many that are read
// meanwhile; of a loop that hands its streams on (next: {a: new, b: a, c: b}) all that it carries. A recursion writes
// its results when all that it called is done, and only one of its bodies does.
uint64_t num_vectors(const node& n) {
  uint64_t all = 0, most = 0;
  const auto add = [&](const graph& body) {
    const uint64_t count = num_results(body);
    all += count;
    most = std::max(most, count);
  };
  for (const auto& body : n.bodies) add(*body);
  if (const auto outer = n.recursion.lock()) add(*outer);
  return 1 + (recurs(n) && !carries(n) ? most : all + std::max(all, num_carried(n)));
}

// As for a spilling queue: two blocks for each disk, to write behind. In a recursion every frame has them, so they are
// short.
uint64_t vector_minimum(const node& n, const machine& resources) {
  const uint64_t chosen = recurs(n) ? 16 * KiB : 64 * KiB;
  const uint64_t block = resources.block_bytes > 0 ? resources.block_bytes : chosen;
  return 2 * block * std::max(1U, resources.num_disks);
}

// The vectors have one of so many parts.
uint64_t num_parts(const node& n) { return recurs(n) ? 128 : 16; }

}  // namespace

bool recurs(const node& n) {
  if (!n.recursion.expired()) return true;
  return std::any_of(n.bodies.begin(), n.bodies.end(), [](const auto& body) {
    return std::any_of(body->nodes.begin(), body->nodes.end(), [](const node& inside) { return recurs(inside); });
  });
}

bool carries(const node& n) {
  const std::vector<parameter_declaration>& all = n.declaration->parameters;
  return std::any_of(all.begin(), all.end(),
                     [](const parameter_declaration& p) { return p.kind == parameter_kind::carried; });
}

uint64_t resting_bytes(const machine& resources) { return std::min<uint64_t>(resources.memory_bytes / 512, 512 * KiB); }

control_memory divide_control_memory(const node& n, const machine& resources, uint64_t num_bytes) {
  const uint64_t count = num_vectors(n);
  const uint64_t vectors =
      std::min(std::max(num_bytes / num_parts(n), count * vector_minimum(n, resources)), num_bytes);
  return {num_bytes - vectors, vectors / count};
}

uint64_t control_minimum(const node& n, const machine& resources) {
  uint64_t body = 0;
  for (const auto& graph : n.bodies) body = std::max(body, least_memory(*graph, resources));
  // The body's memory and, on top, as much as makes the vectors' part one of num_parts() of the sum.
  const uint64_t others = num_parts(n) - 1;
  return std::max(body + num_vectors(n) * vector_minimum(n, resources), body + (body + others - 1) / others);
}

}  // namespace flowrun::plan
