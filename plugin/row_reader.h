// Rows that a plugin's step takes by itself: behind fr_reader, over an input, stored rows or a queue.
#pragma once

#include <functional>
#include <memory>

#include "engine/container/external_queue.h"
#include "engine/exec/vector_stages.h"
#include "plugin/running_node.h"

namespace flowrun::plugins {

// The batch at its front may be handed on by the step.
class row_reader {
 public:
  explicit row_reader(running_node& node) : node_(node) { node.readers.push_back(this); }
  virtual ~row_reader();
  row_reader(const row_reader&) = delete;
  row_reader& operator=(const row_reader&) = delete;

  // Refers to this object.
  fr_reader table();
  // Null: nothing is in front.
  const record::batch* at_front() const { return front_; }

 protected:
  virtual outcome peek(const record::batch*& front, waker& w) = 0;
  virtual void drop() = 0;

 private:
  static int front(void* self, const fr_batch** to);
  static void pop(void* self);

  running_node& node_;
  const record::batch* front_ = nullptr;
  fr_batch shown_{};
};

std::unique_ptr<row_reader> read_input(running_node& node, exec::input_stream& from);
std::unique_ptr<row_reader> read_queue(running_node& node, container::external_queue& from);

// Rows that are stored as a whole: behind fr_rows. Readers of it are closed by the plugin.
class stored_view {
 public:
  stored_view(running_node& node, exec::shared_rows rows) : node_(node), rows_(std::move(rows)) {}
  // Refers to this object.
  fr_rows table();

 private:
  static int read(void* self, uint32_t is_backward, uint64_t memory_bytes, fr_reader* out);
  running_node& node_;
  const exec::shared_rows rows_;
};

}  // namespace flowrun::plugins
