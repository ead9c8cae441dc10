// The primitives: one list from which the vector kernels, the row-at-a-time interpreter, constant folding and the names
// are all generated, so that they can't disagree.
//
// Every number lives in an 8-byte lane: u64, i64 as two's complement, f64 as its bits, bool as 0 or 1, a decimal as the
// i64 of its units. In the
// expressions below a, b, c are the operands' lanes and m is an immediate.
#pragma once

#include <cstdint>
#include <string_view>

// X(name, value)
#define FLOWRUN_UNARY_OPS(X)                                                          \
  X(neg_i, 0 - a)                                                                     \
  X(neg_f, a ^ lane::sign_bit)                                                        \
  X(bit_not, ~a)                                                                      \
  X(not_b, a ^ 1)                                                                     \
  X(abs_i, (a ^ lane::sign_mask(a)) - lane::sign_mask(a))                             \
  X(abs_f, a & ~lane::sign_bit)                                                       \
  X(bit_reverse, lane::bit_reverse(a))                                                \
  X(popcount, static_cast<uint64_t>(__builtin_popcountll(a)))                         \
  X(parity, static_cast<uint64_t>(__builtin_popcountll(a)) & 1)                       \
  X(clz, lane::clz(a))                                                                \
  X(ctz, lane::ctz(a))                                                                \
  X(mix, lane::mix(a))                                                                \
  X(unit_f, lane::bits(static_cast<double>(static_cast<int64_t>(a >> 11)) * 0x1p-53)) \
  X(u_to_f, lane::bits(static_cast<double>(a)))                                       \
  X(i_to_f, lane::bits(static_cast<double>(static_cast<int64_t>(a))))                 \
  X(f_to_f32, lane::round_to_f32(a))                                                  \
  X(f_to_u, lane::f_to_u(a, m))                                                       \
  X(f_to_i, lane::f_to_i(a, m))                                                       \
  X(sign_extend, lane::sign_extend(a, m))                                             \
  X(div_u_magic, lane::div_magic(a, m, m2))                                           \
  X(plain_f, a == lane::sign_bit ? 0 : a)                                             \
  X(sign_i, lane::sign_mask(a) | (a != 0))                                            \
  X(sign_f, lane::sign_f(a))                                                          \
  X(trunc_f, lane::bits(__builtin_trunc(lane::f(a))))                                 \
  X(round_f, lane::bits(__builtin_round(lane::f(a))))                                 \
  X(exp_f, real_math::exp(a))                                                         \
  X(log_f, real_math::log(a))                                                         \
  X(log2_f, real_math::log2(a))                                                       \
  X(log10_f, real_math::log10(a))                                                     \
  X(sqrt_f, lane::bits(__builtin_sqrt(lane::f(a))))                                   \
  X(days_of_us, time_lane::days_of_us(a))                                             \
  X(us_of_days, time_lane::us_of_days(a))                                             \
  X(to_days, time_lane::to_days(a))                                                   \
  X(to_us, time_lane::to_us(a))                                                       \
  X(scaled, time_lane::scaled(a, m))                                                  \
  X(part_of_day, time_lane::part_of_day(a, m))                                        \
  X(part_of_clock, time_lane::part_of_clock(a, m))                                    \
  X(unit_of_day, time_lane::unit_of_day(a, m))                                        \
  X(unit_of_us, time_lane::unit_of_us(a, m))                                          \
  X(trunc_day, time_lane::trunc_day(a, m))                                            \
  X(trunc_us, time_lane::trunc_us(a, m))                                              \
  X(decimal_of_u, decimal_lane::of_unsigned(a))                                       \
  X(decimal_of_f, decimal_lane::of_f(a, m))                                           \
  X(decimal_to_f, decimal_lane::to_f(a, m))                                           \
  X(round_decimal, decimal_lane::rounded(a, m))                                       \
  X(floor_f, lane::bits(__builtin_floor(lane::f(a))))                                 \
  X(ceil_f, lane::bits(__builtin_ceil(lane::f(a))))

