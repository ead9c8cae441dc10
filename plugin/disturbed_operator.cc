#include "plugin/disturbed_operator.h"

#include <chrono>
#include <memory>
#include <thread>

#include "engine/base/error.h"

namespace flowrun::plugins {

namespace {

// The same numbers in each run, whatever threads do: the number of the step, well mixed (splitmix64).
uint64_t mixed(uint64_t n) {
  n += 0x9E3779B97F4A7C15;
  n = (n ^ (n >> 30)) * 0xBF58476D1CE4E5B9;
  n = (n ^ (n >> 27)) * 0x94D049BB133111EB;
  return n ^ (n >> 31);
}

class step_gate {
 public:
  step_gate(disturbance& how, exec::services& job) : how_(how), job_(job) {}

  // Before a step. Throws where the job is to fail.
  void enter() const {
    const uint64_t step = how_.num_steps++;
    if (how_.ends != disturbance::ending::none && step == how_.ends_before) {
      if (how_.ends == disturbance::ending::failed) throw error(error_kind::bad_data, failure_of_trial, "");
      how_.stop = true;
      // The job looks at the flag a few times in a second; the step begins when it has.
      for (int waited = 0; waited < 120 && !job_.cancelled(); ++waited)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (how_.delays && mixed(step) % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(mixed(step) % 400));
  }

  // Whether a step that may be blocked is. The wake comes at once: that it is worth another try is true.
  bool blocks(waker& w) {
    if (!how_.blocks || mixed(~num_looks_++) % 3 == 0) return false;
    w.wake();
    return true;
  }

  // What a step answers. One that waits may be called again for nothing: a wake may be spurious.
  outcome after(outcome answer, waker& w) {
    if (answer.is_blocked() && how_.blocks && mixed(~num_looks_++) % 2 == 0) w.wake();
    return answer;
  }

 private:
  disturbance& how_;
  exec::services& job_;
  uint64_t num_looks_ = 0;
};

class disturbed_input final : public exec::input_stream {
 public:
  disturbed_input(exec::input_stream& input, const step_gate& gate) : input_(input), gate_(gate) {}
  outcome peek(const record::batch*& front, waker& w) override {
    if (gate_.blocks(w)) return outcome::blocked(blocked_on::input);
    return input_.peek(front, w);
  }
  void pop() override { input_.pop(); }

 private:
  exec::input_stream& input_;
  step_gate gate_;
};
using disturbed_inputs = std::vector<std::unique_ptr<disturbed_input>>;

class disturbed_source final : public exec::source {
 public:
  disturbed_source(std::unique_ptr<exec::source> source, disturbed_inputs inputs, const step_gate& gate)
      : inputs_(std::move(inputs)), source_(std::move(source)), gate_(gate) {}
  outcome pull(exec::output& out, waker& w) override {
    if (gate_.blocks(w)) return outcome::blocked(blocked_on::input);
    gate_.enter();
    return gate_.after(source_->pull(out, w), w);
  }

 private:
  const disturbed_inputs inputs_;  // used by the source until it dies
  const std::unique_ptr<exec::source> source_;
  step_gate gate_;
};

class disturbed_stateless final : public exec::stateless_stage {
 public:
  disturbed_stateless(std::unique_ptr<exec::stateless_stage> stage, const step_gate& gate)
      : stage_(std::move(stage)), gate_(gate) {}
  void apply(const record::batch& in, exec::output& out) const override {
    gate_.enter();
    stage_->apply(in, out);
  }

 private:
  const std::unique_ptr<exec::stateless_stage> stage_;
  const step_gate gate_;
};

class disturbed_ordered final : public exec::ordered_stage {
 public:
  disturbed_ordered(std::unique_ptr<exec::ordered_stage> stage, const step_gate& gate)
      : stage_(std::move(stage)), gate_(gate) {}
  outcome push(record::batch& in, exec::output& out, waker& w) override {
    if (gate_.blocks(w)) return outcome::blocked(blocked_on::output);
    gate_.enter();
    return gate_.after(stage_->push(in, out, w), w);
  }
  outcome finish(exec::output& out, waker& w) override {
    if (gate_.blocks(w)) return outcome::blocked(blocked_on::output);
    gate_.enter();
    return gate_.after(stage_->finish(out, w), w);
  }

 private:
  const std::unique_ptr<exec::ordered_stage> stage_;
  step_gate gate_;
};

exec::assembly build_disturbed(const exec::operator_definition& op, exec::build_context& c, disturbance& how) {
  const step_gate gate(how, c.job);
  disturbed_inputs inputs;
  const std::vector<exec::input_stream*> undisturbed = c.inputs;
  for (exec::input_stream*& input : c.inputs) {
    if (input == nullptr) continue;
    inputs.push_back(std::make_unique<disturbed_input>(*input, gate));
    input = inputs.back().get();
  }
  exec::assembly out = op.build(c);
  c.inputs = undisturbed;
  // Without a head the pipeline reads the input itself, and hands it to the stages.
  if (out.head != nullptr) out.head = std::make_unique<disturbed_source>(std::move(out.head), std::move(inputs), gate);
  for (exec::stage& s : out.stages) {
    if (auto* const stateless = std::get_if<std::unique_ptr<exec::stateless_stage>>(&s))
      *stateless = std::make_unique<disturbed_stateless>(std::move(*stateless), gate);
    else if (auto& ordered = std::get<std::unique_ptr<exec::ordered_stage>>(s); ordered != nullptr)
      ordered = std::make_unique<disturbed_ordered>(std::move(ordered), gate);
  }
  return out;
}

}  // namespace

exec::operator_definition disturbed(const exec::operator_definition& op, disturbance& how) {
  exec::operator_definition out = op;
  if (op.build) out.build = [&op, &how](exec::build_context& c) { return build_disturbed(op, c, how); };
  return out;
}

}  // namespace flowrun::plugins
