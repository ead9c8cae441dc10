#include "plugin/row_reader.h"

#include <algorithm>
#include <utility>

#include "plugin/codes.h"
#include "plugin/step_output.h"

namespace flowrun::plugins {

namespace {

class input_reader final : public row_reader {
 public:
  input_reader(running_node& node, exec::input_stream& from) : row_reader(node), from_(from) {}
  outcome peek(const record::batch*& front, waker& w) override { return from_.peek(front, w); }
  void drop() override { from_.pop(); }

 private:
  exec::input_stream& from_;
};

class queue_reader final : public row_reader {
 public:
  queue_reader(running_node& node, container::external_queue& from) : row_reader(node), from_(from) {}
  outcome peek(const record::batch*& front, waker& w) override { return from_.front(front, w); }
  void drop() override { from_.pop(); }

 private:
  container::external_queue& from_;
};

// What it reads ahead is booked from the node's share, of which it takes a little in any case.
class stored_rows_reader final : public row_reader {
 public:
  stored_rows_reader(running_node& node, const container::external_vector& rows, uint64_t wanted,
                     container::direction way)
      : row_reader(node),
        of_(node),
        booked_(node.book(wanted)),
        from_(rows.read(std::max(booked_, least), way, node.batches.target_bytes)) {}
  ~stored_rows_reader() override { of_.unbook(booked_); }
  outcome peek(const record::batch*& front, waker& w) override { return from_->front(front, w); }
  void drop() override { from_->pop(); }

  static constexpr uint64_t least = 256 * KiB;

 private:
  running_node& of_;
  const uint64_t booked_;
  const std::unique_ptr<container::stored_reader> from_;
};

}  // namespace

row_reader::~row_reader() { std::erase(node_.readers, this); }

fr_reader row_reader::table() { return {sizeof(fr_reader), this, front, pop, nullptr}; }

int row_reader::front(void* self, const fr_batch** to) {
  row_reader& reader = *static_cast<row_reader*>(self);
  step_output* const step = reader.node_.step;
  if (step == nullptr) return reader.node_.fail_outside_of_steps();
  return reader.node_.guarded(static_cast<int>(FR_FAILED), [&] {
    const record::batch* found = nullptr;
    const outcome o = reader.peek(found, step->blocked_with());
    reader.front_ = o.is_ready() ? found : nullptr;
    if (o.is_ready()) {
      reader.shown_ = as_batch(*found);
      *to = &reader.shown_;
    }
    return code_of(o);
  });
}

void row_reader::pop(void* self) {
  row_reader& reader = *static_cast<row_reader*>(self);
  if (std::exchange(reader.front_, nullptr) != nullptr) reader.drop();
}

std::unique_ptr<row_reader> read_input(running_node& node, exec::input_stream& from) {
  return std::make_unique<input_reader>(node, from);
}

std::unique_ptr<row_reader> read_queue(running_node& node, container::external_queue& from) {
  return std::make_unique<queue_reader>(node, from);
}

fr_rows stored_view::table() { return {sizeof(fr_rows), this, rows_->num_rows(), rows_->num_bytes(), read}; }

int stored_view::read(void* self, uint32_t is_backward, uint64_t memory_bytes, fr_reader* out) {
  stored_view& view = *static_cast<stored_view*>(self);
  if (!view.node_.may_open()) return FR_FAILED;
  return view.node_.guarded(static_cast<int>(FR_FAILED), [&] {
    const auto way = is_backward != 0 ? container::direction::backward : container::direction::forward;
    auto reader = std::make_unique<stored_rows_reader>(view.node_, *view.rows_,
                                                       std::max(memory_bytes, stored_rows_reader::least), way);
    fr_reader table = reader->table();
    table.close = [](void* opened) { delete static_cast<row_reader*>(opened); };
    table.self = static_cast<row_reader*>(reader.release());
    *out = table;
    return static_cast<int>(FR_OK);
  });
}

}  // namespace flowrun::plugins
