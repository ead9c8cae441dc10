// Tries the aggregates of a plugin hard.
#pragma once

#include <cstdint>

#include "plugin/conformance.h"

namespace flowrun::plugins {

// Arguments of all types and odd values, as for functions. A result must be the same bytes when rows come one at a time
// and all at once, in one group and among others, on several threads, and again; where states can be combined, from
// states of parts, cut anywhere, at any address, and (unless the order matters) in any order. What is found is added to
// `out`.
void try_aggregates(const loaded_plugin& plugin, uint64_t seed, conformance& out);

}  // namespace flowrun::plugins
