// Functions of expressions in C++20; included by flowrun/plugin.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "flowrun/error.hpp"
#include "flowrun/lane_loop.hpp"
#include "flowrun/plugin.h"

namespace fr {

// A parameter whose argument must be a constant in the job: a number, or a text in quotes.
template <class T>
struct constant {
  T value;
  operator const T&() const { return value; }
};

// Where a function writes a new text, row by row: its last parameter. What is written is the row's result.
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

namespace detail {

// How a C++ type stands in a cell. `rank`: how well an argument of type `kind` suits; negative: not at all.
template <class T>
struct cell {
  static_assert(!std::is_same_v<T, T>,
                "parameters are double, int64_t, uint64_t, bool or std::string_view, or fr::constant<> of one");
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

// One form of a function: which arguments it takes, and how it runs.
class form {
 public:
  virtual ~form() = default;
  virtual size_t num_parameters() const = 0;
  // How well the arguments suit, the lower the better; -1: not at all.
  virtual int rank(const fr_argument* args) const = 0;
  virtual std::string parameter_name(size_t i) const = 0;
  virtual void bind(const fr_argument* args, fr_binding& out) const = 0;
};

// What run() is handed: the form that runs, and what it made of the constants.
class bound_form {
 public:
  virtual ~bound_form() = default;
  virtual size_t run(const fr_call& call) const = 0;
};

struct nothing {};

// `State` is what `prepare` made of the constants, or nothing; then `F` doesn't take it.
template <class F, class State, class Parameters, class Returned>
class bound_lambda;
template <class F, class State, class... P, class Returned>
class bound_lambda<F, State, std::tuple<P...>, Returned> final : public bound_form {
 public:
  bound_lambda(const F& f, State state) : f_(f), state_(std::move(state)) {}

  size_t run(const fr_call& call) const override { return run(call, std::index_sequence_for<P...>()); }

 private:
  template <size_t I>
  using value_of = typename parameter<std::tuple_element_t<I, std::tuple<P...>>>::value;

  template <size_t I>
  static auto argument(const fr_call& call, size_t row) {
    using held = std::tuple_element_t<I, std::tuple<P...>>;
    using stored = std::conditional_t<cell<value_of<I>>::in_text, fr_text, uint64_t>;
    const fr_cells& cells = call.args[I];
    return held{cell<value_of<I>>::get(static_cast<const stored*>(cells.data)[row * cells.step])};
  }

  template <class... Args>
  Returned apply(Args&&... args) const {
    if constexpr (std::same_as<State, nothing>)
      return f_(std::forward<Args>(args)...);
    else
      return f_(state_, std::forward<Args>(args)...);
  }

  template <size_t... I>
  size_t run(const fr_call& call, std::index_sequence<I...>) const {
    if constexpr (std::is_void_v<Returned>) {
      auto* const out = static_cast<fr_text*>(call.out);
      text_out text(call);
      for (size_t row = 0; row < call.num_rows; ++row) {
        if (row > 0 && text.is_full()) return row;
        apply(argument<I>(call, row)..., text);
        out[row] = text.finish_row();
      }
    } else if constexpr (std::same_as<Returned, std::string>) {
      auto* const out = static_cast<fr_text*>(call.out);
      text_out text(call);
      for (size_t row = 0; row < call.num_rows; ++row) {
        if (row > 0 && text.is_full()) return row;
        text.append(apply(argument<I>(call, row)...));
        out[row] = text.finish_row();
      }
    } else if constexpr (sizeof...(I) > 0 && !std::same_as<Returned, std::string_view> &&
                         !(cell<value_of<I>>::in_text || ...)) {
      const auto row = [this](auto... bits) {
        return result<Returned>::put(
            this->apply(std::tuple_element_t<I, std::tuple<P...>>{cell<value_of<I>>::get(bits)}...));
      };
      constexpr bool integers_alone = std::integral<Returned> && (std::integral<value_of<I>> && ...);
      for_each_row<integers_alone, sizeof...(I)>(row, call);
    } else {
      // One loop for columns alone, and one for the rest.
      using stored = std::conditional_t<std::same_as<Returned, std::string_view>, fr_text, uint64_t>;
      auto* const out = static_cast<stored*>(call.out);
      // In variables of their own: what is written to `out` can't change them.
      const size_t num_rows = call.num_rows;
      const std::tuple<column<I>...> columns{column<I>{call.args[I].data, call.args[I].step}...};
      if (((call.args[I].step == 1) && ...)) {
        for (size_t row = 0; row < num_rows; ++row)
          out[row] = result<Returned>::put(apply(std::get<I>(columns).next(row)...));
      } else {
        for (size_t row = 0; row < num_rows; ++row)
          out[row] = result<Returned>::put(apply(std::get<I>(columns).at(row)...));
      }
    }
    return call.num_rows;
  }

