// Operators of plugins in C++20; included by flowrun/plugin.hpp.
//
//   struct settings { uint64_t times; };
//
//   plugin.add(fr::stateless<settings>("repeat")
//                  .summary("Gives each row several times.")
//                  .order("keeps: the input's order")
//                  .example("twice: {op: toy.repeat, in: rows, with: {times: 2}}\n")
//                  .input("in", "the rows")
//                  .output("out", "the rows, each so often")
//                  .parameter({.name = "times", .kind = FR_PARAMETER_INTEGER, .required = true, .help = "How often."})
//                  .check([](fr::node& node) {
//                    node.set_output(0, node.input(), node.input_order());
//                    return settings{node.integer("times")};
//                  })
//                  .apply([](const settings& s, const fr::batch& in, fr::out& out) {
//                    uint64_t done = out.within();  // of the first row, where rows come again
//                    for (size_t i = 0; i < in.size(); ++i, done = 0)
//                      for (; done < s.times; ++done) {
//                        if (out.full()) return out.leave(i, done);
//                        out.pass(in, i, 1);
//                      }
//                  }));
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "flowrun/job.hpp"
#include "flowrun/node.hpp"
#include "flowrun/rows.hpp"

namespace fr {

// A parameter, under `with:`.
struct parameter_declaration {
  std::string name;
  uint32_t kind = FR_PARAMETER_TEXT;
  bool required = false;
  std::string default_text = {};  // as it would stand in YAML
  std::string choices = {};       // words, separated by blanks
  std::string help;
};

namespace detail {

// What runs for a node, behind fr_stage.
struct running {
  std::shared_ptr<const void> settings;
  std::function<void(const batch&, out&)> apply;
  std::function<outcome(batch&, out&)> push;
  std::function<outcome(out&)> pull, finish;
  std::shared_ptr<void> left;  // of an intake
};

// A step that says nothing is ready, or, where it ends something, done.
template <class Step>
outcome said_by(const Step& step, [[maybe_unused]] outcome otherwise) {
  if constexpr (std::is_void_v<std::invoke_result_t<Step>>)
    return step(), otherwise;
  else
    return step();
}

template <class Step>
int carry_out(const fr_out* to, Step step) noexcept {
  try {
    out o(*to);
    const outcome came_to = step(o);
    o.finish();
    return came_to.code();
  } catch (const noted_failure&) {
    return FR_FAILED;
  } catch (...) {
    report(to->problem);
    return FR_FAILED;
  }
}

// All that an operator declares, whatever its types.
class operator_declaration {
 public:
  explicit operator_declaration(std::string name, uint32_t role) : name_(std::move(name)), role_(role) {}

 protected:
  struct port_text {
    std::string name, help;
    uint32_t storage = FR_STREAM;
  };
  static int check_all(void* context, const fr_node* raw, void** settings, fr_problem* problem) {
    try {
      node n(*raw);
      *settings = new std::shared_ptr<const void>(static_cast<const operator_declaration*>(context)->check_(n));
      return FR_OK;
    } catch (...) {
      report(problem);
      return FR_FAILED;
    }
  }
  static void destroy_settings(void* settings) { delete static_cast<std::shared_ptr<const void>*>(settings); }
  static int build_all(void* context, const void* settings, const fr_job* raw, fr_stage* to, fr_problem* problem) {
    try {
      auto made = std::make_unique<running>();
      made->settings = *static_cast<const std::shared_ptr<const void>*>(settings);
      static_cast<const operator_declaration*>(context)->build_part(*made, job(*raw));
      to->apply = made->apply ? step_apply : nullptr;
      to->push = made->push ? step_push : nullptr;
      to->pull = made->pull ? step_pull : nullptr;
      to->finish = made->finish ? step_finish : nullptr;
      to->destroy = [](void* state) { delete static_cast<running*>(state); };
      if (made->left) {
        to->left = new std::shared_ptr<void>(made->left);
        to->destroy_left = [](void* left) { delete static_cast<std::shared_ptr<void>*>(left); };
      }
      to->state = made.release();
      return FR_OK;
    } catch (const noted_failure&) {
      return FR_FAILED;
    } catch (...) {
      report(problem);
      return FR_FAILED;
    }
  }
  static int step_apply(const void* state, const fr_batch* in, const fr_out* to) {
    return carry_out(to, [&](out& o) {
      static_cast<const running*>(state)->apply(batch(*in), o);
      return outcome::ready();
    });
  }
  static int step_push(void* state, fr_batch* in, const fr_out* to) {
    return carry_out(to, [&](out& o) {
      batch rows(*in);
      const outcome came_to = static_cast<running*>(state)->push(rows, o);
      *in = rows.raw();
      return came_to;
    });
  }
  static int step_pull(void* state, const fr_out* to) {
    return carry_out(to, [&](out& o) { return static_cast<running*>(state)->pull(o); });
  }
  static int step_finish(void* state, const fr_out* to) {
    return carry_out(to, [&](out& o) { return static_cast<running*>(state)->finish(o); });
  }

