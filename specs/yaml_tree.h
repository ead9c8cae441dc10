// YAML text to a tree of values with positions: the YAML that a job may use, and nothing that yaml-cpp lets slip.
//
// Built on yaml-cpp's events, not its nodes. The events come one by one, so depth, duplicate keys, aliases and sizes
// are checked before anything is built. Refused with a fault, each at its place:
//   a second document · duplicate keys · keys that are not text · merge keys (<<) · tags · an alias inside its own
//   anchor (a cycle) · quotes that stay open · numbers with a leading zero · more than max_depth levels · more than
//   max_values values or max_tree_bytes of text once the aliases are copied out (an alias bomb)
// Cost: linear in the text and in the values, both bounded.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "specs/fault_sink.h"
#include "specs/source_text.h"
#include "specs/value.h"

namespace flowrun::specs {

constexpr int max_depth = 32;  // of lists and maps; keeps the JobSpec message within protobuf's recursion limit
constexpr uint64_t max_values = 100'000;
constexpr uint64_t max_tree_bytes = uint64_t{16} << 20;

// Reads the one document of `source`, which check_text has accepted. Reports every fault it can; nullopt when the text
// is no YAML at all or breaks a bound. An empty text gives a null Value. Every position is given `origin` (see
// job.proto); a fault then stands there instead of in the file.
std::optional<Value> read_yaml(const source_text& source, fault_sink& faults, std::string_view origin = {});

}  // namespace flowrun::specs
