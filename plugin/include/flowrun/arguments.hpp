// Arguments and results of functions and aggregates in C++20, and how their calls are bound; included by
// flowrun/function.hpp and flowrun/aggregate.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "flowrun/error.hpp"
#include "flowrun/plugin.h"

namespace fr {

// A parameter whose argument must be a constant in the job: a number, or a text in quotes.
template <class T>
struct constant {
  T value;
  operator const T&() const { return value; }
};

// Where a function writes a new text, row by row: its last parameter. What is written is the row's result, or the
// group's.
class text_out {
 public:
  void append(std::string_view text) {
    if (text.empty()) return;
    std::memcpy(room(text.size()), text.data(), text.size());
    num_bytes_ += text.size();
  }
  void append(char c) {
    *room(1) = c;
    ++num_bytes_;
  }
  // `num_bytes` to be filled by the caller, behind what was written before.
  char* extend(size_t num_bytes) {
    char* const at = room(num_bytes);
    num_bytes_ += num_bytes;
    return at;
  }
  size_t size() const { return num_bytes_; }

  // --- for the loop over rows ---
  explicit text_out(const fr_call& call) : call_(call) {}
  text_out(const text_out&) = delete;
  text_out& operator=(const text_out&) = delete;
  ~text_out() {
    if (end_ != next_) call_.give_back(call_.arena, static_cast<size_t>(end_ - next_));
  }
  fr_text finish_row() {
    const fr_text out{num_bytes_, next_ == nullptr ? "" : next_};
    next_ += num_bytes_;
    num_bytes_ = 0;
    return out;
  }
  // Whether the chunk should end with the rows so far. Asks flowrun once for each piece of memory.
  bool is_full() const { return is_full_; }

 private:
  char* room(size_t num_bytes) {
    if (static_cast<size_t>(end_ - next_) < num_bytes_ + num_bytes) grow(num_bytes_ + num_bytes);
    return next_ + num_bytes_;
  }
  void grow(size_t wanted) {
    constexpr size_t usual = 4096;
    // Twice as much, so that a long text is not copied for each piece; but no more than there is.
    const size_t twice = static_cast<size_t>(std::min<uint64_t>(2 * uint64_t{wanted}, call_.longest_text));
    const size_t num_bytes = std::max(wanted <= usual / 4 ? std::min(usual, twice) : twice, wanted);
    const char* const before = next_;
    if (next_ != nullptr) is_full_ = call_.is_full(call_.arena) != 0;
    char* const taken = call_.take(call_.arena, num_bytes);
    if (taken == nullptr) throw too_long();
    if (num_bytes_ > 0) std::memcpy(taken, before, num_bytes_);
    next_ = taken;
    end_ = taken + num_bytes;
  }

 public:
  struct too_long {};  // flowrun has noted it already

