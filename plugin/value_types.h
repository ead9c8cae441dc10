// Types of columns on both sides of the border.
#pragma once

#include <optional>

#include "engine/record/value_type.h"
#include "plugin/include/flowrun/plugin.h"

namespace flowrun::plugins {

// What to write where a plugin would get a decimal that it doesn't know.
constexpr const char* instead_of_decimals =
    "write f64(x), or i64(x * 100) for a number of hundredths; a map does that for columns";

inline fr_type fr_type_of(record::value_type type) {
  if (type.is_decimal()) return {FR_DECIMAL + uint32_t{type.scale}, type.num_bytes};
  return {static_cast<uint32_t>(type.kind), type.num_bytes};
}

// nullopt: there is no such type.
inline std::optional<record::value_type> value_type_of(fr_type type) {
  using record::value_type;
  if (type.kind >= FR_DECIMAL && type.kind <= FR_DECIMAL + record::max_decimal_scale)
    return value_type::decimal(type.kind - FR_DECIMAL);
  if (type.kind > FR_TIMESTAMP) return std::nullopt;
  if (type.kind != FR_BYTES) return value_type::of(static_cast<record::type_kind>(type.kind));
  if (type.num_bytes == 0 || type.num_bytes > record::max_fixed_bytes) return std::nullopt;
  return value_type::fixed_bytes(type.num_bytes);
}

}  // namespace flowrun::plugins