#define FLOWRUN_BINARY_OPS(X)                                                        \
  X(add, a + b)                                                                      \
  X(sub, a - b)                                                                      \
  X(mul, (a * b))                                                                    \
  X(div_u, b == 0 ? 0 : a / (b == 0 ? 1 : b))                                        \
  X(rem_u, b == 0 ? 0 : a % (b == 0 ? 1 : b))                                        \
  X(div_i, lane::div_i(a, b))                                                        \
  X(rem_i, lane::rem_i(a, b))                                                        \
  X(add_f, lane::bits(lane::f(a) + lane::f(b)))                                      \
  X(sub_f, lane::bits(lane::f(a) - lane::f(b)))                                      \
  X(mul_f, lane::bits(lane::f(a) * lane::f(b)))                                      \
  X(div_f, lane::bits(lane::div_f(lane::f(a), lane::f(b))))                          \
  X(rem_f, lane::bits(__builtin_fmod(lane::f(a), lane::f(b))))                       \
  X(add_days, time_lane::add_days(a, b))                                             \
  X(sub_days, time_lane::sub_days(a, b))                                             \
  X(add_us, time_lane::add_us(a, b))                                                 \
  X(add_months, time_lane::add_months(a, b))                                         \
  X(add_months_us, time_lane::add_months_us(a, b))                                   \
  X(add_decimal, decimal_lane::add(a, b))                                            \
  X(sub_decimal, decimal_lane::sub(a, b))                                            \
  X(mul_decimal, decimal_lane::mul(a, b))                                            \
  X(floor_div_i, lane::floor_div_i(a, b))                                            \
  X(floor_mod_i, lane::floor_mod_i(a, b))                                            \
  X(floor_div_f, real_math::floor_div(a, b))                                         \
  X(floor_mod_f, real_math::floor_mod(a, b))                                         \
  X(pow_f, real_math::pow(a, b))                                                     \
  X(round_to, real_math::round_to(a, b))                                             \
  X(bit_and, (a & b))                                                                \
  X(bit_or, a | b)                                                                   \
  X(bit_xor, a ^ b)                                                                  \
  X(shl, b >= 64 ? 0 : a << (b & 63))                                                \
  X(shr_u, b >= 64 ? 0 : a >> (b & 63))                                              \
  X(shr_i, b >= 64 ? 0 : static_cast<uint64_t>(static_cast<int64_t>(a) >> (b & 63))) \
  X(eq, a == b)                                                                      \
  X(ne, a != b)                                                                      \
  X(lt_u, a < b)                                                                     \
  X(le_u, a <= b)                                                                    \
  X(lt_i, static_cast<int64_t>(a) < static_cast<int64_t>(b))                         \
  X(le_i, static_cast<int64_t>(a) <= static_cast<int64_t>(b))                        \
  X(eq_f, lane::f(a) == lane::f(b))                                                  \
  X(ne_f, lane::f(a) != lane::f(b))                                                  \
  X(lt_f, lane::f(a) < lane::f(b))                                                   \
  X(le_f, lane::f(a) <= lane::f(b))                                                  \
  X(eq_ui, (a == b) & (static_cast<int64_t>(b) >= 0))                                \
  X(lt_ui, (a < b) & (static_cast<int64_t>(b) >= 0))                                 \
  X(lt_iu, (a < b) | (static_cast<int64_t>(a) < 0))                                  \
  X(min_u, b < a ? b : a)                                                            \
  X(max_u, a < b ? b : a)                                                            \
  X(min_i, static_cast<int64_t>(b) < static_cast<int64_t>(a) ? b : a)                \
  X(max_i, static_cast<int64_t>(a) < static_cast<int64_t>(b) ? b : a)                \
  X(min_f, lane::f(b) < lane::f(a) ? b : a)                                          \
  X(max_f, lane::f(a) < lane::f(b) ? b : a)                                          \
  X(hash_step, lane::mix(a ^ b))                                                     \
  X(rand_at, lane::mix(a + b * lane::golden))

#define FLOWRUN_TERNARY_OPS(X) X(select, a != 0 ? b : c)