 private:
  const fr_call& call_;
  char* next_ = nullptr;  // where the row's text begins
  char* end_ = nullptr;
  size_t num_bytes_ = 0;  // of the row's text
  bool is_full_ = false;
};

// Times, as parameters and as results. (std::chrono::sys_days{std::chrono::days{d.days}} is the same day.)
struct date {
  int32_t days;  // since 1970-01-01
  auto operator<=>(const date&) const = default;
};
struct timestamp {
  int64_t microseconds;  // since 1970-01-01, UTC
  auto operator<=>(const timestamp&) const = default;
};

namespace detail {

// How a C++ type stands in a cell. `rank`: how well an argument of type `kind` suits; negative: not at all.
template <class T>
struct cell {
  static_assert(!std::is_same_v<T, T>,
                "parameters are double, int64_t, uint64_t, bool, std::string_view, fr::date or fr::timestamp, or "
                "fr::constant<> of one");
};

inline bool is_text(uint32_t kind) { return kind == FR_BYTES || kind == FR_STRING; }
inline bool is_unsigned(uint32_t kind) { return kind >= FR_U8 && kind <= FR_U64; }
inline bool is_signed(uint32_t kind) { return kind >= FR_I8 && kind <= FR_I64; }
inline bool is_integer(uint32_t kind) { return is_unsigned(kind) || is_signed(kind); }
inline bool is_float(uint32_t kind) { return kind == FR_F32 || kind == FR_F64; }

template <class T, uint32_t Wanted>
struct integer_cell {
  static constexpr uint32_t wanted = Wanted;
  static constexpr const char* name = Wanted == FR_U64 ? "u64" : "i64";
  static constexpr bool in_text = false;
  static T get(uint64_t bits) { return static_cast<T>(bits); }
  static int rank(uint32_t kind) {
    const bool same = Wanted == FR_U64 ? is_unsigned(kind) : is_signed(kind);
    return same ? 0 : is_integer(kind) ? 1 : -1;
  }
};
template <>
struct cell<uint64_t> : integer_cell<uint64_t, FR_U64> {};
template <>
struct cell<int64_t> : integer_cell<int64_t, FR_I64> {};
template <>
struct cell<double> {
  static constexpr uint32_t wanted = FR_F64;
  static constexpr const char* name = "f64";
  static constexpr bool in_text = false;
  static double get(uint64_t bits) { return std::bit_cast<double>(bits); }
  static int rank(uint32_t kind) { return is_float(kind) ? 0 : is_integer(kind) ? 2 : -1; }
};
template <>
struct cell<bool> {
  static constexpr uint32_t wanted = FR_BOOL;
  static constexpr const char* name = "bool";
  static constexpr bool in_text = false;
  static bool get(uint64_t bits) { return bits != 0; }
  static int rank(uint32_t kind) { return kind == FR_BOOL ? 0 : -1; }
};
template <>
struct cell<std::string_view> {
  static constexpr uint32_t wanted = FR_STRING;
  static constexpr const char* name = "string";
  static constexpr bool in_text = true;
  static std::string_view get(fr_text text) { return as_view(text); }
  static int rank(uint32_t kind) { return is_text(kind) ? 0 : -1; }
};

template <>
struct cell<date> {
  static constexpr uint32_t wanted = FR_DATE;
  static constexpr const char* name = "date";
  static constexpr bool in_text = false;
  static date get(uint64_t bits) { return {static_cast<int32_t>(static_cast<int64_t>(bits))}; }
  static int rank(uint32_t kind) { return kind == FR_DATE ? 0 : -1; }
};
template <>
struct cell<timestamp> {
  static constexpr uint32_t wanted = FR_TIMESTAMP;
  static constexpr const char* name = "timestamp";
  static constexpr bool in_text = false;
  static timestamp get(uint64_t bits) { return {static_cast<int64_t>(bits)}; }
  static int rank(uint32_t kind) { return kind == FR_TIMESTAMP ? 0 : -1; }
};

// A parameter of a function: a value of each row, or a constant.
template <class T>
struct parameter {
  using value = T;
  static constexpr bool is_constant = false;
};
template <class T>
struct parameter<constant<T>> {
  using value = T;
  static constexpr bool is_constant = true;
};

// What a function gives, as a type of flowrun and as a cell.
template <class T>
struct result;
template <class T>
requires std::integral<T>
struct result<T> {
  static constexpr uint32_t log_bytes = std::countr_zero(sizeof(T));
  static constexpr uint32_t unsigned_kinds[4] = {FR_U8, FR_U16, FR_U32, FR_U64};
  static constexpr uint32_t signed_kinds[4] = {FR_I8, FR_I16, FR_I32, FR_I64};
  static constexpr uint32_t kind = std::same_as<T, bool> ? FR_BOOL
                                   : std::is_signed_v<T> ? signed_kinds[log_bytes]
                                                         : unsigned_kinds[log_bytes];
  static uint64_t put(T value) { return static_cast<uint64_t>(static_cast<int64_t>(value)); }
};
template <>
struct result<double> {
  static constexpr uint32_t kind = FR_F64;
  static uint64_t put(double value) { return std::bit_cast<uint64_t>(value); }
};
template <>
struct result<float> {
  static constexpr uint32_t kind = FR_F32;
  static uint64_t put(float value) { return std::bit_cast<uint64_t>(static_cast<double>(value)); }
};
template <>
struct result<date> {
  static constexpr uint32_t kind = FR_DATE;
  static uint64_t put(date value) { return static_cast<uint64_t>(int64_t{value.days}); }
};
template <>
struct result<timestamp> {
  static constexpr uint32_t kind = FR_TIMESTAMP;
  static uint64_t put(timestamp value) { return static_cast<uint64_t>(value.microseconds); }
};
// A view into an argument, or into something that lives as long as the plugin.
template <>
struct result<std::string_view> {
  static constexpr uint32_t kind = FR_STRING;
  static fr_text put(std::string_view value) { return as_text(value); }
};
template <>
struct result<std::string> {
  static constexpr uint32_t kind = FR_STRING;
};
template <>
struct result<void> {
  static constexpr uint32_t kind = FR_STRING;  // through text_out
};

template <class F>
struct signature_of : signature_of<decltype(&F::operator())> {};
template <class R, class... P>
struct signature_of<R (*)(P...)> {
  using returned = R;
  using parameters = std::tuple<std::remove_cvref_t<P>...>;
};
template <class C, class R, class... P>
struct signature_of<R (C::*)(P...) const> : signature_of<R (*)(P...)> {};
template <class C, class R, class... P>
struct signature_of<R (C::*)(P...) const noexcept> : signature_of<R (*)(P...)> {};

template <class Tuple>
struct without_last;
template <class... T>
struct without_last<std::tuple<T...>> {
  template <size_t... I>
  static std::tuple<std::tuple_element_t<I, std::tuple<T...>>...> pick(std::index_sequence<I...>);
  using type = decltype(pick(std::make_index_sequence<sizeof...(T) - 1>()));
};
template <class Tuple>
struct without_first;
template <class First, class... T>
struct without_first<std::tuple<First, T...>> {
  using type = std::tuple<T...>;
};

// The cells of an argument, for a parameter of type P.
template <class P>
struct argument_cells {
  using value = typename parameter<P>::value;
  using stored = std::conditional_t<cell<value>::in_text, fr_text, uint64_t>;
  const void* data;
  size_t step;
  explicit argument_cells(const fr_cells& cells) : data(cells.data), step(cells.step) {}
  P next(size_t row) const { return P{cell<value>::get(static_cast<const stored*>(data)[row])}; }  // step is 1
  P at(size_t row) const { return P{cell<value>::get(static_cast<const stored*>(data)[row * step])}; }
};

// The rows of a call whose results are new texts: each(row, text_out&) returns nothing, or a text.
template <class Each>
size_t fill_with_texts(const fr_call& call, const Each& each) {
  auto* const out = static_cast<fr_text*>(call.out);
  text_out text(call);
  for (size_t row = 0; row < call.num_rows; ++row) {
    if (row > 0 && text.is_full()) return row;
    if constexpr (std::is_void_v<decltype(each(row, text))>)
      each(row, text);
    else
      text.append(each(row, text));
    out[row] = text.finish_row();
  }
  return call.num_rows;
}
template <class Returned>
constexpr bool is_new_text = std::is_void_v<Returned> || std::same_as<Returned, std::string>;
// What a result that is no new text is stored as.
template <class Returned>
using stored_result = std::conditional_t<std::same_as<Returned, std::string_view>, fr_text, uint64_t>;

// The parameters of a form, against the arguments of a call.
template <class Parameters>
struct parameter_list;
template <class... P>
struct parameter_list<std::tuple<P...>> {
  static constexpr size_t count = sizeof...(P);

