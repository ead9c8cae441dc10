#include "operators/parts/files/npy_array.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "engine/base/error.h"

namespace flowrun::operators {

namespace {

using record::type_kind;
using record::value_type;

// Rows begin at a multiple of that, as NumPy's own writer has it.
constexpr size_t header_alignment = 64;
constexpr size_t most_digits = std::numeric_limits<uint64_t>::digits10 + 1;

void append_little_endian(std::string& out, uint64_t number, size_t num_bytes) {
  for (size_t i = 0; i < num_bytes; ++i) out += static_cast<char>(number >> 8 * i);
}

}  // namespace

std::string npy_type_of(value_type type) {
  switch (type.kind) {
    case type_kind::boolean: return "|b1";
    case type_kind::u8: return "|u1";
    case type_kind::i8: return "|i1";
    case type_kind::bytes: return fmt::format("|S{}", type.num_bytes);
    case type_kind::date: return "<M8[D]";
    case type_kind::timestamp: return "<M8[us]";
    default: return fmt::format("<{}{}", type.is_float() ? 'f' : type.has_sign() ? 'i' : 'u', npy_bytes_of(type));
  }
}

uint64_t npy_bytes_of(value_type type) {
  switch (type.kind) {
    case type_kind::u24: return 4;
    case type_kind::u40:
    case type_kind::u48:
    case type_kind::date: return 8;
    default: return type.num_bytes;
  }
}

npy_array::npy_array(record::row_type type, bool structured) : type_(std::move(type)), structured_(structured) {
  for (const record::column& c : type_.columns()) element_bytes_ += npy_bytes_of(c.type);
}

// Names are plain letters, digits and _, so that they need no quoting.
std::string npy_array::descr() const {
  if (!structured_) return fmt::format("'{}'", npy_type_of(type_[0].type));
  std::string out;
  for (const record::column& c : type_.columns())
    out += fmt::format("{}('{}', '{}')", out.empty() ? "" : ", ", c.name, npy_type_of(c.type));
  return "[" + out + "]";
}

std::string npy_array::header(uint64_t num_rows) const {
  const bool is_table = !structured_ && type_.num_columns() > 1;
  const std::string shape =
      is_table ? fmt::format("({}, {})", num_rows, type_.num_columns()) : fmt::format("({},)", num_rows);
  std::string text = fmt::format("{{'descr': {}, 'fortran_order': False, 'shape': {}, }}", descr(), shape);
  const size_t longest = text.size() + most_digits - fmt::format("{}", num_rows).size();
  // Version 1 has room for a length of 16 bits.
  constexpr size_t short_prefix = 10, long_prefix = 12, line_end = 1;
  const auto padded = [&](size_t prefix) {
    return (prefix + longest + line_end + header_alignment - 1) / header_alignment * header_alignment;
  };
  const bool is_short = padded(short_prefix) - short_prefix <= std::numeric_limits<uint16_t>::max();
  const size_t prefix = is_short ? short_prefix : long_prefix;
  const size_t text_bytes = padded(prefix) - prefix;
  text.resize(text_bytes - line_end, ' ');
  std::string out = "\x93NUMPY";
  out += is_short ? '\x01' : '\x02';
  out += '\0';
  append_little_endian(out, text_bytes, is_short ? 2 : 4);
  return out + text + '\n';
}

void npy_array::fill(const std::byte* rows, size_t num_rows, std::byte* to) const {
  uint64_t offset = 0;
  for (const record::column& c : type_.columns()) {
    const std::byte* from = rows + c.offset;
    std::byte* at = to + offset;
    const size_t num_bytes = c.type.num_bytes, wide_bytes = npy_bytes_of(c.type);
    offset += wide_bytes;
    for (size_t i = 0; i < num_rows; ++i, from += type_.row_bytes(), at += element_bytes_) {
      if (num_bytes == wide_bytes) {
        std::memcpy(at, from, num_bytes);
        continue;
      }
      int64_t wide = 0;
      std::memcpy(&wide, from, num_bytes);
      if (c.type.is_date()) wide = static_cast<int32_t>(wide);  // with its sign
      std::memcpy(at, &wide, wide_bytes);
    }
  }
}

bool npy_array::has_timestamps() const {
  return std::any_of(type_.columns().begin(), type_.columns().end(),
                     [](const record::column& c) { return c.type.is_timestamp(); });
}

size_t npy_array::first_without_time(const std::byte* rows, size_t num_rows) const {
  size_t first = num_rows;
  for (const record::column& c : type_.columns()) {
    if (!c.type.is_timestamp()) continue;
    for (size_t i = 0; i < first; ++i) {
      int64_t us = 0;
      std::memcpy(&us, rows + i * type_.row_bytes() + c.offset, sizeof us);
      if (us == std::numeric_limits<int64_t>::min()) first = i;
    }
  }
  return first;
}

}  // namespace flowrun::operators
