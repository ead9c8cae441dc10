// loop: runs the nodes inside of it again and again (STXXL, section 10: breadth-first search).
//
//   carried streams and scalars ─▶ body ─▶ next ─▶ … until the condition holds ─▶ outputs
//
// In a process streams lie in vectors: in memory while they are few, on scratch beyond. Nothing is copied between
// iterations; what stays as it is stays where it is. Inputs are stored once and read in every iteration.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "engine/base/error.h"
#include "engine/resume/manifest.h"
#include "operators/parts/control/loop_notes.h"
#include "operators/parts/control/loop_settings.h"
#include "operators/word.h"

namespace flowrun::operators {

namespace {

class loop {
 public:
  loop(exec::control_context& context, const loop_settings& s)
      : context_(context), settings_(s), outer_(context.scalars()), known_(context.known_scalars) {}

  void run() {
    start();
    if (notes_) notes_->go_on(iteration_, scalars_, streams_, collected_);
    for (;; ++iteration_) {
      if (times_ && iteration_ == *times_) break;
      if (!times_ && iteration_ == settings_.max_iterations) give_up();
      context_.note(fmt::format("iteration {}", iteration_));
      bool last = false;
      try {
        last = iterate();
      } catch (const error& problem) {
        if (problem.kind() == error_kind::cancelled) throw;
        throw error(problem.kind(),
                    fmt::format("in '{}', iteration {}: {}", context_.node.id, iteration_, problem.what()),
                    problem.hint());
      }
      context_.count_iteration();
      if (last) {
        ++iteration_;
        break;
      }
      if (notes_) notes_->note(iteration_ + 1, scalars_, streams_);
    }
    finish();
  }

 private:
  void start() {
    for (const carried_scalar& s : settings_.scalars) scalars_.push_back({s.name, s.type, value_of(s.initial, known_)});
    scalars_.push_back({iteration_name, record::value_type::of(record::type_kind::u64), 0});
    if (settings_.times) {
      times_ = value_of(*settings_.times, known_);
      if (settings_.times->type().is_signed() && static_cast<int64_t>(*times_) < 0) times_ = 0;
    }
    for (size_t i = 0; i < settings_.inputs.size(); ++i)
      if (!settings_.inputs[i].empty()) streams_.in[settings_.inputs[i]] = context_.inputs[i];
    for (const carried_stream& s : settings_.streams)
      streams_.in[s.name] = s.input ? context_.inputs[*s.input] : loaded(s);
    context_.inputs.clear();  // so rows that only start the loop are freed when others take their place
    for (size_t i = 0; i < settings_.collected.size(); ++i)
      collected_.push_back(context_.is_read(i) ? context_.make_rows(settings_.collected[i].type, {}) : nullptr);
    exec::vector_access* const vectors = context_.vectors();
    resume::manifest* const manifest = vectors == nullptr ? nullptr : vectors->job.manifest();
    if (manifest != nullptr)
      notes_.emplace(*vectors, settings_, manifest->loop(context_.node.id), streams_, collected_);
  }

  exec::rows_handle loaded(const carried_stream& s) {
    const auto out = context_.make_rows(s.type, s.sought ? s.sorted_by : plan::order());
    if (!s.any_order) context_.append(*out, load_rows(*s.rows, s.type, known_, context_.pool()));
    context_.finish(*out);
    return out;
  }

  const exec::rows_handle& rows_of(const body_rows& rows) const {
    return rows.stream.empty() ? streams_.out.at(rows.result) : streams_.in.at(rows.stream);
  }

  // True when it was the last one.
  bool iterate() {
    scalars_.back().bits = iteration_;
    context_.run_body(0, streams_, values_of(with_outer(scalars_, outer_)));
    for (size_t i = 0; i < collected_.size(); ++i)
      if (collected_[i] != nullptr) {
        context_.append_all(*collected_[i], *rows_of(settings_.collected[i].from));
        if (notes_) notes_->collect(i, *rows_of(settings_.collected[i].from));
      }
    const std::vector<expr::constant> mentioned = settings_.mentioned.values(context_, streams_);
    next_scalars(mentioned);
    const bool last = settings_.until && holds(*settings_.until, all_values(mentioned));
    std::vector<exec::rows_handle> next;  // all, before any is replaced: a stream may become what another was
    for (const carried_stream& s : settings_.streams) next.push_back(rows_of(s.next));
    for (size_t i = 0; i < next.size(); ++i) streams_.in[settings_.streams[i].name] = std::move(next[i]);
    streams_.out.clear();
    return last;
  }

  std::vector<expr::constant> all_values(const std::vector<expr::constant>& mentioned) const {
    return with_outer(with_outer(mentioned, scalars_), known_);
  }

  void next_scalars(const std::vector<expr::constant>& mentioned) {
    const std::vector<expr::constant> known = all_values(mentioned);
    std::vector<uint64_t> values;
    for (const carried_scalar& s : settings_.scalars)
      values.push_back(s.next ? value_of(*s.next, known) : scalars_[values.size()].bits);
    for (size_t i = 0; i < values.size(); ++i) scalars_[i].bits = values[i];
  }

  [[noreturn]] void give_up() const {
    throw error(error_kind::bad_data,
                fmt::format("'{}' has not ended after {} iterations", context_.node.id, iteration_),
                "look at its condition `until`, or raise max_iterations");
  }