// Texts are views {pointer, length}. Implemented in text_kernels.cc. Those of the first list give a number, those of
// the second a text.
#define FLOWRUN_TEXT_TO_NUMBER_OPS(X) \
  X(length)                           \
  X(byte_at)                          \
  X(starts_with)                      \
  X(ends_with)                        \
  X(contains)                         \
  X(crc32)                            \
  X(text_to_u)                        \
  X(text_to_i)                        \
  X(text_to_f)                        \
  X(is_number)                        \
  X(text_to_decimal)                  \
  X(is_decimal)                       \
  X(hash_text)                        \
  X(month)                            \
  X(eq_text)                          \
  X(lt_text)

#define FLOWRUN_TEXT_TO_TEXT_OPS(X) \
  X(cut)                            \
  X(slice)                          \
  X(fields)                         \
  X(keep)                           \
  X(decimal_key)                    \
  X(size_key)                       \
  X(real_key)                       \
  X(version_key)                    \
  X(lower)                          \
  X(upper)                          \
  X(concat)                         \
  X(u_to_text)                      \
  X(i_to_text)                      \
  X(f_to_text)                      \
  X(f32_to_text)                    \
  X(b_to_text)                      \
  X(date_to_text)                   \
  X(timestamp_to_text)              \
  X(decimal_to_text)                \
  X(select_text)                    \
  X(min_text)                       \
  X(max_text)

#define FLOWRUN_OWN_TEXT_OPS(X) FLOWRUN_TEXT_TO_NUMBER_OPS(X) FLOWRUN_TEXT_TO_TEXT_OPS(X)
// With the calls of functions that are not in the table (outside_call.h): the first gives a number, the second a text.
#define FLOWRUN_TEXT_OPS(X) FLOWRUN_TEXT_TO_NUMBER_OPS(X) X(outside_number) X(outside_text) FLOWRUN_TEXT_TO_TEXT_OPS(X)

namespace flowrun::expr {

enum class opcode : uint8_t {
  // Leaves.
  constant,       // a number: imm is its lane
  text_constant,  // a text
  column,         // imm is the column
  neighbour,      // text is the column's name, distance the distance
  row_number,
  state,   // imm is the state variable
  scalar,  // text is its name; no program has it: values are bound before (scalars.h)
  retype,  // the same lane under another type
#define X(name, value) name,
  FLOWRUN_UNARY_OPS(X) FLOWRUN_BINARY_OPS(X) FLOWRUN_TERNARY_OPS(X)
#undef X
#define X(name) name,
      FLOWRUN_TEXT_OPS(X)
#undef X
          count,
};

constexpr size_t num_opcodes = static_cast<size_t>(opcode::count);
constexpr bool is_text_op(opcode op) { return op >= opcode::length && op < opcode::count; }
constexpr bool gives_text(opcode op) {
  return op == opcode::text_constant || (op >= opcode::outside_text && op < opcode::count);
}
constexpr bool is_unary(opcode op) { return op >= opcode::neg_i && op <= opcode::ceil_f; }
constexpr bool is_binary(opcode op) { return op >= opcode::add && op <= opcode::rand_at; }
constexpr bool is_numeric_op(opcode op) { return op >= opcode::neg_i && op <= opcode::select; }
constexpr bool is_commutative(opcode op) {
  return op == opcode::add || op == opcode::mul || op == opcode::add_f || op == opcode::mul_f ||
         op == opcode::bit_and || op == opcode::bit_or || op == opcode::bit_xor || op == opcode::eq ||
         op == opcode::ne || op == opcode::eq_f || op == opcode::ne_f || op == opcode::min_u || op == opcode::max_u ||
         op == opcode::min_i || op == opcode::max_i || op == opcode::add_decimal || op == opcode::mul_decimal;
}
// Throws call_failed for some operands: it is not folded where rows may never come to it.
constexpr bool may_fail(opcode op) {
  return op == opcode::decimal_of_u || op == opcode::decimal_of_f || op == opcode::add_decimal ||
         op == opcode::sub_decimal || op == opcode::mul_decimal;
}

std::string_view to_string(opcode op);

}  // namespace flowrun::expr
