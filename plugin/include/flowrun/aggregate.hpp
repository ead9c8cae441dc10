// Aggregates in C++20; included by flowrun/plugin.hpp.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "flowrun/arguments.hpp"
#include "flowrun/error.hpp"
#include "flowrun/plugin.h"

namespace fr {

// A state whose size follows from constants: so many bytes as `prepare` said, zero at first.
using bytes = std::span<unsigned char>;
using const_bytes = std::span<const unsigned char>;

// In place of a lambda that combines: states can't be combined, as those of sums of floats.
struct not_combinable_t {};
inline constexpr not_combinable_t not_combinable;

namespace detail {

class aggregate_form : public form {
 public:
  virtual void bind(const fr_argument* args, fr_aggregate_binding& out) const = 0;
};

// What the functions of the table are handed.
class bound_aggregate {
 public:
  virtual ~bound_aggregate() = default;
  virtual void start(unsigned char* states, size_t num_states) const = 0;
  virtual void update(const fr_groups& to, const fr_cells* args) const = 0;
  virtual void combine(const fr_groups& to, const unsigned char* from, size_t step) const = 0;
  virtual size_t finish(const unsigned char* states, const fr_call& call) const = 0;
};

// How a state lies in memory. A State lies at aligned addresses, or is copied from and to others.
template <class State>
class state_memory {
  static_assert(std::is_trivially_copyable_v<State>, "a state is plain data: it is copied, and written to disk");
  static_assert(!std::is_pointer_v<State>, "a state has no pointers: it is read again from another place");
  static_assert(std::is_default_constructible_v<State>, "a state starts as State{}");
  static_assert(alignof(State) <= 16 && sizeof(State) <= FR_LARGEST_STATE, "a state has at most 64 KiB");

 public:
  using reference = State&;
  using const_reference = const State&;
  explicit state_memory(size_t) {}
  size_t num_bytes() const { return sizeof(State); }
  void start(unsigned char* at) const {
    const State fresh{};
    std::memcpy(at, &fresh, sizeof fresh);
  }
  State& at(unsigned char* state) const { return *reinterpret_cast<State*>(state); }
  const State& at(const unsigned char* state) const { return *reinterpret_cast<const State*>(state); }

  // f(State& into, const State& from...) with states of any address, of which only `into` changes.
  template <class F>
  void with(unsigned char* into, const F& f) const {
    if (reinterpret_cast<uintptr_t>(into) % alignof(State) == 0) return f(at(into));
    State copy;
    std::memcpy(&copy, into, sizeof copy);
    f(copy);
    std::memcpy(into, &copy, sizeof copy);
  }
  template <class F>
  void with(const unsigned char* from, const F& f) const {
    if (reinterpret_cast<uintptr_t>(from) % alignof(State) == 0) return f(at(from));
    State copy;
    std::memcpy(&copy, from, sizeof copy);
    f(std::as_const(copy));
  }
};
template <>
class state_memory<bytes> {
 public:
  using reference = bytes;
  using const_reference = const_bytes;
  explicit state_memory(size_t num_bytes) : num_bytes_(num_bytes) {}
  size_t num_bytes() const { return num_bytes_; }
  void start(unsigned char* at) const { std::memset(at, 0, num_bytes_); }
  bytes at(unsigned char* state) const { return {state, num_bytes_}; }
  const_bytes at(const unsigned char* state) const { return {state, num_bytes_}; }
  template <class F>
  void with(unsigned char* into, const F& f) const {
    f(at(into));
  }
  template <class F>
  void with(const unsigned char* from, const F& f) const {
    f(at(from));
  }

 private:
  size_t num_bytes_;
};

// What a form runs. `Prepared` is what was made of the constants, or nothing; then the lambdas don't take it.
template <class Update, class Combine, class Finish>
struct aggregate_lambdas {
  Update update;
  Combine combine;
  Finish finish;
};

template <class Lambdas, class State, class Prepared, class Parameters, class Returned>
class bound_lambdas;
template <class Lambdas, class State, class Prepared, class... P, class Returned>
class bound_lambdas<Lambdas, State, Prepared, std::tuple<P...>, Returned> final : public bound_aggregate {
 public:
  bound_lambdas(const Lambdas& run, Prepared prepared, size_t state_bytes)
      : run_(run), prepared_(std::move(prepared)), memory_(state_bytes) {}

  void start(unsigned char* states, size_t num_states) const override {
    for (size_t k = 0; k < num_states; ++k, states += memory_.num_bytes()) memory_.start(states);
  }

  void update(const fr_groups& to, const fr_cells* args) const override {
    update(to, args, std::index_sequence_for<P...>());
  }

  void combine([[maybe_unused]] const fr_groups& to, [[maybe_unused]] const unsigned char* from,
               [[maybe_unused]] size_t step) const override {
    if constexpr (!std::same_as<decltype(run_.combine), not_combinable_t>) {
      for (size_t k = 0; k < to.num_states; ++k)
        memory_.with(to.states + k * memory_.num_bytes(), [&](typename memory::reference into) {
          for (uint32_t row = to.starts[k]; row < to.starts[k + 1]; ++row)
            memory_.with(from + row * step,
                         [&](typename memory::const_reference one) { call(run_.combine, into, one); });
        });
    }
  }

