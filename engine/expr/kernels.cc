// The kernels, once per instruction set. One translation unit with target pragmas instead of three with -march: no
// inline function of the standard library is ever compiled for a newer processor and then picked by the linker.
#include "engine/expr/kernels.h"

#include <cstring>

#include "engine/base/error.h"
#include "engine/expr/lane.h"
#include "engine/expr/primitive.h"
#include "engine/expr/real_math.h"
#include "engine/expr/time_lane.h"

namespace flowrun::expr {

std::string_view to_string(opcode op) {
  static constexpr std::string_view names[] = {"constant",
                                               "text_constant",
                                               "column",
                                               "neighbour",
                                               "row_number",
                                               "state",
                                               "scalar",
                                               "retype",
#define X(name, value) #name,
                                               FLOWRUN_UNARY_OPS(X) FLOWRUN_BINARY_OPS(X) FLOWRUN_TERNARY_OPS(X)
#undef X
#define X(name) #name,
                                                   FLOWRUN_TEXT_OPS(X)
#undef X
  };
  static_assert(sizeof names / sizeof names[0] == num_opcodes);
  return op < opcode::count ? names[static_cast<size_t>(op)] : "?";
}

uint64_t evaluate(opcode op, uint64_t a, uint64_t b, uint64_t c, uint64_t m, uint64_t m2) {
  return apply(op, a, b, c, m, m2);
}

namespace {

#define FLOWRUN_FIELD static inline __attribute__((always_inline))

// How a field of a packed row becomes a lane and back.
template <class T>
struct plain_field {
  static constexpr size_t num_bytes = sizeof(T);
  FLOWRUN_FIELD uint64_t load(const std::byte* field) {
    T value;
    __builtin_memcpy(&value, field, sizeof value);
    return static_cast<uint64_t>(value);  // sign-extends signed types
  }
  FLOWRUN_FIELD void store(std::byte* field, uint64_t lane) {
    const T value = static_cast<T>(lane);
    __builtin_memcpy(field, &value, sizeof value);
  }
};

// u24, u40, u48: two loads that stay within the field.
template <class Low, class High>
struct split_field {
  static constexpr size_t num_bytes = sizeof(Low) + sizeof(High);
  FLOWRUN_FIELD uint64_t load(const std::byte* field) {
    Low low;
    High high;
    __builtin_memcpy(&low, field, sizeof low);
    __builtin_memcpy(&high, field + sizeof low, sizeof high);
    return static_cast<uint64_t>(low) | static_cast<uint64_t>(high) << (8 * sizeof low);
  }
  FLOWRUN_FIELD void store(std::byte* field, uint64_t lane) {
    const Low low = static_cast<Low>(lane);
    const High high = static_cast<High>(lane >> (8 * sizeof low));
    __builtin_memcpy(field, &low, sizeof low);
    __builtin_memcpy(field + sizeof low, &high, sizeof high);
  }
};

// Files may hold other bytes than 0 and 1; a lane never does.
struct boolean_field {
  static constexpr size_t num_bytes = 1;
  FLOWRUN_FIELD uint64_t load(const std::byte* field) { return *field != std::byte{0}; }
  FLOWRUN_FIELD void store(std::byte* field, uint64_t lane) { *field = static_cast<std::byte>(lane); }
};

struct float_field {
  static constexpr size_t num_bytes = 4;
  FLOWRUN_FIELD uint64_t load(const std::byte* field) {
    float value;
    __builtin_memcpy(&value, field, sizeof value);
    return lane::bits(static_cast<double>(value));
  }
  FLOWRUN_FIELD void store(std::byte* field, uint64_t lane) {
    const float value = static_cast<float>(lane::f(lane::round_to_f32(lane)));
    __builtin_memcpy(field, &value, sizeof value);
  }
};

#undef FLOWRUN_FIELD

namespace baseline {
#include "engine/expr/kernels_body.h"
}

// The pragmas are GCC's. Under a sanitizer one set is enough.
#if defined(__x86_64__) && defined(__OPTIMIZE__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define FLOWRUN_MANY_TARGETS 1
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v3")
namespace avx2 {
#include "engine/expr/kernels_body.h"
}
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v4,prefer-vector-width=512")
namespace avx512 {
#include "engine/expr/kernels_body.h"
}
#pragma GCC pop_options
#endif

struct all_sets {
  kernel_set sets[3];
  size_t count = 0;
  all_sets() {
    sets[count++] = baseline::make_set("x86-64");
#ifdef FLOWRUN_MANY_TARGETS
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma"))
      sets[count++] = avx2::make_set("AVX2");
    if (count == 2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512vl"))
      sets[count++] = avx512::make_set("AVX-512");
#endif
  }
};

// Function pointers that depend on the processor only; never changes.
const all_sets& available() {
  static const all_sets sets;
  return sets;
}

}  // namespace

const kernel_set& kernels() { return available().sets[available().count - 1]; }
size_t num_kernel_sets() { return available().count; }
const kernel_set& kernel_set_at(size_t i) { return available().sets[i]; }

}  // namespace flowrun::expr