  template <size_t I>
  struct column {
    using held = std::tuple_element_t<I, std::tuple<P...>>;
    using stored = std::conditional_t<cell<value_of<I>>::in_text, fr_text, uint64_t>;
    const void* data;
    size_t step;
    held next(size_t row) const { return held{cell<value_of<I>>::get(static_cast<const stored*>(data)[row])}; }
    held at(size_t row) const { return held{cell<value_of<I>>::get(static_cast<const stored*>(data)[row * step])}; }
  };

  const F& f_;
  State state_;
};

template <class F, class Prepare>
class lambda_form final : public form {
  using all = typename signature_of<F>::parameters;
  using returned = typename signature_of<F>::returned;
  static constexpr bool has_state = !std::same_as<Prepare, nothing>;
  static constexpr bool writes_text = std::is_void_v<returned>;
  using behind_state = typename std::conditional_t<has_state, without_first<all>, std::type_identity<all>>::type;
  using parameters =
      typename std::conditional_t<writes_text, without_last<behind_state>, std::type_identity<behind_state>>::type;
  static constexpr size_t count = std::tuple_size_v<parameters>;
  template <size_t I>
  using at = parameter<std::tuple_element_t<I, parameters>>;

 public:
  lambda_form(F f, Prepare prepare) : f_(std::move(f)), prepare_(std::move(prepare)) {}

  size_t num_parameters() const override { return count; }

  int rank(const fr_argument* args) const override { return rank(args, std::make_index_sequence<count>()); }
  std::string parameter_name(size_t i) const override { return parameter_name(i, std::make_index_sequence<count>()); }
  void bind(const fr_argument* args, fr_binding& out) const override {
    bind(args, out, std::make_index_sequence<count>());
  }

 private:
  template <size_t... I>
  int rank([[maybe_unused]] const fr_argument* args, std::index_sequence<I...>) const {
    const std::array<int, count> ranks{cell<typename at<I>::value>::rank(args[I].type.kind)...};
    int total = 0;
    for (const int rank : ranks) total = rank < 0 || total < 0 ? -1 : total + rank;
    return total;
  }

  template <size_t... I>
  std::string parameter_name(size_t i, std::index_sequence<I...>) const {
    std::string out;
    ((I == i ? void(out = std::string(at<I>::is_constant ? "constant " : "") + cell<typename at<I>::value>::name)
             : void()),
     ...);
    return out;
  }

  template <size_t... I>
  void bind(const fr_argument* args, fr_binding& out, std::index_sequence<I...>) const {
    ((out.wanted[I] = cell<typename at<I>::value>::wanted), ...);
    out.result = {result<returned>::kind, 0};
    bool is_whole = true;  // every constant has a value
    const auto look = [&](size_t i, bool is_constant) {
      if (!is_constant) return;
      if (!args[i].is_constant) {
        out.faulty_argument = i;
        throw error("this is not a constant",
                    "write a number, or a text in quotes; ${name} may stand for it, a parameter of the job");
      }
      is_whole = is_whole && args[i].is_known;
    };
    (look(I, at<I>::is_constant), ...);
    if constexpr (has_state) {
      // Without the values there is nothing to run yet; the types are known all the same. Arguments that don't suit are
      // flowrun's to refuse.
      if (!is_whole || rank(args, std::index_sequence<I...>()) < 0) return;
      // What is thrown is about the one constant, if there is one only.
      if constexpr ((int{at<I>::is_constant} + ... + 0) == 1)
        ((at<I>::is_constant ? void(out.faulty_argument = I) : void()), ...);
      const auto constants = std::tuple_cat(constant_of<I>(args[I])...);
      auto state = std::apply(prepare_, constants);
      out.faulty_argument = FR_NO_ARGUMENT;
      out.state = new bound_lambda<F, decltype(state), parameters, returned>(f_, std::move(state));
    } else {
      out.state = new bound_lambda<F, nothing, parameters, returned>(f_, nothing());
    }
  }

  // The value of a constant, as a tuple of one, or none.
  template <size_t I>
  static auto constant_of(const fr_argument& arg) {
    if constexpr (!at<I>::is_constant) {
      return std::tuple<>();
    } else {
      using value = typename at<I>::value;
      if constexpr (std::same_as<value, std::string_view>)
        return std::tuple<value>(as_view(arg.text));
      else if constexpr (std::same_as<value, double>)
        return std::tuple<value>(is_float(arg.type.kind)    ? std::bit_cast<double>(arg.cell)
                                 : is_signed(arg.type.kind) ? static_cast<double>(static_cast<int64_t>(arg.cell))
                                                            : static_cast<double>(arg.cell));
      else {
        // An integer of the other kind keeps its value, or is none.
        const bool other_kind = std::same_as<value, uint64_t>
                                    ? is_signed(arg.type.kind)
                                    : std::same_as<value, int64_t> && is_unsigned(arg.type.kind);
        if (other_kind && static_cast<int64_t>(arg.cell) < 0) throw error("this is not a number from 0 to 2^63 - 1");
        return std::tuple<value>(cell<value>::get(arg.cell));
      }
    }
  }

