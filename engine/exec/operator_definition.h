// An operator as a whole: its declaration, its check and how to build it. operators/NAME.cc defines each, plugins use
// the same shape:
//
//   settings check(plan::node_checker&)                      what the YAML says, as a struct; or faults
//   assembly build(exec::build_context&, const settings&)    what runs
//   return exec::define<settings>(declaration, check, build)
//
// A source that can tell from the size or the first bytes of a file that it can't use it also has
//   void look_into(const settings&, const std::string& path)
//
// build() sees settings and types only, so everything that can be wrong with a node's parameters is found by check().
// Settings with expressions have `void bind(const expr::scalar_values&)` (expr/scalars.h): build() gets the settings
// with the values that scalars have at that moment, those of loops and graphs around the node and of its own
// `scalars:`. Settings of a check that was given an expression and that have no bind() are an internal error at once,
// in whatever job.
#pragma once

#include <any>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "engine/base/error.h"
#include "engine/exec/operator.h"
#include "engine/exec/services.h"
#include "engine/expr/scalars.h"
#include "engine/plan/graph.h"
#include "engine/plan/node_checker.h"
#include "engine/plan/operator_declaration.h"
#include "engine/plan/physical_plan.h"

namespace flowrun::exec {

// A node's executable parts. A head (sources, source halves, meeting nodes) and any number of stages behind each other;
// the ports of the last part are the ports of the node. Parts of one node need not be of one kind: file.read_csv is a
// head that cuts the text at line ends, and a stateless stage that parses.
using stage = std::variant<std::unique_ptr<stateless_stage>, std::unique_ptr<ordered_stage>>;
struct assembly {
  std::unique_ptr<source> head;
  std::vector<stage> stages;
};

struct build_context {
  const plan::graph& graph;  // that the node belongs to
  const plan::node& node;    // outputs[i].type: row types; they live as long as the job
  const record::row_type& input_type(size_t i = 0) const { return graph.input_of(node, i).type; }
  const plan::order& input_order(size_t i = 0) const { return graph.input_of(node, i).sorted_by; }
  std::string input_name(size_t i) const { return graph.input_name(node, i); }
  const record::row_type& output_type(size_t i = 0) const { return node.outputs[i].type; }
  std::vector<input_stream*> inputs;  // of a meeting node, in the order of node.inputs
  services& job;                      // pool, disks, backend, tasks, cancellation
  uint64_t memory_bytes = 0;          // share of this part of the node
  // Of an intake: what it may still hold when its phase has ended.
  uint64_t kept_bytes = 0;
  const plan::sort_prediction* sort = nullptr;  // of a breaker: its blocks and buffers, as planned
  record::batch_limits batches;                 // how large to make them, and the rows in them
  plan::node_part part = plan::node_part::whole;
  size_t input = 0;         // of the intake of a node with stored inputs: which one
  std::any& state;          // of a breaker: what the intake leaves for the work
  node_counters& counters;  // rows rejected, runs, passes, …: see services.h
  // Of a node with stored inputs, by input: what the intake leaves for the work. Of an input `as_vector`: stored_rows.
  // Let go of after the phase in which the node has run.
  std::span<std::any> states = {};

  // Of a job that is resumed: the source begins there; null: at its beginning.
  const resume::source_position* begin_at = nullptr;
  // Of the end of a pipeline: it is told where the head was (ordered_stage::note_position), so what it didn't write can
  // be read again.
  bool notes_positions = false;

  // What the node's expressions may name: values of its own `scalars:`, then those around it.
  expr::scalar_values scalars = {};

  bool is_intake() const { return part == plan::node_part::intake; }
};

struct control_context;

// Made by define(), and for control nodes by define_control() (control_context.h).
struct operator_definition {
  plan::operator_declaration declaration;
  std::function<assembly(build_context&)> build;
  std::function<void(control_context&)> control = {};  // of control nodes, instead of build
  // Looks into a regular file that the node reads, or into its index, before the first phase. Throws what the node
  // itself would throw for it when its phase has begun, as far as a few reads can show it. May be empty.
  std::function<void(const plan::node&, const std::string& path)> look_into = {};
};

template <class settings>
concept has_expressions = requires(settings& s, const expr::scalar_values& values) {
  s.bind(values);
};

template <class settings>
operator_definition define(plan::operator_declaration declaration, settings (*check)(plan::node_checker&),
                           assembly (*build)(build_context&, const settings&),
                           void (*look_into)(const settings&, const std::string& path) = nullptr) {
  operator_definition out;
  out.declaration = std::move(declaration);
  out.declaration.check = [check](plan::node_checker& node) {
    settings made = check(node);
    // Else expressions would keep scalars without a value, which only a run inside of a loop or a graph would show.
    if constexpr (!has_expressions<settings>) FLOWRUN_CHECK(!node.ok() || !node.gave_expressions());
    return plan::checked_settings::of(std::move(made));
  };
  out.build = [build](build_context& c) {
    const settings& checked = c.node.settings.template as<settings>();
    if constexpr (has_expressions<settings>) {
      if (!c.scalars.empty()) {
        settings now = checked;
        now.bind(c.scalars);
        return build(c, now);
      }
    }
    return build(c, checked);
  };
  if (look_into != nullptr)
    out.look_into = [look_into](const plan::node& n, const std::string& path) {
      look_into(n.settings.template as<settings>(), path);
    };
  return out;
}

}  // namespace flowrun::exec
