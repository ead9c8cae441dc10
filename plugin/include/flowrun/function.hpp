// Functions of expressions in C++20; included by flowrun/plugin.hpp.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "flowrun/arguments.hpp"
#include "flowrun/error.hpp"
#include "flowrun/lane_loop.hpp"
#include "flowrun/plugin.h"

namespace fr {

namespace detail {

class function_form : public form {
 public:
  virtual void bind(const fr_argument* args, fr_binding& out) const = 0;
};

// What run() is handed: the form that runs, and what it made of the constants.
class bound_form {
 public:
  virtual ~bound_form() = default;
  virtual size_t run(const fr_call& call) const = 0;
};

// `State` is what `prepare` made of the constants, or nothing; then `F` doesn't take it.
template <class F, class State, class Parameters, class Returned>
class bound_lambda;
template <class F, class State, class... P, class Returned>
class bound_lambda<F, State, std::tuple<P...>, Returned> final : public bound_form {
 public:
  bound_lambda(const F& f, State state) : f_(f), state_(std::move(state)) {}

  size_t run(const fr_call& call) const override { return run(call, std::index_sequence_for<P...>()); }

 private:
  template <class... Args>
  Returned apply(Args&&... args) const {
    if constexpr (std::same_as<State, nothing>)
      return f_(std::forward<Args>(args)...);
    else
      return f_(state_, std::forward<Args>(args)...);
  }

  template <size_t... I>
  size_t run(const fr_call& call, std::index_sequence<I...>) const {
    // In variables of their own: what is written to `out` can't change them.
    const size_t num_rows = call.num_rows;
    [[maybe_unused]] const std::tuple<argument_cells<P>...> columns{argument_cells<P>(call.args[I])...};
    if constexpr (std::is_void_v<Returned>) {
      return fill_with_texts(call, [&](size_t row, text_out& text) { apply(std::get<I>(columns).at(row)..., text); });
    } else if constexpr (is_new_text<Returned>) {
      return fill_with_texts(call, [&](size_t row, text_out&) { return apply(std::get<I>(columns).at(row)...); });
    } else if constexpr (sizeof...(P) > 0 && !std::same_as<Returned, std::string_view> &&
                         !(cell<typename parameter<P>::value>::in_text || ...)) {
      const auto row = [this](auto... bits) {
        return result<Returned>::put(this->apply(P{cell<typename parameter<P>::value>::get(bits)}...));
      };
      constexpr bool integers_alone = std::integral<Returned> && (std::integral<typename parameter<P>::value> && ...);
      for_each_row<integers_alone, sizeof...(P)>(row, call);
      return num_rows;
    } else {
      // One loop for columns alone, and one for the rest.
      auto* const out = static_cast<stored_result<Returned>*>(call.out);
      if (((call.args[I].step == 1) && ...)) {
        for (size_t row = 0; row < num_rows; ++row)
          out[row] = result<Returned>::put(apply(std::get<I>(columns).next(row)...));
      } else {
        for (size_t row = 0; row < num_rows; ++row)
          out[row] = result<Returned>::put(apply(std::get<I>(columns).at(row)...));
      }
      return num_rows;
    }
  }

  const F& f_;
  State state_;
};

// Of a lambda: its arguments, without what `prepare` made in front and a text_out behind.
template <class F, bool HasState>
struct lambda_parameters {
  using all = typename signature_of<F>::parameters;
  using returned = typename signature_of<F>::returned;
  using behind_state = typename std::conditional_t<HasState, without_first<all>, std::type_identity<all>>::type;
  using type = typename std::conditional_t<std::is_void_v<returned>, without_last<behind_state>,
                                           std::type_identity<behind_state>>::type;
};

template <class F, class Prepare>
class lambda_form final
    : public form_of<function_form, typename lambda_parameters<F, !std::same_as<Prepare, nothing>>::type> {
  static constexpr bool has_state = !std::same_as<Prepare, nothing>;
  using parameters = typename lambda_parameters<F, has_state>::type;
  using returned = typename signature_of<F>::returned;
  using list = parameter_list<parameters>;

 public:
  lambda_form(F f, Prepare prepare) : f_(std::move(f)), prepare_(std::move(prepare)) {}

  void bind(const fr_argument* args, fr_binding& out) const override {
    out.result = {result<returned>::kind, 0};
    const bool is_whole = list::look(args, out);
    if constexpr (has_state) {
      // Without the values there is nothing to run yet; the types are known all the same. Arguments that don't suit are
      // flowrun's to refuse.
      if (!is_whole || list::rank(args) < 0) return;
      auto state = list::prepare(prepare_, args, out);
      out.state = new bound_lambda<F, decltype(state), parameters, returned>(f_, std::move(state));
    } else {
      out.state = new bound_lambda<F, nothing, parameters, returned>(f_, nothing());
    }
  }

 private:
  F f_;
  Prepare prepare_;
};

}  // namespace detail

// A function of the expression language: vectors of rows go through lambdas that compute one row.
//
// Parameters of a lambda: double, int64_t, uint64_t, bool, std::string_view, fr::date, fr::timestamp, and fr::constant<>
// of these. It returns a number or bool (of whatever width), a time, a std::string_view into an argument, a std::string,
// or nothing, with a last parameter fr::text_out& that takes the text. It must be const, and give the same for the same
// arguments: it runs on several threads, and over constants before the job.
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
      detail::best_form(static_cast<const function*>(context)->forms_, args, num_args).bind(args, *out);
      return FR_OK;
    } catch (...) {
      detail::report(problem);
      return FR_FAILED;
    }
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
    detail::count_arguments(forms_, out);
    out.context = const_cast<function*>(this);
    out.bind = bind;
    out.run = run;
    out.destroy_state = destroy_state;
    return out;
  }

  std::string name_, signature_, help_;
  std::vector<std::unique_ptr<detail::function_form>> forms_;
};

}  // namespace fr