  F f_;
  Prepare prepare_;
};

}  // namespace detail

// A function of the expression language: vectors of rows go through lambdas that compute one row.
//
// Parameters of a lambda: double, int64_t, uint64_t, bool, std::string_view, and fr::constant<> of these. It returns a
// number or bool (of whatever width), a std::string_view into an argument, a std::string, or nothing, with a last
// parameter fr::text_out& that takes the text. It must be const, and give the same for the same arguments: it runs on
// several threads, and over constants before the job.
class function {
 public:
  explicit function(std::string name) : name_(std::move(name)) {}

  // For people, as the reference prints it: "encode(latitude, longitude) → string".
  function& signature(std::string text) { return signature_ = std::move(text), *this; }
  // One sentence; must not be empty.
  function& help(std::string text) { return help_ = std::move(text), *this; }

  // A form of the function. Of several forms, the one that suits the types of the arguments best runs.
  template <class F>
  function& overload(F f) {
    forms_.push_back(std::make_unique<detail::lambda_form<F, detail::nothing>>(std::move(f), detail::nothing()));
    return *this;
  }
  // The same with something that is made of the constants once: `prepare` gets them in order, and throws fr::error
  // where they are wrong; `f` gets what it returned, const, and then all arguments.
  template <class Prepare, class F>
  function& overload(Prepare prepare, F f) {
    forms_.push_back(std::make_unique<detail::lambda_form<F, Prepare>>(std::move(f), std::move(prepare)));
    return *this;
  }

 private:
  friend class plugin;

  static int bind(void* context, const fr_argument* args, size_t num_args, fr_binding* out, fr_problem* problem) {
    try {
      static_cast<const function*>(context)->choose(args, num_args, *out);
      return FR_OK;
    } catch (...) {
      detail::report(problem);
      return FR_FAILED;
    }
  }

  void choose(const fr_argument* args, size_t num_args, fr_binding& out) const {
    const detail::form* best = nullptr;
    int best_rank = -1;
    size_t num_possible = 0;
    for (const auto& form : forms_) {
      if (form->num_parameters() != num_args) continue;
      ++num_possible;
      const int rank = form->rank(args);
      if (best != nullptr && (rank < 0 || (best_rank >= 0 && rank >= best_rank))) continue;
      best = form.get();
      best_rank = rank;
    }
    // Where there is only one, flowrun says which of the arguments it can't convert.
    if (best_rank >= 0 || num_possible == 1) return best->bind(args, out);
    throw error(num_possible == 0 ? "no form of it has " + std::to_string(num_args) + " arguments"
                                  : "no form of it suits these arguments",
                "its forms are " + all_forms());
  }

  std::string all_forms() const {
    std::string out;
    for (const auto& form : forms_) {
      out += out.empty() ? "(" : ", (";
      for (size_t i = 0; i < form->num_parameters(); ++i) out += (i > 0 ? ", " : "") + form->parameter_name(i);
      out += ")";
    }
    return out;
  }

  static size_t run(const void* state, const fr_call* call) {
    try {
      return static_cast<const detail::bound_form*>(state)->run(*call);
    } catch (const text_out::too_long&) {
      return 0;
    } catch (...) {
      detail::report(call->problem);
      return 0;
    }
  }

  static void destroy_state(void* state) { delete static_cast<detail::bound_form*>(state); }

  // It lives as long as the process: calls that are bound refer to its forms.
  fr_function table() const {
    fr_function out{};
    out.size = sizeof out;
    out.name = detail::as_text(name_);
    out.signature = detail::as_text(signature_);
    out.help = detail::as_text(help_);
    out.min_args = FR_ANY_NUMBER;
    for (const auto& form : forms_) {
      const auto count = static_cast<uint32_t>(form->num_parameters());
      out.min_args = std::min(out.min_args, count);
      out.max_args = std::max(out.max_args, count);
    }
    out.context = const_cast<function*>(this);
    out.bind = bind;
    out.run = run;
    out.destroy_state = destroy_state;
    return out;
  }

  std::string name_, signature_, help_;
  std::vector<std::unique_ptr<detail::form>> forms_;
};

}  // namespace fr
