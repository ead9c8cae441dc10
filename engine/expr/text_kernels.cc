#include "engine/expr/text_kernels.h"

#include <xxhash.h>
#include <zlib.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <type_traits>

#include "engine/base/calendar.h"
#include "engine/base/error.h"
#include "engine/expr/lane.h"
#include "engine/expr/number_keys.h"
#include "engine/expr/outside_function.h"
#include "engine/expr/row_args.h"
#include "engine/expr/text_fields.h"
#include "engine/expr/version_key.h"
#include "engine/record/decimal_text.h"
#include "engine/record/float_reading.h"
#include "engine/record/float_text.h"
#include "engine/record/row_too_large.h"

namespace flowrun::expr {

char* text_arena::take(size_t num_bytes) {
  if (pieces_.empty() || pieces_.back().num_bytes - used_ < num_bytes) {
    const size_t wanted = std::max(num_bytes, pieces_.empty() ? usual_bytes : pieces_.back().num_bytes);
    if (num_bytes > most_bytes_) throw record::row_too_large(num_bytes, most_bytes_);
    if (const uint64_t beyond = beyond_ + beyond_share() + num_bytes; beyond / most_texts_beyond > most_bytes_)
      throw record::row_too_large(beyond, most_texts_beyond * most_bytes_);
    pieces_.push_back({pool_.take(wanted), wanted});
    used_ = 0;
  }
  char* const taken = reinterpret_cast<char*>(pieces_.back().data.get()) + used_;
  used_ += num_bytes;
  taken_ += num_bytes;
  return taken;
}

std::string_view text_arena::keep(std::string_view text) {
  if (text.empty()) return {};
  char* const copy = take(text.size());
  std::memcpy(copy, text.data(), text.size());
  return {copy, text.size()};
}

void text_arena::clear() {
  used_ = taken_ = 0;
  step_end_ = usual_share;
  beyond_ = 0;
  if (pieces_.empty()) return;
  if (pieces_.back().num_bytes <= most_kept)
    pieces_.erase(pieces_.begin(), pieces_.end() - 1);
  else
    pieces_.clear();
}

namespace {

// A whole text as a number; 0 where it isn't one (also on overflow).
template <class Number>
bool parse_number(std::string_view text, Number& value) {
  value = 0;
  if (text.starts_with('+') && text.size() > 1 && text[1] != '-') text.remove_prefix(1);
  if constexpr (std::is_floating_point_v<Number>) {
    if (record::read_float(text, value)) return true;
  } else {
    const char* const last = text.data() + text.size();
    const auto [end, status] = std::from_chars(text.data(), last, value);
    if (status == std::errc() && end == last && !text.empty()) return true;
  }
  value = 0;
  return false;
}

template <class Number>
std::string_view print_number(Number value, text_arena& arena) {
  constexpr size_t most = record::max_float_chars;
  char* const out = arena.take(most);
  char* end = nullptr;
  if constexpr (std::is_floating_point_v<Number>)
    end = record::write_float(value, out);
  else
    end = std::to_chars(out, out + most, value).ptr;
  const size_t length = static_cast<size_t>(end - out);
  arena.give_back(most - length);
  return {out, length};
}

template <class Change>
std::string_view changed(std::string_view text, text_arena& arena, Change change) {
  if (text.empty()) return {};
  char* const out = arena.take(text.size());
  for (size_t i = 0; i < text.size(); ++i) out[i] = change(text[i]);
  return {out, text.size()};
}

// Each primitive on one row.
struct length_of {
  static uint64_t apply(const row_args& r) { return r.text(0).size(); }
};
struct byte_at_of {
  static uint64_t apply(const row_args& r) {
    const std::string_view text = r.text(0);
    const uint64_t at = r.lane(1);
    return at < text.size() ? static_cast<unsigned char>(text[at]) : 0;
  }
};
struct starts_with_of {
  static uint64_t apply(const row_args& r) { return r.text(0).starts_with(r.text(1)); }
};
struct ends_with_of {
  static uint64_t apply(const row_args& r) { return r.text(0).ends_with(r.text(1)); }
};
struct contains_of {
  static uint64_t apply(const row_args& r) {
    const std::string_view text = r.text(0), part = r.text(1);
    if (part.empty()) return 1;
    return text.size() >= part.size() && memmem(text.data(), text.size(), part.data(), part.size()) != nullptr;
  }
};
struct crc32_of {
  static uint64_t apply(const row_args& r) { return crc32(r.text(0)); }
};
struct text_to_u_of {
  static uint64_t apply(const row_args& r) {
    uint64_t value;
    parse_number(r.text(0), value);
    return value;
  }
};
struct text_to_i_of {
  static uint64_t apply(const row_args& r) {
    int64_t value;
    parse_number(r.text(0), value);
    return static_cast<uint64_t>(value);
  }
};
struct text_to_f_of {
  static uint64_t apply(const row_args& r) {
    double value;
    parse_number(r.text(0), value);
    return lane::bits(value);
  }
};
struct is_number_of {
  static uint64_t apply(const row_args& r) {
    double value;
    return parse_number(r.text(0), value);
  }
};
struct text_to_decimal_of {
  static uint64_t apply(const row_args& r) {
    int64_t units = 0;
    const auto how = record::read_decimal(r.text(0), static_cast<uint32_t>(r.imm()), units, true);
    return how == record::decimal_reading::done ? static_cast<uint64_t>(units) : 0;
  }
};
struct is_decimal_of {
  static uint64_t apply(const row_args& r) {
    int64_t units = 0;
    return record::read_decimal(r.text(0), static_cast<uint32_t>(r.imm()), units) == record::decimal_reading::done;
  }
};
struct month_of {
  static uint64_t apply(const row_args& r) { return month_number(r.text(0)); }
};
struct hash_text_of {
  static uint64_t apply(const row_args& r) {
    const std::string_view text = r.text(1);
    return XXH3_64bits_withSeed(text.data(), text.size(), r.lane(0));
  }
};
struct eq_text_of {
  static uint64_t apply(const row_args& r) { return r.text(0) == r.text(1); }
};
struct lt_text_of {
  static uint64_t apply(const row_args& r) { return r.text(0) < r.text(1); }
};
struct cut_of {
  static std::string_view apply(const row_args& r) { return r.text(0).substr(r.imm() >> 32, r.imm() & 0xffffffff); }
};
struct slice_of {
  static std::string_view apply(const row_args& r) {
    const std::string_view text = r.text(0);
    const uint64_t from = std::min<uint64_t>(r.lane(1), text.size());
    const uint64_t to = std::min<uint64_t>(r.lane(2), text.size());
    return text.substr(from, to > from ? to - from : 0);
  }
};
struct fields_of {
  static std::string_view apply(const row_args& r) {
    const auto flags = static_cast<uint32_t>(r.imm());
    field_range range;
    range.first = {r.lane(1), r.lane(2), (flags & field_flags::first_skips_blanks) != 0};
    range.last = {r.lane(3), r.lane(4), (flags & field_flags::last_skips_blanks) != 0};
    range.separator = static_cast<int>(flags >> field_flags::separator_shift) - 1;
    return cut(r.text(0), range);
  }
};
struct keep_of {
  static std::string_view apply(const row_args& r) {
    const std::string_view text = r.text(0), kept = r.text(1);  // a byte for each byte's value
    if (text.empty()) return {};
    char* const out = r.arena().take(text.size());
    size_t length = 0;
    for (const char c : text) {
      out[length] = c;
      length += static_cast<size_t>(kept[static_cast<unsigned char>(c)]);
    }
    r.arena().give_back(text.size() - length);
    return {out, length};
  }
};
// A key of at most so many bytes that `write(text, to)` writes, giving its length.
template <class Write>
std::string_view written(const row_args& r, size_t most, Write write) {
  char* const out = r.arena().take(most);
  const size_t length = write(r.text(0), out);
  r.arena().give_back(most - length);
  return {out, length};
}
struct decimal_key_of {
  static std::string_view apply(const row_args& r) {
    return written(r, decimal_key_bound(r.text(0)), write_decimal_key);
  }
};
struct size_key_of {
  static std::string_view apply(const row_args& r) {
    return written(r, decimal_key_bound(r.text(0)) + 1, write_size_key);
  }
};
struct real_key_of {
  static std::string_view apply(const row_args& r) {
    char* const out = r.arena().take(real_key_bytes);
    write_real_key(r.text(0), out);
    return {out, real_key_bytes};
  }
};
struct version_key_of {
  static std::string_view apply(const row_args& r) {
    return written(r, version_key_bound(r.text(0)), write_version_key);
  }
};
struct lower_of {
  static std::string_view apply(const row_args& r) {
    return changed(r.text(0), r.arena(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  }
};
struct upper_of {
  static std::string_view apply(const row_args& r) {
    return changed(r.text(0), r.arena(), [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  }
};
struct concat_of {
  static std::string_view apply(const row_args& r) {
    size_t num_bytes = 0;
    for (size_t i = 0; i < r.num_args(); ++i) num_bytes += r.text(i).size();
    if (num_bytes == 0) return {};
    char* const out = r.arena().take(num_bytes);
    char* at = out;
    for (size_t i = 0; i < r.num_args(); ++i) {
      const std::string_view part = r.text(i);
      if (part.empty()) continue;
      std::memcpy(at, part.data(), part.size());
      at += part.size();
    }
    return {out, num_bytes};
  }
};
struct u_to_text_of {
  static std::string_view apply(const row_args& r) { return print_number(r.lane(0), r.arena()); }
};
struct i_to_text_of {
  static std::string_view apply(const row_args& r) { return print_number(static_cast<int64_t>(r.lane(0)), r.arena()); }
};
struct f_to_text_of {
  static std::string_view apply(const row_args& r) { return print_number(lane::f(r.lane(0)), r.arena()); }
};
struct f32_to_text_of {
  static std::string_view apply(const row_args& r) {
    return print_number(static_cast<float>(lane::f(r.lane(0))), r.arena());  // the lane holds a float's value
  }
};
struct b_to_text_of {
  static std::string_view apply(const row_args& r) { return r.lane(0) != 0 ? "true" : "false"; }
};
// What `write(value, to)` writes, of at most so many bytes.
template <class Write>
std::string_view printed(const row_args& r, size_t most, Write write) {
  char* const out = r.arena().take(most);
  const auto length = static_cast<size_t>(write(static_cast<int64_t>(r.lane(0)), out) - out);
  r.arena().give_back(most - length);
  return {out, length};
}
struct date_to_text_of {
  static std::string_view apply(const row_args& r) {
    return printed(r, calendar::max_date_chars, calendar::write_date);
  }
};
struct timestamp_to_text_of {
  static std::string_view apply(const row_args& r) {
    return printed(r, calendar::max_timestamp_chars, calendar::write_timestamp);
  }
};
struct decimal_to_text_of {
  static std::string_view apply(const row_args& r) {
    return printed(r, record::max_decimal_chars, [&](int64_t units, char* to) {
      return record::write_decimal(units, static_cast<uint32_t>(r.imm()), to);
    });
  }
};
struct select_text_of {
  static std::string_view apply(const row_args& r) { return r.lane(0) != 0 ? r.text(1) : r.text(2); }
};
struct min_text_of {
  static std::string_view apply(const row_args& r) { return std::min(r.text(0), r.text(1)); }
};
struct max_text_of {
  static std::string_view apply(const row_args& r) { return std::max(r.text(0), r.text(1)); }
};

// The immediate of an outside call is its address.
size_t call_outside(const text_call& call) { return reinterpret_cast<const bound_call*>(call.imm)->run(call); }

template <class Primitive>
size_t for_rows(const text_call& call) {
  using result = decltype(Primitive::apply(std::declval<const row_args&>()));
  constexpr bool makes_text = std::is_same_v<result, std::string_view>;
  auto* const out = static_cast<result*>(call.out);
  for (size_t i = 0; i < call.num_rows; ++i) {
    if (makes_text && i > 0 && call.arena->step_is_full()) return i;
    out[i] = Primitive::apply(row_args(call, i));
  }
  return call.num_rows;
}

}  // namespace

uint32_t crc32(std::string_view text) {
  return static_cast<uint32_t>(crc32_z(0, reinterpret_cast<const unsigned char*>(text.data()), text.size()));
}

text_kernel text_kernel_for(opcode op) {
  switch (op) {
    case opcode::outside_number:
    case opcode::outside_text: return call_outside;
#define X(name) \
  case opcode::name: return for_rows<name##_of>;
      FLOWRUN_OWN_TEXT_OPS(X)
#undef X
    default: internal_error("text_kernel_for: not a text primitive");
  }
}

bool makes_new_text(opcode op) {
  switch (op) {
    case opcode::keep:
    case opcode::decimal_key:
    case opcode::size_key:
    case opcode::real_key:
    case opcode::version_key:
    case opcode::lower:
    case opcode::upper:
    case opcode::concat:
    case opcode::u_to_text:
    case opcode::i_to_text:
    case opcode::f_to_text:
    case opcode::f32_to_text:
    case opcode::date_to_text:
    case opcode::timestamp_to_text:
    case opcode::decimal_to_text:
    case opcode::outside_text: return true;
    default: return false;
  }
}

}  // namespace flowrun::expr