  // How well the arguments suit, the lower the better; -1: not at all.
  static int rank([[maybe_unused]] const fr_argument* args) {
    [[maybe_unused]] size_t i = 0;
    const std::array<int, count> ranks{cell<typename parameter<P>::value>::rank(args[i++].type.kind)...};
    int total = 0;
    for (const int rank : ranks) total = rank < 0 || total < 0 ? -1 : total + rank;
    return total;
  }

  static std::string name(size_t i) {
    const std::array<std::string, count> names{std::string(parameter<P>::is_constant ? "constant " : "") +
                                               cell<typename parameter<P>::value>::name...};
    return names[i];
  }

  // Says what is wanted, and looks whether constants are constants; returns whether all of them have a value.
  // `Binding` is fr_binding or fr_aggregate_binding.
  template <class Binding>
  static bool look(const fr_argument* args, Binding& out) {
    bool is_whole = true;
    size_t i = 0;
    [[maybe_unused]] const auto one = [&](uint32_t wanted, bool is_constant) {
      out.wanted[i] = wanted;
      if (is_constant && !args[i].is_constant) {
        out.faulty_argument = i;
        throw error("this is not a constant",
                    "write a number, or a text in quotes; ${name} may stand for it, a parameter of the job");
      }
      is_whole = is_whole && (!is_constant || args[i].is_known);
      ++i;
    };
    (one(cell<typename parameter<P>::value>::wanted, parameter<P>::is_constant), ...);
    return is_whole;
  }

