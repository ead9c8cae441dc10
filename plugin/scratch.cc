// Queues and vectors that a plugin opens for a node: their rows are in memory or on the job's scratch.
#include <memory>
#include <utility>

#include "engine/container/external_queue.h"
#include "engine/container/external_vector.h"
#include "plugin/codes.h"
#include "plugin/interfaces.h"
#include "plugin/row_reader.h"
#include "plugin/step_output.h"
#include "plugin/texts.h"
#include "plugin/value_types.h"

using namespace flowrun;
using namespace flowrun::plugins;

namespace {

record::row_type type_of(const running_node& node, const fr_column* columns, size_t num_columns) {
  std::vector<record::column> out;
  for (size_t i = 0; i < num_columns; ++i) {
    const auto type = value_type_of(columns[i].type);
    if (!type) node.refuse("a column of the rows that it would store has no type");
    out.push_back({as_string(columns[i].name), *type});
  }
  if (out.empty()) node.refuse("the rows that it would store have no columns");
  return record::row_type(std::move(out));
}

// Takes rows into a queue or a vector; what is left of them stays in `rows`.
template <class Container>
int push_rows(running_node& node, Container& to, const record::row_type& type, fr_batch* rows) {
  step_output* const step = node.step;
  if (step == nullptr) return node.fail_outside_of_steps();
  return node.guarded(static_cast<int>(FR_FAILED), [&] {
    if (rows->num_rows == 0) return static_cast<int>(FR_OK);
    record::batch batch = step->kept(*rows, type);
    const outcome o = to.push(batch, step->blocked_with());
    const size_t taken = o.is_blocked() ? rows->num_rows - batch.num_rows : rows->num_rows;
    rows->rows += taken * rows->row_bytes;
    rows->num_rows -= taken;
    rows->first_row += taken;
    return code_of(o);
  });
}

}  // namespace

struct fr_queue {
  fr_queue(running_node& of, record::row_type t, uint64_t memory_bytes)
      : node(of),
        type(std::move(t)),
        booked(of.book(memory_bytes)),
        rows(type, of.services.blocks(), booked),
        reader(read_queue(of, rows)) {
    table = reader->table();
  }
  // Wakes must not come to a pipeline that is gone.
  ~fr_queue() {
    rows.forget_wakers();
    node.unbook(booked);
  }
  fr_queue(const fr_queue&) = delete;
  fr_queue& operator=(const fr_queue&) = delete;

  running_node& node;
  const record::row_type type;
  const uint64_t booked;
  container::external_queue rows;
  const std::unique_ptr<row_reader> reader;
  fr_reader table;
  bool has_ended = false;
};

struct fr_vector {
  fr_vector(running_node& of, record::row_type t, uint64_t memory_bytes)
      : node(of),
        type(std::move(t)),
        booked(of.book(memory_bytes)),
        rows(exec::make_vector(type, {}, of.services, {booked, booked, false})) {}
  ~fr_vector() { node.unbook(booked); }
  fr_vector(const fr_vector&) = delete;
  fr_vector& operator=(const fr_vector&) = delete;

  running_node& node;
  const record::row_type type;
  const uint64_t booked;
  const std::shared_ptr<container::external_vector> rows;
  std::unique_ptr<stored_view> view;
  fr_rows table{};
  bool is_finished = false;
};

namespace flowrun::plugins {

const fr_queue_interface& queues() {
  static constexpr fr_queue_interface table = {
      sizeof table,
      [](const fr_job* job, const fr_column* columns, size_t num_columns, uint64_t memory_bytes) {
        running_node& node = running_node::of(job);
        fr_queue* const none = nullptr;
        if (!node.may_open()) return none;
        return node.guarded(none,
                            [&] { return new fr_queue(node, type_of(node, columns, num_columns), memory_bytes); });
      },
      [](fr_queue* q, fr_batch* rows) {
        if (q->has_ended) return q->node.fail_outside_of_steps();
        return push_rows(q->node, q->rows, q->type, rows);
      },
      [](fr_queue* q) {
        if (!std::exchange(q->has_ended, true)) q->node.guarded(0, [&] { return q->rows.close(), 0; });
      },
      [](fr_queue* q) -> const fr_reader* { return &q->table; },
      [](fr_queue* q) { delete q; }};
  return table;
}

const fr_vector_interface& vectors() {
  static constexpr fr_vector_interface table = {
      sizeof table,
      [](const fr_job* job, const fr_column* columns, size_t num_columns, uint64_t memory_bytes) {
        running_node& node = running_node::of(job);
        fr_vector* const none = nullptr;
        if (!node.may_open()) return none;
        return node.guarded(none,
                            [&] { return new fr_vector(node, type_of(node, columns, num_columns), memory_bytes); });
      },
      [](fr_vector* v, fr_batch* rows) {
        if (v->is_finished) return v->node.fail_outside_of_steps();
        return push_rows(v->node, *v->rows, v->type, rows);
      },
      [](fr_vector* v) {
        if (v->node.step == nullptr) return v->node.fail_outside_of_steps();
        return v->node.guarded(static_cast<int>(FR_FAILED), [&] {
          v->is_finished = true;
          const outcome o = v->rows->finish(v->node.step->blocked_with());
          if (o.is_done()) {
            v->view = std::make_unique<stored_view>(v->node, v->rows);
            v->table = v->view->table();
          }
          return code_of(o);
        });
      },
      [](fr_vector* v) -> const fr_rows* { return &v->table; },
      [](fr_vector* v) { delete v; }};
  return table;
}

}  // namespace flowrun::plugins