  std::string name_, summary_, details_, order_, example_;
  uint32_t role_;
  bool output_optional_ = false, error_port_ = false;
  std::deque<port_text> inputs_, outputs_;
  std::deque<parameter_declaration> parameters_;
  std::function<std::shared_ptr<const void>(node&)> check_;
  std::function<void(running&, const job&)> build_;                 // the work, or all of it
  std::vector<std::function<void(running&, const job&)>> intakes_;  // by input
  std::function<void(running&, const job&)> before_;                // the intake of a breaker

 private:
  friend class fr::plugin;
  void build_part(running& to, const job& j) const {
    if (j.raw().part != FR_INTAKE)
      build_(to, j);
    else if (role_ != FR_BREAKER)
      intakes_.at(j.raw().input)(to, j);
    else if (before_)
      before_(to, j);
  }
  // Refers to this object, which lives as long as the process.
  fr_operator table() {
    const auto ports = [](const std::deque<port_text>& from, std::vector<fr_port>& to) {
      for (const port_text& p : from) to.push_back({as_text(p.name), as_text(p.help), p.storage, 0, {}});
    };
    ports(inputs_, input_table_);
    ports(outputs_, output_table_);
    for (const parameter_declaration& p : parameters_)
      parameter_table_.push_back(
          {as_text(p.name), p.kind, p.required, as_text(p.default_text), as_text(p.choices), as_text(p.help), {}});
    fr_operator out{};
    out.size = sizeof out;
    out.name = as_text(name_);
    out.summary = as_text(summary_);
    out.details = as_text(details_);
    out.order = as_text(order_);
    out.example = as_text(example_);
    out.role = role_;
    out.has_optional_output = output_optional_;
    out.inputs = input_table_.data();
    out.num_inputs = input_table_.size();
    out.outputs = output_table_.data();
    out.num_outputs = output_table_.size();
    out.parameters = parameter_table_.data();
    out.num_parameters = parameter_table_.size();
    out.context = this;
    out.check = check_ ? check_all : nullptr;
    out.destroy_settings = destroy_settings;
    out.build = build_ ? build_all : nullptr;
    out.has_error_port = error_port_;
    return out;
  }

