// The value types of the job language and how wide they lie in a packed row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace flowrun::record {

enum class type_kind : uint8_t {
  boolean,  // one byte, 0 or 1
  u8,
  u16,
  u24,
  u32,
  u40,
  u48,
  u64,  // unsigned, little endian, 1-8 bytes
  i8,
  i16,
  i32,
  i64,  // two's complement, little endian
  f32,
  f64,        // IEEE 754
  bytes,      // exactly N bytes
  string,     // any number of bytes, in the batch's heap
  date,       // days since 1970-01-01, as i32
  timestamp,  // microseconds since 1970-01-01, UTC, as i64
  decimal,    // a number of units of 10^-scale, as i64
};
constexpr size_t num_type_kinds = 19;

// In a row a string is {u32 offset, u32 length} into the heap of its batch.
struct string_ref {
  uint32_t offset;
  uint32_t length;
};

struct value_type {
  type_kind kind = type_kind::u64;
  uint32_t num_bytes = 8;  // width in the row; for string the width of string_ref
  uint8_t scale = 0;       // of a decimal: how many of its digits are behind the point

  bool is_unsigned() const { return kind >= type_kind::u8 && kind <= type_kind::u64; }
  bool is_signed() const { return kind >= type_kind::i8 && kind <= type_kind::i64; }
  bool is_integer() const { return is_unsigned() || is_signed(); }
  bool is_float() const { return kind == type_kind::f32 || kind == type_kind::f64; }
  bool is_number() const { return is_integer() || is_float(); }
  bool is_date() const { return kind == type_kind::date; }
  bool is_timestamp() const { return kind == type_kind::timestamp; }
  bool is_time() const { return is_date() || is_timestamp(); }  // no number, but ordered as one
  // Exact, and no number as the others are: what its integer means depends on the scale.
  bool is_decimal() const { return kind == type_kind::decimal; }
  bool has_sign() const { return is_signed() || is_time() || is_decimal(); }  // lies in two's complement
  bool is_boolean() const { return kind == type_kind::boolean; }
  bool is_string() const { return kind == type_kind::string; }
  bool is_bytes() const { return kind == type_kind::bytes; }
  // string or bytes[N]: compared byte by byte
  bool is_text() const { return is_string() || is_bytes(); }
  bool operator==(const value_type&) const = default;

  static value_type of(type_kind kind);               // not for bytes and decimal
  static value_type fixed_bytes(uint32_t num_bytes);  // bytes[N], 1 <= N <= max_fixed_bytes
  static value_type decimal(uint32_t scale);          // decimal[S], 0 <= S <= max_decimal_scale
};

constexpr uint32_t max_fixed_bytes = 1 << 16;
constexpr uint32_t max_decimal_scale = 18;  // 10^18 is the largest power of ten in an i64

// "u40", "bytes[10]", "decimal[2]"; nullopt for anything else (also for bytes[0], bytes[1000000] and decimal[19]).
std::optional<value_type> parse_value_type(std::string_view text);
std::string to_string(value_type type);
// What to say after "expected:" when a type name is wrong.
std::string_view value_type_names();

}  // namespace flowrun::record