  size_t finish(const unsigned char* states, const fr_call& c) const override {
    const size_t step = memory_.num_bytes();
    if constexpr (std::is_void_v<Returned>) {
      return fill_with_texts(c,
                             [&](size_t k, text_out& text) { call(run_.finish, memory_.at(states + k * step), text); });
    } else if constexpr (is_new_text<Returned>) {
      return fill_with_texts(c, [&](size_t k, text_out&) { return call(run_.finish, memory_.at(states + k * step)); });
    } else {
      auto* const out = static_cast<stored_result<Returned>*>(c.out);
      const size_t num_states = c.num_rows;
      for (size_t k = 0; k < num_states; ++k)
        out[k] = result<Returned>::put(call(run_.finish, memory_.at(states + k * step)));
      return num_states;
    }
  }

 private:
  using memory = state_memory<State>;
  static constexpr bool is_integral = (std::integral<typename parameter<P>::value> && ...);
  static constexpr size_t most_copied = 64;  // bytes of a state, to update it in registers

  template <class F, class... Args>
  decltype(auto) call(const F& f, Args&&... args) const {
    if constexpr (std::same_as<Prepared, nothing>)
      return f(std::forward<Args>(args)...);
    else
      return f(prepared_, std::forward<Args>(args)...);
  }

  template <size_t... I>
  void update(const fr_groups& to, [[maybe_unused]] const fr_cells* args, std::index_sequence<I...>) const {
    const std::tuple<argument_cells<P>...> columns{argument_cells<P>(args[I])...};
    unsigned char* state = to.states;
    const bool are_columns = ((args[I].step == 1) && ...);
    for (size_t k = 0; k < to.num_states; ++k, state += memory_.num_bytes()) {
      const uint32_t end = to.starts[k + 1];
      if constexpr (std::same_as<State, bytes> || sizeof(State) > most_copied) {
        for (uint32_t row = to.starts[k]; row < end; ++row)
          call(run_.update, static_cast<typename memory::reference>(memory_.at(state)),
               std::get<I>(columns).at(row)...);
      } else {
        // A copy, which may stay in registers.
        State copy = memory_.at(state);
        // A NaN may come out otherwise where additions are compiled twice.
        if (is_integral && are_columns)
          for (uint32_t row = to.starts[k]; row < end; ++row)
            call(run_.update, copy, std::get<I>(columns).next(row)...);
        else
          for (uint32_t row = to.starts[k]; row < end; ++row) call(run_.update, copy, std::get<I>(columns).at(row)...);
        memory_.at(state) = copy;
      }
    }
  }

  const Lambdas& run_;
  Prepared prepared_;
  memory memory_;
};

// Of the lambda that updates: its arguments, without what `prepare` made and the state in front.
template <class Update, bool HasPrepared>
struct update_parameters {
  using all = typename signature_of<Update>::parameters;
  using behind_prepared = typename std::conditional_t<HasPrepared, without_first<all>, std::type_identity<all>>::type;
  using type = typename without_first<behind_prepared>::type;
};

template <class State, class Prepare, class Update, class Combine, class Finish>
class lambdas_form final
    : public form_of<aggregate_form, typename update_parameters<Update, !std::same_as<Prepare, nothing>>::type> {
  static constexpr bool has_prepared = !std::same_as<Prepare, nothing>;
  using lambdas = aggregate_lambdas<Update, Combine, Finish>;
  using parameters = typename update_parameters<Update, has_prepared>::type;
  using list = parameter_list<parameters>;
  using returned = typename signature_of<Finish>::returned;

 public:
  lambdas_form(Prepare prepare, lambdas run) : prepare_(std::move(prepare)), run_(std::move(run)) {}

  void bind(const fr_argument* args, fr_aggregate_binding& out) const override {
    out.result = {result<returned>::kind, 0};
    const bool is_whole = list::look(args, out);
    if (!std::same_as<Combine, not_combinable_t>) out.flags |= FR_COMBINABLE;
    if constexpr (!std::same_as<State, bytes>) out.state_bytes = sizeof(State);
    if constexpr (has_prepared) {
      if (list::rank(args) < 0) {
        out.state_bytes = 1;  // flowrun refuses them
      } else if (is_whole) {
        keep(list::prepare(prepare_, args, out), out);
      } else if (std::same_as<State, bytes>) {
        throw error("the size of its state follows from a constant that has no value yet",
                    "write a number; a value that changes in a loop can't stand here");
      }
    } else {
      static_assert(!std::same_as<State, bytes>, "what `prepare` makes says how many bytes a state of fr::bytes has");
      keep(nothing(), out);
    }
  }

 private:
  template <class Prepared>
  void keep(Prepared prepared, fr_aggregate_binding& out) const {
    size_t num_bytes = out.state_bytes;
    if constexpr (std::same_as<State, bytes>) {
      num_bytes = prepared.state_bytes();
      if (num_bytes == 0 || num_bytes > FR_LARGEST_STATE)
        throw error("its state would have " + std::to_string(num_bytes) + " bytes",
                    "a state has 1 to " + std::to_string(FR_LARGEST_STATE) + " bytes");
      out.state_bytes = static_cast<uint32_t>(num_bytes);
    }
    out.bound = new bound_lambdas<lambdas, State, Prepared, parameters, returned>(run_, std::move(prepared), num_bytes);
  }

  Prepare prepare_;
  lambdas run_;
};

}  // namespace detail

// An aggregate: a state for each group, which takes the rows of the group and gives a result. State is a struct of
// plain data without pointers, and starts as State{}. Lambdas are const, and pure but for the state: they run on
// several threads. What finish may return, and the parameters of update behind the state, are those of functions.
class aggregate {
 public:
  explicit aggregate(std::string name) : name_(std::move(name)) {}

