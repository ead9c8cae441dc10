// Types of columns on both sides of the border.
#pragma once

#include <optional>

#include "engine/record/value_type.h"
#include "plugin/include/flowrun/plugin.h"

namespace flowrun::plugins {

// nullopt: there is no such type.
inline std::optional<record::value_type> value_type_of(fr_type type) {
  using record::value_type;
  if (type.kind > FR_TIMESTAMP) return std::nullopt;
  if (type.kind != FR_BYTES) return value_type::of(static_cast<record::type_kind>(type.kind));
  if (type.num_bytes == 0 || type.num_bytes > record::max_fixed_bytes) return std::nullopt;
  return value_type::fixed_bytes(type.num_bytes);
}

}  // namespace flowrun::plugins