  std::vector<fr_port> input_table_, output_table_;
  std::vector<fr_parameter> parameter_table_;
};

// The words of a declaration, one behind the other.
template <class Self, class Settings>
class operator_builder : public operator_declaration {
 public:
  using operator_declaration::operator_declaration;
  Self& summary(std::string text) { return summary_ = std::move(text), self(); }  // one sentence
  Self& details(std::string text) { return details_ = std::move(text), self(); }
  Self& order(std::string text) { return order_ = std::move(text), self(); }  // "needs: by; keeps: the input's order"
  Self& example(std::string yaml) { return example_ = std::move(yaml), self(); }
  // Streams first.
  Self& input(std::string name, std::string help) {
    return inputs_.push_back({std::move(name), std::move(help)}), self();
  }
  // Flowrun stores its rows before the operator runs: job::stored().
  Self& stored_input(std::string name, std::string help) {
    return inputs_.push_back({std::move(name), std::move(help), FR_STORED}), self();
  }
  // The operator takes its rows in before it runs, by a stage of its own: `start` makes what the work gets as
  // job::left(), `push` gets the batches, `finish`, if given, comes behind the last.
  template <class Left>
  Self& taken_in(std::string name, std::string help,
                 std::function<std::shared_ptr<Left>(const Settings&, const job&)> start,
                 std::function<void(Left&, const batch&)> push, std::function<void(Left&)> finish = nullptr) {
    const size_t place = inputs_.size();
    inputs_.push_back({std::move(name), std::move(help), FR_TAKEN_IN});
    intakes_.resize(place + 1);
    intakes_[place] = [=](running& to, const job& j) {
      const std::shared_ptr<Left> left = start(settings_of(to), j);
      to.left = left;
      to.push = [push, left](batch& in, out&) { return push(*left, in), outcome::ready(); };
      if (finish) to.finish = [finish, left](out&) { return finish(*left), outcome::done(); };
    };
    return self();
  }
  Self& output(std::string name, std::string help) {
    return outputs_.push_back({std::move(name), std::move(help)}), self();
  }
  // Its output needs no reader, since it does something by itself.
  Self& output_is_optional() { return output_optional_ = true, self(); }
  // A job may say on_error: node::on_error().
  Self& error_port() { return error_port_ = true, self(); }
  Self& parameter(parameter_declaration p) { return parameters_.push_back(std::move(p)), self(); }
  // Reads the parameters and sets the outputs; what it returns is handed to what runs.
  Self& check(std::function<Settings(node&)> read) {
    check_ = [read = std::move(read)](node& n) { return std::make_shared<const Settings>(read(n)); };
    return self();
  }