  // For people, as the reference prints it: "distinct(x) → u64".
  aggregate& signature(std::string text) { return signature_ = std::move(text), *this; }
  // One sentence; must not be empty.
  aggregate& help(std::string text) { return help_ = std::move(text), *this; }
  // The order of the rows matters: a sort that combines keeps that of the input, and combine() gets states of
  // neighbours, the earlier one first.
  aggregate& in_order() { return flags_ |= FR_ROWS_IN_ORDER, *this; }

  // A form of the aggregate: update(State&, arguments…), combine(State&, const State&) or fr::not_combinable, and
  // finish(const State&). Of several forms, the one that suits the types of the arguments best runs.
  template <class State, class Update, class Combine, class Finish>
  aggregate& overload(Update update, Combine combine, Finish finish) {
    return add<State>(detail::nothing(), std::move(update), std::move(combine), std::move(finish));
  }
  // The same with something that is made of the constants once: `prepare` gets them in order, and throws fr::error
  // where they are wrong; the others get what it returned in front, const. With fr::bytes as State (fr::const_bytes
  // where it doesn't change) it has a function state_bytes().
  template <class State, class Prepare, class Update, class Combine, class Finish>
  aggregate& overload(Prepare prepare, Update update, Combine combine, Finish finish) {
    return add<State>(std::move(prepare), std::move(update), std::move(combine), std::move(finish));
  }

 private:
  friend class plugin;

  template <class State, class Prepare, class Update, class Combine, class Finish>
  aggregate& add(Prepare prepare, Update update, Combine combine, Finish finish) {
    forms_.push_back(std::make_unique<detail::lambdas_form<State, Prepare, Update, Combine, Finish>>(
        std::move(prepare),
        detail::aggregate_lambdas<Update, Combine, Finish>{std::move(update), std::move(combine), std::move(finish)}));
    return *this;
  }

  // Exceptions stay on this side.
  template <class Work>
  static int guarded(fr_problem* problem, const Work& work) {
    try {
      work();
      return FR_OK;
    } catch (...) {
      detail::report(problem);
      return FR_FAILED;
    }
  }
  static const detail::bound_aggregate& of(const void* bound) {
    return *static_cast<const detail::bound_aggregate*>(bound);
  }

  static int bind(void* context, const fr_argument* args, size_t num_args, fr_aggregate_binding* out,
                  fr_problem* problem) {
    return guarded(problem, [&] {
      const auto& self = *static_cast<const aggregate*>(context);
      out->flags = self.flags_;
      detail::best_form(self.forms_, args, num_args).bind(args, *out);
    });
  }
  static int run_start(const void* bound, unsigned char* states, size_t num_states, fr_problem* problem) {
    return guarded(problem, [&] { of(bound).start(states, num_states); });
  }
  static int run_update(const void* bound, const fr_groups* to, const fr_cells* args, size_t, fr_problem* problem) {
    return guarded(problem, [&] { of(bound).update(*to, args); });
  }
  static int run_combine(const void* bound, const fr_groups* to, const unsigned char* from, size_t step,
                         fr_problem* problem) {
    return guarded(problem, [&] { of(bound).combine(*to, from, step); });
  }
  static size_t run_finish(const void* bound, const unsigned char* states, const fr_call* call) {
    try {
      return of(bound).finish(states, *call);
    } catch (const text_out::too_long&) {
      return 0;
    } catch (...) {
      detail::report(call->problem);
      return 0;
    }
  }
  static void destroy_bound(void* bound) { delete static_cast<detail::bound_aggregate*>(bound); }

  // It lives as long as the process: calls that are bound refer to its forms.
  fr_aggregate table() const {
    fr_aggregate out{};
    out.size = sizeof out;
    out.name = detail::as_text(name_);
    out.signature = detail::as_text(signature_);
    out.help = detail::as_text(help_);
    detail::count_arguments(forms_, out);
    out.context = const_cast<aggregate*>(this);
    out.bind = bind;
    out.start = run_start;
    out.update = run_update;
    out.combine = run_combine;
    out.finish = run_finish;
    out.destroy_bound = destroy_bound;
    return out;
  }

  std::string name_, signature_, help_;
  uint32_t flags_ = 0;
  std::vector<std::unique_ptr<detail::aggregate_form>> forms_;
};

}  // namespace fr
