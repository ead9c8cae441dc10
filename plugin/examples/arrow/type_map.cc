#include "type_map.h"

#include <arrow/extension_type.h>

namespace columnar {

namespace {

// bytes[N] of flowrun have at most so many.
constexpr int most_fixed_bytes = 1 << 16;

counterpart is(uint32_t kind) { return {fr_type{kind, fr::width_of({kind, 0})}, {}}; }
counterpart none(std::string hint) { return {std::nullopt, std::move(hint)}; }

counterpart fixed_bytes(const arrow::DataType& type) {
  const int width = static_cast<const arrow::FixedSizeBinaryType&>(type).byte_width();
  if (width < 1 || width > most_fixed_bytes) return none("bytes[N] have 1 to 65536 bytes");
  return {fr_type{FR_BYTES, static_cast<uint32_t>(width)}, {}};
}

counterpart decimal(const arrow::DataType& type) {
  const int32_t scale = static_cast<const arrow::DecimalType&>(type).scale();
  if (scale < 0 || scale > 18) return none("have it written with 0 to 18 digits behind the point, or as a double");
  return is(FR_DECIMAL + static_cast<uint32_t>(scale));
}

}  // namespace

counterpart row_type_of(const arrow::DataType& type) {
  using arrow::Type;
  switch (type.id()) {
    case Type::BOOL: return is(FR_BOOL);
    case Type::UINT8: return is(FR_U8);
    case Type::UINT16: return is(FR_U16);
    case Type::UINT32: return is(FR_U32);
    case Type::UINT64: return is(FR_U64);
    case Type::INT8: return is(FR_I8);
    case Type::INT16: return is(FR_I16);
    case Type::DATE32: return is(FR_DATE);
    case Type::DATE64:
    case Type::TIMESTAMP: return is(FR_TIMESTAMP);
    case Type::INT32:
    case Type::TIME32: return is(FR_I32);
    case Type::INT64:
    case Type::TIME64:
    case Type::DURATION: return is(FR_I64);
    case Type::FLOAT: return is(FR_F32);
    case Type::DOUBLE: return is(FR_F64);
    case Type::STRING:
    case Type::BINARY:
    case Type::LARGE_STRING:
    case Type::LARGE_BINARY:
    case Type::STRING_VIEW:
    case Type::BINARY_VIEW: return is(FR_STRING);
    case Type::FIXED_SIZE_BINARY: return fixed_bytes(type);
    case Type::DICTIONARY: return row_type_of(*static_cast<const arrow::DictionaryType&>(type).value_type());
    case Type::EXTENSION: return row_type_of(*static_cast<const arrow::ExtensionType&>(type).storage_type());
    case Type::HALF_FLOAT: return none("have it written as a float");
    case Type::DECIMAL32:
    case Type::DECIMAL64:
    case Type::DECIMAL128:
    case Type::DECIMAL256: return decimal(type);
    case Type::LIST:
    case Type::LARGE_LIST:
    case Type::FIXED_SIZE_LIST:
    case Type::LIST_VIEW:
    case Type::LARGE_LIST_VIEW: return none("have a row written for each element");
    case Type::STRUCT:
    case Type::MAP: return none("have its fields written as columns");
    default: return none("no type of flowrun stands for it");
  }
}

time_scale scale_of(const arrow::DataType& type) {
  if (type.id() == arrow::Type::DATE64) return {1000, 1};
  if (type.id() != arrow::Type::TIMESTAMP) return {};
  switch (static_cast<const arrow::TimestampType&>(type).unit()) {
    case arrow::TimeUnit::SECOND: return {1'000'000, 1};
    case arrow::TimeUnit::MILLI: return {1000, 1};
    case arrow::TimeUnit::MICRO: return {};
    case arrow::TimeUnit::NANO: return {1, 1000};
  }
  return {};
}

std::shared_ptr<arrow::DataType> file_type_of(fr_type type, bool text_is_utf8) {
  constexpr int32_t most_digits = 19;
  if (const auto scale = fr::decimal_scale(type)) return arrow::decimal128(most_digits, static_cast<int32_t>(*scale));
  switch (type.kind) {
    case FR_BOOL: return arrow::boolean();
    case FR_U8: return arrow::uint8();
    case FR_U16: return arrow::uint16();
    case FR_U24:
    case FR_U32: return arrow::uint32();
    case FR_U40:
    case FR_U48:
    case FR_U64: return arrow::uint64();
    case FR_I8: return arrow::int8();
    case FR_I16: return arrow::int16();
    case FR_I32: return arrow::int32();
    case FR_I64: return arrow::int64();
    case FR_F32: return arrow::float32();
    case FR_F64: return arrow::float64();
    case FR_DATE: return arrow::date32();
    case FR_TIMESTAMP: return arrow::timestamp(arrow::TimeUnit::MICRO, "UTC");
    case FR_BYTES: return arrow::fixed_size_binary(static_cast<int32_t>(type.num_bytes));
    default: return text_is_utf8 ? arrow::utf8() : arrow::binary();
  }
}

}  // namespace columnar
