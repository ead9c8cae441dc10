#include "operators/parts/files/npy_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

namespace flowrun::operators {

namespace {

using record::type_kind;

// What stands for a time that is none (NaT).
constexpr uint64_t no_time = uint64_t{1} << 63;

// A column goes from rows of the file to rows of the type.
struct strides {
  const std::byte* from;
  size_t from_step;
  std::byte* to;
  size_t to_step;
  size_t num_rows;
};

// (The compiler makes one load and one store of a copy whose width it knows.)
template <size_t num_bytes>
void copy_fixed(const strides& s) {
  for (size_t i = 0; i < s.num_rows; ++i) std::memcpy(s.to + i * s.to_step, s.from + i * s.from_step, num_bytes);
}

void copy(const strides& s, size_t num_bytes) {
  switch (num_bytes) {
    case 1: return copy_fixed<1>(s);
    case 2: return copy_fixed<2>(s);
    case 4: return copy_fixed<4>(s);
    case 8: return copy_fixed<8>(s);
    default:
      for (size_t i = 0; i < s.num_rows; ++i) std::memcpy(s.to + i * s.to_step, s.from + i * s.from_step, num_bytes);
  }
}

uint64_t number_at(const std::byte* p, size_t num_bytes, bool big_endian) {
  uint64_t out = 0;
  std::memcpy(&out, p, num_bytes);
  return big_endian ? __builtin_bswap64(out) >> (64 - 8 * num_bytes) : out;
}

void copy_swapped(const strides& s, size_t num_bytes) {
  for (size_t i = 0; i < s.num_rows; ++i) {
    const uint64_t value = number_at(s.from + i * s.from_step, num_bytes, true);
    std::memcpy(s.to + i * s.to_step, &value, num_bytes);
  }
}

// Whether the number in the file, of as many bits as it has there, is a value of the type.
bool is_value(uint64_t number, type_kind kind) {
  switch (kind) {
    case type_kind::boolean: return number <= 1;
    case type_kind::u24: return number < uint64_t{1} << 24;
    case type_kind::u40: return number < uint64_t{1} << 40;
    case type_kind::u48: return number < uint64_t{1} << 48;
    case type_kind::timestamp: return number != no_time;
    case type_kind::date: {
      const auto days = static_cast<int64_t>(number);
      return days >= std::numeric_limits<int32_t>::min() && days <= std::numeric_limits<int32_t>::max();
    }
    default: return true;
  }
}

std::string why_none(uint64_t number, record::value_type type) {
  if (type.is_time() && number == no_time) return "is NaT, a missing time, which rows don't have";
  if (type.is_boolean()) return fmt::format("is the byte {}, and a bool is 0 or 1", number);
  if (type.is_date()) return fmt::format("is day {}, which is no date", static_cast<int64_t>(number));
  return fmt::format("is {}, which is no {}", number, record::to_string(type));
}

bool is_looked_at(type_kind kind) {
  switch (kind) {
    case type_kind::boolean:
    case type_kind::u24:
    case type_kind::u40:
    case type_kind::u48:
    case type_kind::date:
    case type_kind::timestamp: return true;
    default: return false;
  }
}

}  // namespace

size_t rows_of_npy(const npy_layout& layout, const record::row_type& type, const std::byte* from, size_t num_rows,
                   std::byte* to, std::vector<npy_rejected_row>& rejected) {
  const size_t first_rejected = rejected.size();
  for (size_t c = 0; c < type.num_columns(); ++c) {
    const npy_layout::column& in = layout.columns[c];
    const record::value_type out = type[c].type;
    const strides s{from + in.offset, layout.row_bytes, to + type[c].offset, type.row_bytes(), num_rows};
    if (!is_looked_at(out.kind)) {
      in.big_endian ? copy_swapped(s, in.num_bytes) : copy(s, in.num_bytes);
      continue;
    }
    for (size_t i = 0; i < num_rows; ++i) {
      const uint64_t number = number_at(s.from + i * s.from_step, in.num_bytes, in.big_endian);
      if (!is_value(number, out.kind)) [[unlikely]]
        rejected.push_back({i, c, why_none(number, out)});
      std::memcpy(s.to + i * s.to_step, &number, out.num_bytes);
    }
  }
  if (rejected.size() == first_rejected) return num_rows;
  const auto begin = rejected.begin() + static_cast<ptrdiff_t>(first_rejected);
  std::stable_sort(begin, rejected.end(), [](const auto& a, const auto& b) { return a.row < b.row; });
  rejected.erase(std::unique(begin, rejected.end(), [](const auto& a, const auto& b) { return a.row == b.row; }),
                 rejected.end());
  // The others move up.
  size_t kept = rejected[first_rejected].row;
  for (size_t i = first_rejected; i < rejected.size(); ++i) {
    const size_t begin_row = rejected[i].row + 1;
    const size_t end_row = i + 1 < rejected.size() ? rejected[i + 1].row : num_rows;
    std::memmove(to + kept * type.row_bytes(), to + begin_row * type.row_bytes(),
                 (end_row - begin_row) * type.row_bytes());
    kept += end_row - begin_row;
  }
  return kept;
}

}  // namespace flowrun::operators