  void finish() {
    size_t port = 0;
    for (const auto& rows : collected_) {
      if (rows != nullptr) context_.finish(*rows);
      context_.outputs[port++] = rows;
    }
    for (const carried_stream& s : settings_.streams) context_.outputs[port++] = streams_.in.at(s.name);
    const record::row_type& type = context_.node.outputs[port].type;
    record::batch_builder builder(type, context_.pool(), record::rows_of_any_length(4096));
    std::byte* const row = builder.append();
    for (size_t i = 0; i < type.num_columns(); ++i) {
      // The number of iterations comes last, unless a scalar has its name.
      const uint64_t bits = i < settings_.scalars.size() ? scalars_[i].bits : iteration_;
      std::memcpy(row + type[i].offset, &bits, type[i].type.num_bytes);
    }
    const auto values = context_.make_rows(type, {});
    context_.append(*values, builder.take());
    context_.finish(*values);
    context_.outputs[port] = values;
    context_.report_value("iterations", fmt::format("{}", iteration_));
  }

  exec::control_context& context_;
  const loop_settings& settings_;
  const std::vector<expr::constant> outer_;  // what its body sees beside what it carries
  const std::vector<expr::constant> known_;  // what its own expressions name
  exec::body_streams streams_;
  std::vector<expr::constant> scalars_;  // the carried ones, and the iteration
  std::vector<std::shared_ptr<exec::held_rows>> collected_;
  std::optional<loop_notes> notes_;  // of a job that can be resumed
  std::optional<uint64_t> times_;
  uint64_t iteration_ = 0;
};

void run(exec::control_context& context, const loop_settings& s) { loop(context, s).run(); }

}  // namespace

template <>
exec::operator_definition word<"loop">() {
  using plan::parameter_kind;
  plan::operator_declaration d;
  d.name = "loop";
  d.summary = "Runs the nodes inside of it again and again, until a condition holds.";
  d.details =
      "`carry` names what goes from one iteration to the next: streams, which start with rows that stand in the spec "
      "(`rows`, and their `type`) or with an input of the loop (`from`), and scalars, which start with the `value` of "
      "an expression and are u64, i64, f64, bool, date, timestamp or a decimal after it. The nodes of `body` read "
      "carried streams and the loop's inputs by their names, and every expression in it may name a scalar, or "
      "`iteration`, which counts from 0.\n\n"
      "`next` says what follows: for a stream a node of the body (or another stream), for a scalar an expression. What "
      "it does not mention stays as it is. All follow at once. Expressions of `next` and `until` also know "
      "`rows(NODE)`, the number of rows that a node or a stream of the body had in this iteration, and `NODE.column` "
      "of a reduce. `until` is evaluated after each iteration, with the scalars as they are then.\n\n"
      "Outputs: one for each name under `collect`, the rows of a node of all iterations one after another; one for "
      "each carried stream, as it is at the end; and `scalars`, one row with the carried scalars and `iterations`. Not "
      "all of them need to be read. A stream must keep its columns. It counts as sorted if its start and what `next` "
      "gives it are both sorted by the same columns (rows that stand in the spec are put in order by all their columns "
      "first). `sorted_by` beside `rows` or `from` declares an order: the body counts on it, and a start or a `next` "
      "that is not proved sorted so is a fault.\n\n"
      "Without `times` a loop that has not ended after `max_iterations` is an error.";
  d.order = "needs: nothing; gives: what holds for the carried streams";
  d.example =
      "levels:                # breadth-first search; edges are sorted by [src, dst]\n"
      "  op: loop\n"
      "  in: {edges: edges}\n"
      "  with:\n"
      "    carry: {prev: {rows: []}, cur: {rows: [{node: 0}], type: {node: u32}}, t: {value: 0}}\n"
      "    body:\n"
      "      reached: {op: join, in: {left: cur, right: edges}, with: {by: {node: src}}}\n"
      "      next:    {op: map, in: reached, with: {node: dst}}\n"
      "      sorted:  {op: sort, in: next, with: {by: [node], unique: true}}\n"
      "      fresh:   {op: join, in: {left: sorted, right: cur}, with: {by: [node], kind: anti}}\n"
      "      new:     {op: join, in: {left: fresh, right: prev}, with: {by: [node], kind: anti}}\n"
      "      level:   {op: map, in: new, with: {node: node, value: \"t + 1\"}}\n"
      "    next:    {prev: cur, cur: new, t: \"t + 1\"}\n"
      "    until:   \"rows(new) == 0\"\n"
      "    collect: {out: level}\n";
  d.role = plan::operator_role::control;
  d.reports = true;
  d.inputs = {{"in", "rows that the body reads, in every iteration, by the name they have here", true, true}};
  d.inputs_by_name = true;
  d.outputs_from_parameters = true;
  d.output_optional = true;
  d.parameters = {
      {.name = "carry", .kind = parameter_kind::carried, .help = "What goes from one iteration to the next."},
      {.name = "body",
       .kind = parameter_kind::nodes,
       .required = true,
       .help = "The nodes that run in each iteration."},
      {.name = "next",
       .kind = parameter_kind::texts_by_name,
       .help = "What follows after an iteration: {stream: node, scalar: expression}. Left out: it stays."},
      {.name = "until",
       .kind = parameter_kind::condition,
       .help = "The loop ends after the iteration behind which this holds."},
      {.name = "times",
       .kind = parameter_kind::expression,
       .help = "The loop ends after so many iterations, if not before; evaluated once, over the scalars around the "
               "loop; below 0 is 0."},
      {.name = "collect",
       .kind = parameter_kind::texts_by_name,
       .help = "Outputs that have the rows of a node of all iterations: {output: node}."},
      {.name = "max_iterations",
       .kind = parameter_kind::integer,
       .default_text = "1000000",
       .help = "More iterations than these are an error; not with `times`."}};
  return exec::define_control<loop_settings>(std::move(d), check_loop, run);
}

}  // namespace flowrun::operators