 protected:
  Self& self() { return static_cast<Self&>(*this); }
  static const Settings& settings_of(const running& r) { return *static_cast<const Settings*>(r.settings.get()); }
};

}  // namespace detail

// An operator without state between batches; it runs on several threads at once.
template <class Settings>
class stateless : public detail::operator_builder<stateless<Settings>, Settings> {
 public:
  explicit stateless(std::string name) : detail::operator_builder<stateless, Settings>(std::move(name), FR_STATELESS) {}
  stateless& apply(std::function<void(const Settings&, const batch&, out&)> step) {
    this->build_ = [step = std::move(step)](detail::running& to, const job&) {
      to.apply = [step, settings = &stateless::settings_of(to)](const batch& in, out& o) { step(*settings, in, o); };
    };
    return *this;
  }
  // With what an input has left, or other things that are made once for each run; nothing of it changes.
  template <class State>
  stateless& apply(std::function<State(const Settings&, const job&)> start,
                   std::function<void(const State&, const batch&, out&)> step) {
    this->build_ = [=](detail::running& to, const job& j) {
      auto state = std::make_shared<const State>(start(stateless::settings_of(to), j));
      to.apply = [step, state](const batch& in, out& o) { step(*state, in, o); };
    };
    return *this;
  }
};

namespace detail {

// Steps in the order of the stream, with a state. `push` gets (State&, batch&, out&), `finish` (State&, out&); either
// may return an outcome, a bool (whether there is more) or nothing.
template <class Settings, class State, class Start, class Push>
void run_in_order(running& to, const job& j, const Settings& settings, const Start& start, const Push& push) {
  std::shared_ptr<State> state(new State(start(settings, j)));
  to.push = [push, state](batch& in, out& o) { return said_by([&] { return push(*state, in, o); }, outcome::ready()); };
  to.left = std::move(state);
}
template <class State, class Finish>
void finish_in_order(running& to, const Finish& finish) {
  to.finish = [finish, state = std::static_pointer_cast<State>(to.left)](out& o) {
    return said_by([&] { return finish(*state, o); }, outcome::done());
  };
}

}  // namespace detail

// An operator that sees batch after batch, in the order of the stream, with a state of its own. Without outputs, a
// sink.
template <class Settings, class State>
class ordered : public detail::operator_builder<ordered<Settings, State>, Settings> {
 public:
  explicit ordered(std::string name) : detail::operator_builder<ordered, Settings>(std::move(name), FR_ORDERED) {}
  // `start` makes the state for a run; `push` gets a batch. One that blocks advances the batch beyond what it has
  // taken.
  template <class Start, class Push>
  ordered& run(Start start, Push push) {
    this->build_ = [=](detail::running& to, const job& j) {
      detail::run_in_order<Settings, State>(to, j, ordered::settings_of(to), start, push);
      to.left.reset();
    };
    return *this;
  }
  // `finish` comes behind the last batch and makes about a batch.
  template <class Start, class Push, class Finish>
  ordered& run(Start start, Push push, Finish finish) {
    this->build_ = [=](detail::running& to, const job& j) {
      detail::run_in_order<Settings, State>(to, j, ordered::settings_of(to), start, push);
      detail::finish_in_order<State>(to, finish);
      to.left.reset();
    };
    return *this;
  }
};

// An operator whose rows flowrun sorts on the way, as its check says (node::set_sort).
template <class Settings>
class breaker : public detail::operator_builder<breaker<Settings>, Settings> {
 public:
  explicit breaker(std::string name) : detail::operator_builder<breaker, Settings>(std::move(name), FR_BREAKER) {
    this->build_ = [](detail::running&, const job&) {};
  }
  // Makes the rows that are sorted, on several threads at once. Without it they are the rows that come.
  breaker& before(std::function<void(const Settings&, const batch&, out&)> step) {
    this->before_ = [step = std::move(step)](detail::running& to, const job&) {
      to.apply = [step, settings = &breaker::settings_of(to)](const batch& in, out& o) { step(*settings, in, o); };
    };
    return *this;
  }
  // Gets the sorted rows. Without it they go on as they are.
  template <class State, class Start, class Push>
  breaker& behind(Start start, Push push) {
    this->build_ = [=](detail::running& to, const job& j) {
      detail::run_in_order<Settings, State>(to, j, breaker::settings_of(to), start, push);
      to.left.reset();
    };
    return *this;
  }
  template <class State, class Start, class Push, class Finish>
  breaker& behind(Start start, Push push, Finish finish) {
    this->build_ = [=](detail::running& to, const job& j) {
      detail::run_in_order<Settings, State>(to, j, breaker::settings_of(to), start, push);
      detail::finish_in_order<State>(to, finish);
      to.left.reset();
    };
    return *this;
  }
};

namespace detail {

// What has no stream that is pushed to it.
template <class Self, class Settings, class State>
class puller : public operator_builder<Self, Settings> {
 public:
  using operator_builder<Self, Settings>::operator_builder;
  // `start` makes the state for a run; `pull` makes about a batch, and returns an outcome, or a bool: whether there is
  // more.
  template <class Start, class Pull>
  Self& run(Start start, Pull pull) {
    this->build_ = [=](running& to, const job& j) {
      std::shared_ptr<State> state(new State(start(puller::settings_of(to), j)));
      to.pull = [pull, state](out& o) { return outcome(pull(*state, o)); };
    };
    return this->self();
  }
};

}  // namespace detail

// An operator without input.
template <class Settings, class State>
class source : public detail::puller<source<Settings, State>, Settings, State> {
 public:
  explicit source(std::string name) : detail::puller<source, Settings, State>(std::move(name), FR_SOURCE) {}
};

// An operator that reads its inputs by itself: job::input(), job::stored().
template <class Settings, class State>
class meeting : public detail::puller<meeting<Settings, State>, Settings, State> {
 public:
  explicit meeting(std::string name) : detail::puller<meeting, Settings, State>(std::move(name), FR_MEETING) {}
};

}  // namespace fr
