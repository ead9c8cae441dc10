#include "plugin/running_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "engine/base/units.h"
#include "engine/exec/node_work.h"
#include "plugin/crash_line.h"
#include "plugin/problem.h"
#include "plugin/row_reader.h"
#include "plugin/step_output.h"
#include "plugin/texts.h"

namespace flowrun::plugins {

running_node::running_node(exec::build_context& c, std::shared_ptr<const plugin_settings> settings,
                           std::vector<const record::row_type*> outputs, const std::string& who)
    : services(c.job),
      counters(c.counters),
      id(c.node.id),
      who(fmt::format("node '{}': {}", c.node.id, who)),
      settings(std::move(settings)),
      batches(c.batches),
      memory_bytes(c.node.role() == plan::operator_role::breaker ? 0 : c.memory_bytes),
      outputs(std::move(outputs)),
      waker(new fr_waker) {
  job_.size = sizeof job_;
  job_.self = this;
  job_.num_threads = c.job.threads();
  job_.part = c.part == plan::node_part::whole ? FR_WHOLE : c.part == plan::node_part::intake ? FR_INTAKE : FR_WORK;
  job_.memory_bytes = memory_bytes;
  job_.is_cancelled = [](void* self) { return static_cast<running_node*>(self)->services.cancelled() ? 1 : 0; };
  job_.warn = [](void* self, fr_text text) { static_cast<running_node*>(self)->services.warn(as_shown(text)); };
  job_.report = [](void* self, fr_text name, fr_text value) {
    running_node& node = *static_cast<running_node*>(self);
    node.services.report_value(node.id, as_shown(name), as_shown(value));
  };
  job_.waker = waker;
  job_.input = c.input;
  job_.spawn = spawn;
  job_.fail = fail;
  job_.reserve = reserve;
  job_.release = [](void* self, uint64_t num_bytes) { static_cast<running_node*>(self)->reserved_ -= num_bytes; };
  job_.count = count;
  add_inputs(c);
}

// Tables by input, so that those of another storage stay empty.
void running_node::add_inputs(exec::build_context& c) {
  const size_t num_inputs = c.node.inputs.size();
  input_tables_.resize(num_inputs);
  stored_tables_.resize(num_inputs);
  left_.resize(num_inputs);
  size_t stream = 0;
  for (size_t i = 0; i < num_inputs && c.part != plan::node_part::intake; ++i) {
    if (!c.node.inputs[i].stored) {
      if (stream < c.inputs.size())
        input_tables_[i] = inputs_.emplace_back(read_input(*this, *c.inputs[stream++]))->table();
    } else if (c.node.inputs[i].as_vector) {
      const auto rows = std::any_cast<exec::shared_rows>(c.states[i]);
      stored_tables_[i] = stored_.emplace_back(std::make_unique<stored_view>(*this, rows))->table();
    } else {
      left_[i] = kept_.emplace_back(std::any_cast<std::shared_ptr<void>>(c.states[i])).get();
    }
  }
  job_.num_inputs = num_inputs;
  job_.inputs = input_tables_.data();
  job_.stored = stored_tables_.data();
  job_.left = left_.data();
}

running_node::~running_node() {
  if (stage.destroy != nullptr) {
    const inside plugin(who);
    stage.destroy(stage.state);
  }
  waker->point_to(nullptr);
  waker->release();
}

void running_node::build(const fr_operator& table) {
  fr_problem problem;
  fr_stage made{};
  made.size = sizeof made;
  int done = FR_FAILED;
  building = &problem;
  {
    const inside plugin(who);
    done = table.build(table.context, settings->of_plugin.get(), &job_, &made, &problem);
  }
  building = nullptr;
  if (done == FR_OK) {
    made.size = std::min(made.size, sizeof made);
    stage = known_part(made);  // from here on it is destroyed whatever comes
  }
  if (done != FR_OK || problem.raised || problem.kind != 0) raise(problem, who);
}

void running_node::keep_exception() {
  fr_problem* const to = step != nullptr ? &step->problem() : building;
  if (to != nullptr && !to->raised) to->raised = std::current_exception();
}

int running_node::fail_outside_of_steps() {
  note_failure(
      step != nullptr ? &step->problem() : building, FR_INTERNAL,
      as_text("it reads or writes rows, or what is finished already, outside of a step: while a node is built it "
              "only opens what its steps will use"),
      as_text("move it from start into pull, push or finish"));
  return FR_FAILED;
}

void running_node::refuse(const std::string& what) const {
  throw error(error_kind::internal, fmt::format("{}: {}", who, what), "tell the author of the plugin");
}

void running_node::check_rejected() const {
  const auto rejected = static_cast<double>(rejected_), good = static_cast<double>(given);
  if (rejected == 0 || rejected <= settings->max_ratio * (rejected + good)) return;
  throw error(error_kind::bad_data,
              fmt::format("{}: {} of {} rows were rejected, more than max_ratio {}", who, format_count(rejected_),
                          format_count(rejected_ + given), settings->max_ratio),
              "mend the input, or raise max_ratio");
}

// The node lives until the work has run, and so does what it works on.
void running_node::spawn(void* self, void (*work)(void*), void* argument) {
  running_node& here = *static_cast<running_node*>(self);
  const std::shared_ptr<running_node> node = here.weak_from_this().lock();
  if (node == nullptr) return here.services.warn(here.who + " spawns work while it is destroyed; nobody does it");
  exec::node_poster(here.services, here.counters)([node, work, argument] {
    const inside plugin(node->who);
    work(argument);
  });
}

void running_node::fail(void* self, uint32_t kind, fr_text message, fr_text hint) {
  running_node& node = *static_cast<running_node*>(self);
  fr_problem problem;
  note_failure(&problem, kind, message, hint);
  node.services.spawn([e = error_of(problem, node.who)] { throw e; });
}

uint64_t running_node::book(uint64_t wanted) {
  uint64_t before = reserved_, given = 0;
  do {
    given = std::min(wanted, memory_bytes - std::min<uint64_t>(before, memory_bytes));
  } while (!reserved_.compare_exchange_weak(before, before + given));
  return given;
}

int running_node::reserve(void* self, uint64_t num_bytes) {
  running_node& node = *static_cast<running_node*>(self);
  uint64_t before = node.reserved_;
  do {
    if (num_bytes > node.memory_bytes || before > node.memory_bytes - num_bytes) return FR_FAILED;
  } while (!node.reserved_.compare_exchange_weak(before, before + num_bytes));
  return FR_OK;
}

void running_node::count(void* self, fr_text name, uint64_t n) {
  running_node& node = *static_cast<running_node*>(self);
  const std::string counter = as_shown(name);
  if (counter == "file_read_bytes")
    node.counters.file_read_bytes += n;
  else if (counter == "file_total_bytes")
    node.counters.file_total_bytes += n;
  else if (counter == "file_written_bytes")
    node.counters.file_written_bytes += n;
  else if (counter == "rejected_rows")
    node.counters.rejected_rows += n, node.rejected_ += n;
  else
    node.counters.named.add(counter, n);
}

}  // namespace flowrun::plugins