  // What `prepare` makes of the constants, which all have values.
  template <class Prepare, class Binding>
  static auto prepare(const Prepare& prepare, const fr_argument* args, Binding& out) {
    // What is thrown is about the one constant, if there is one only.
    constexpr std::array<bool, count> are_constant{parameter<P>::is_constant...};
    if (std::count(are_constant.begin(), are_constant.end(), true) == 1)
      out.faulty_argument =
          static_cast<size_t>(std::find(are_constant.begin(), are_constant.end(), true) - are_constant.begin());
    auto made = std::apply(prepare, constants(args, std::index_sequence_for<P...>()));
    out.faulty_argument = FR_NO_ARGUMENT;
    return made;
  }

 private:
  template <size_t... I>
  static auto constants([[maybe_unused]] const fr_argument* args, std::index_sequence<I...>) {
    return std::tuple_cat(constant_of<P>(args + I)...);
  }

  // The value of a constant, as a tuple of one, or none.
  template <class Parameter>
  static auto constant_of([[maybe_unused]] const fr_argument* arg) {
    if constexpr (!parameter<Parameter>::is_constant) {
      return std::tuple<>();
    } else {
      using value = typename parameter<Parameter>::value;
      if constexpr (std::same_as<value, std::string_view>)
        return std::tuple<value>(as_view(arg->text));
      else if constexpr (std::same_as<value, double>)
        return std::tuple<value>(is_float(arg->type.kind)    ? std::bit_cast<double>(arg->cell)
                                 : is_signed(arg->type.kind) ? static_cast<double>(static_cast<int64_t>(arg->cell))
                                                             : static_cast<double>(arg->cell));
      else {
        // An integer of the other kind keeps its value, or is none.
        const bool other_kind = std::same_as<value, uint64_t>
                                    ? is_signed(arg->type.kind)
                                    : std::same_as<value, int64_t> && is_unsigned(arg->type.kind);
        if (other_kind && static_cast<int64_t>(arg->cell) < 0) throw error("this is not a number from 0 to 2^63 - 1");
        return std::tuple<value>(cell<value>::get(arg->cell));
      }
    }
  }
};

// One form of a function or an aggregate: which arguments it takes.
class form {
 public:
  virtual ~form() = default;
  virtual size_t num_parameters() const = 0;
  virtual int rank(const fr_argument* args) const = 0;
  virtual std::string parameter_name(size_t i) const = 0;
};

// The same with its parameters in a tuple.
template <class Base, class Parameters>
class form_of : public Base {
 public:
  size_t num_parameters() const override { return parameter_list<Parameters>::count; }
  int rank(const fr_argument* args) const override { return parameter_list<Parameters>::rank(args); }
  std::string parameter_name(size_t i) const override { return parameter_list<Parameters>::name(i); }
};

template <class Forms>
std::string all_forms(const Forms& forms) {
  std::string out;
  for (const auto& form : forms) {
    out += out.empty() ? "(" : ", (";
    for (size_t i = 0; i < form->num_parameters(); ++i) out += (i > 0 ? ", " : "") + form->parameter_name(i);
    out += ")";
  }
  return out;
}

// Of several forms, the one that suits the types of the arguments best.
template <class Forms>
const auto& best_form(const Forms& forms, const fr_argument* args, size_t num_args) {
  decltype(forms.front().get()) best = nullptr;
  int best_rank = -1;
  size_t num_possible = 0;
  for (const auto& form : forms) {
    if (form->num_parameters() != num_args) continue;
    ++num_possible;
    const int rank = form->rank(args);
    if (best != nullptr && (rank < 0 || (best_rank >= 0 && rank >= best_rank))) continue;
    best = form.get();
    best_rank = rank;
  }
  // Where there is only one, flowrun says which of the arguments it can't convert.
  if (best_rank >= 0 || num_possible == 1) return *best;
  throw error(num_possible == 0 ? "no form of it has " + std::to_string(num_args) + " arguments"
                                : "no form of it suits these arguments",
              "its forms are " + all_forms(forms));
}

// How many arguments the forms take. `Table` is fr_function or fr_aggregate.
template <class Forms, class Table>
void count_arguments(const Forms& forms, Table& out) {
  out.min_args = FR_ANY_NUMBER;
  for (const auto& form : forms) {
    const auto count = static_cast<uint32_t>(form->num_parameters());
    out.min_args = std::min(out.min_args, count);
    out.max_args = std::max(out.max_args, count);
  }
}

struct nothing {};

}  // namespace detail
}  // namespace fr
