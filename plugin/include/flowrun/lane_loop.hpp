// The loop over rows whose arguments and results are numbers; included by flowrun/function.hpp.
//
// Compilers make vectors of it, and a vector of a plain x86-64 holds two numbers. So the loop is there three times, for
// plain processors, AVX2 and AVX-512, and the processor that it runs on chooses; what is called in it becomes part of
// each. It goes by blocks of as many rows as are known when it is compiled, since GCC makes vectors at -O2 only then;
// an argument that is the same for all rows is held apart, or written out for one block where several are.
//
// Floating-point numbers come out alike on all processors: nothing of x * y + z is fused into one rounding. AVX-512
// can't be had without such instructions, so only loops over integers are there for it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "flowrun/plugin.h"

// A sanitizer's checks leave nothing to make vectors of.
#if defined(__x86_64__) && defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define FR_FOR_PROCESSORS 1
#if defined(__clang__)
#define FR_WIDE_VECTORS
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#undef FR_FOR_PROCESSORS
#endif
#else
#define FR_WIDE_VECTORS ",prefer-vector-width=512"
#endif
#endif

namespace fr::detail {

constexpr size_t block_rows = 64;

// An argument of a block of rows: its cells, or its value where that is the same for all rows.
using cells_of_block = const uint64_t* __restrict;
struct same_value {
  uint64_t value;
  uint64_t operator[](size_t) const { return value; }
};

template <class F, class... In>
[[gnu::always_inline]] inline void over_block(const F& f, uint64_t* __restrict out, const In... in) {
  for (size_t row = 0; row < block_rows; ++row) out[row] = f(in[row]...);
}

// `Same`: the one argument that is the same for all rows, and there is no other. Beyond the last: whichever are so.
template <size_t Same, class F, size_t... I>
[[gnu::always_inline]] inline void over_lanes(const F& f, const fr_call& call, std::index_sequence<I...>) {
  constexpr bool one_is_same = Same < sizeof...(I);
  alignas(64) uint64_t same[sizeof...(I)][block_rows];
  const uint64_t* cells[sizeof...(I)];
  size_t step[sizeof...(I)];
  auto* const out = static_cast<uint64_t*>(call.out);
  const size_t num_rows = call.num_rows;
  for (size_t i = 0; i < sizeof...(I); ++i) {
    cells[i] = static_cast<const uint64_t*>(call.args[i].data);
    step[i] = one_is_same ? (i != Same) : call.args[i].step;
    if (one_is_same || step[i] != 0 || num_rows < block_rows) continue;
    std::fill_n(same[i], block_rows, *cells[i]);
    cells[i] = same[i];
  }
  using values = std::tuple<std::conditional_t<I == Same, same_value, cells_of_block>...>;
  const auto at = [&]<size_t A>(std::index_sequence<A>, size_t row) -> std::tuple_element_t<A, values> {
    if constexpr (A == Same)
      return {*cells[A]};
    else
      return cells[A] + row * step[A];
  };
  size_t row = 0;
  for (; row + block_rows <= num_rows; row += block_rows)
    over_block<F, std::tuple_element_t<I, values>...>(f, out + row, at(std::index_sequence<I>(), row)...);
  for (; row < num_rows; ++row) out[row] = f(at(std::index_sequence<I>(), row)[0]...);
}

#ifdef FR_FOR_PROCESSORS
template <size_t Same, class F, class Arguments>
__attribute__((target("avx2,bmi,bmi2,popcnt"))) void over_lanes_avx2(const F& f, const fr_call& call, Arguments all) {
  over_lanes<Same>(f, call, all);
}
template <size_t Same, class F, class Arguments>
__attribute__((target("avx2,bmi,bmi2,popcnt,avx512f,avx512bw,avx512cd,avx512dq,avx512vl" FR_WIDE_VECTORS))) void
over_lanes_avx512(const F& f, const fr_call& call, Arguments all) {
  over_lanes<Same>(f, call, all);
}
enum class processor { plain, avx2, avx512 };
inline bool has_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
         __builtin_cpu_supports("popcnt");
}
inline bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
// Asked once, when the plugin is loaded.
inline const processor this_processor = has_avx512() ? processor::avx512
                                        : has_avx2() ? processor::avx2
                                                     : processor::plain;
#undef FR_WIDE_VECTORS
#endif

template <size_t Same, bool IntegersAlone, class F, class Arguments>
void on_this_processor(const F& f, const fr_call& call, Arguments all) {
#ifdef FR_FOR_PROCESSORS
  if constexpr (IntegersAlone)
    if (this_processor == processor::avx512) return over_lanes_avx512<Same>(f, call, all);
  if (this_processor != processor::plain) return over_lanes_avx2<Same>(f, call, all);
#endif
  over_lanes<Same>(f, call, all);
}

// With one constant argument among others there is no cell to read for it, which is the usual case: min(x, 10). It has
// a loop of its own, which needs nothing on the stack.
template <bool IntegersAlone, class F, size_t... I>
void for_each_row(const F& f, const fr_call& call, std::index_sequence<I...> all) {
  if constexpr (sizeof...(I) > 1) {
    size_t num_same = 0;
    for (size_t i = 0; i < sizeof...(I); ++i) num_same += call.args[i].step == 0;
    if (num_same == 1)
      return void(((call.args[I].step == 0 && (on_this_processor<I, IntegersAlone>(f, call, all), true)) || ...));
  }
  on_this_processor<sizeof...(I), IntegersAlone>(f, call, all);
}

// out[row] = f(a[row], b[row], …) for the rows of the call, all of them cells of 64 bits.
template <bool IntegersAlone, size_t NumArguments, class F>
void for_each_row(const F& f, const fr_call& call) {
  for_each_row<IntegersAlone>(f, call, std::make_index_sequence<NumArguments>());
}

}  // namespace fr::detail

#undef FR_FOR_PROCESSORS
