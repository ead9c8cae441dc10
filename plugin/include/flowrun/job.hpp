// A part of a node that runs, and what it reads and writes by itself, in C++20; included by flowrun/plugin.hpp.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flowrun/interfaces.h"
#include "flowrun/rows.hpp"

namespace fr {

// Keeps a waker for a thread of the plugin's own, as long as it wants.
class waker {
 public:
  explicit waker(fr_waker* raw) : raw_(raw) { detail::host()->retain_waker(raw_); }
  waker(const waker& other) : waker(other.raw_) {}
  waker& operator=(const waker&) = delete;
  ~waker() { detail::host()->release_waker(raw_); }
  // Behind a change of what the step looks at. [any thread]
  void wake() const { detail::host()->wake(raw_); }
  fr_waker* raw() const { return raw_; }

 private:
  fr_waker* raw_;
};

namespace detail {

// Flowrun has noted why.
inline int unless_failed(int code) {
  if (code == FR_FAILED) throw noted_failure();
  return code;
}

template <class Interface>
const Interface& interface_of(const char* id) {
  const void* const found = host()->interface(id);
  if (found == nullptr)
    throw error(std::string("this flowrun has no interface ") + id, "a newer flowrun has it", FR_BAD_SPEC);
  return *static_cast<const Interface*>(found);
}

}  // namespace detail

// Rows that a step takes by itself:
//
//   fr::batch rows;
//   if (const fr::outcome o = reader.front(rows); !o.is_ready()) return o;
class reader {
 public:
  explicit reader(const fr_reader& raw) : raw_(raw) {}
  reader(reader&& other) noexcept : raw_(std::exchange(other.raw_, fr_reader{})) {}
  reader& operator=(reader&& other) noexcept {
    std::swap(raw_, other.raw_);
    return *this;
  }
  ~reader() {
    if (raw_.close != nullptr) raw_.close(raw_.self);
  }
  // ready: `to` is the next batch, until pop(). done: there is no more.
  outcome front(batch& to) const {
    const fr_batch* found = nullptr;
    const outcome o(detail::unless_failed(raw_.front(raw_.self, &found)));
    if (o.is_ready()) to = batch(*found);
    return o;
  }
  void pop() const { raw_.pop(raw_.self); }

 private:
  fr_reader raw_;
};

// Walks over the rows of a reader one by one, for operators that compare streams.
class cursor {
 public:
  explicit cursor(reader from) : from_(std::move(from)) {}
  // Before a row is looked at. ready: there is one; done: the stream has ended.
  outcome fill() {
    while (at_ == rows_.size()) {
      if (holds_) from_.pop();
      holds_ = false;
      rows_ = batch();
      at_ = 0;
      if (const outcome o = from_.front(rows_); !o.is_ready()) return o;
      holds_ = true;
    }
    return outcome::ready();
  }
  const batch& rows() const { return rows_; }
  size_t position() const { return at_; }
  void advance(size_t count = 1) { at_ += count; }

 private:
  reader from_;
  batch rows_;
  size_t at_ = 0;
  bool holds_ = false;
};

// Stored rows.
class stored_rows {
 public:
  explicit stored_rows(const fr_rows& raw) : raw_(&raw) {}
  uint64_t num_rows() const { return raw_->num_rows; }
  uint64_t num_bytes() const { return raw_->num_bytes; }
  // In start or in a step. The memory is for what is read ahead, of the node's share.
  reader forward(uint64_t memory_bytes) const { return read(0, memory_bytes); }
  reader backward(uint64_t memory_bytes) const { return read(1, memory_bytes); }

 private:
  reader read(uint32_t is_backward, uint64_t memory_bytes) const {
    fr_reader made{};
    made.size = sizeof made;
    detail::unless_failed(raw_->read(raw_->self, is_backward, memory_bytes, &made));
    return reader(made);
  }
  const fr_rows* raw_;
};

// A part of a node that runs.
class job {
 public:
  explicit job(const fr_job& raw) : raw_(&raw) {}
  // Of this part: its share of the budget.
  uint64_t memory_bytes() const { return raw_->memory_bytes; }
  uint32_t threads() const { return raw_->num_threads; }
  bool cancelled() const { return raw_->is_cancelled(raw_->self) != 0; }
  void warn(std::string_view text) const { raw_->warn(raw_->self, detail::as_text(text)); }
  void report(std::string_view name, std::string_view value) const {
    raw_->report(raw_->self, detail::as_text(name), detail::as_text(value));
  }
  void count(std::string_view name, uint64_t n) const { raw_->count(raw_->self, detail::as_text(name), n); }

  fr::waker waker() const { return fr::waker(raw_->waker); }
  // Runs it on the job's threads, later. What it throws ends the job.
  void spawn(std::function<void()> work) const {
    struct spawned_work {
      std::function<void()> run;
      const fr_job* job;
    };
    raw_->spawn(
        raw_->self,
        [](void* argument) {
          const std::unique_ptr<spawned_work> all(static_cast<spawned_work*>(argument));
          try {
            all->run();
          } catch (...) {
            detail::describe_exception([&](uint32_t kind, fr_text message, fr_text hint) {
              all->job->fail(all->job->self, kind, message, hint);
            });
          }
        },
        new spawned_work{std::move(work), raw_});
  }
  // Books memory that the plugin allocates by itself. False: the share is used up.
  bool try_reserve(uint64_t num_bytes) const { return raw_->reserve(raw_->self, num_bytes) == FR_OK; }
  void reserve(uint64_t num_bytes) const {
    if (!try_reserve(num_bytes))
      throw error("it needs " + std::to_string(num_bytes) + " bytes more than its share of the memory, " +
                      std::to_string(memory_bytes()) + " bytes, has room for",
                  "give the job more memory (-m)", FR_RESOURCES);
  }
  void release(uint64_t num_bytes) const { raw_->release(raw_->self, num_bytes); }

  // Of a meeting operator: an input that it reads by itself. Rows are taken from it in steps.
  reader input(size_t i) const {
    if (i >= raw_->num_inputs || raw_->inputs[i].size == 0)
      throw error("input " + std::to_string(i) + " is none that it reads by itself", "only a meeting's streams are",
                  FR_INTERNAL);
    return reader(raw_->inputs[i]);
  }
  stored_rows stored(size_t i) const {
    if (i >= raw_->num_inputs || raw_->stored[i].size == 0)
      throw error("input " + std::to_string(i) + " is not stored", "declare it with stored_input()", FR_INTERNAL);
    return stored_rows(raw_->stored[i]);
  }
  // What the intake of an input has left.
  template <class Left>
  const Left& left(size_t i) const {
    if (i >= raw_->num_inputs || raw_->left[i] == nullptr)
      throw error("input " + std::to_string(i) + " is not taken in", "declare it with taken_in()", FR_INTERNAL);
    return *static_cast<const Left*>(static_cast<const std::shared_ptr<void>*>(raw_->left[i])->get());
  }
  const fr_job& raw() const { return *raw_; }

 private:
  const fr_job* raw_;
};

// Rows first in, first out, on scratch beyond its memory.
class queue {
 public:
  queue(const job& j, const row_type& type, uint64_t memory_bytes)
      : table_(detail::interface_of<fr_queue_interface>(FR_QUEUE_INTERFACE)) {
    const std::vector<fr_column> columns = detail::as_columns(type);
    raw_ = table_.open(&j.raw(), columns.data(), columns.size(), memory_bytes);
    if (raw_ == nullptr) throw noted_failure();
  }
  queue(const queue&) = delete;
  queue& operator=(const queue&) = delete;
  ~queue() { table_.close(raw_); }
  // ready: all of `rows`. blocked: what is left of them comes again.
  outcome push(batch& rows) { return outcome(detail::unless_failed(table_.push(raw_, &rows.raw()))); }
  void end() { table_.end(raw_); }
  fr::reader reader() const { return fr::reader(*table_.reader(raw_)); }

 private:
  const fr_queue_interface& table_;
  fr_queue* raw_ = nullptr;
};

// Rows that are written once and read any number of times.
class vector {
 public:
  vector(const job& j, const row_type& type, uint64_t memory_bytes)
      : table_(detail::interface_of<fr_vector_interface>(FR_VECTOR_INTERFACE)) {
    const std::vector<fr_column> columns = detail::as_columns(type);
    raw_ = table_.open(&j.raw(), columns.data(), columns.size(), memory_bytes);
    if (raw_ == nullptr) throw noted_failure();
  }
  vector(const vector&) = delete;
  vector& operator=(const vector&) = delete;
  ~vector() { table_.close(raw_); }
  outcome push(batch& rows) { return outcome(detail::unless_failed(table_.push(raw_, &rows.raw()))); }
  // done: the rows can be read.
  outcome finish() { return outcome(detail::unless_failed(table_.finish(raw_))); }
  stored_rows rows() const { return stored_rows(*table_.rows(raw_)); }

 private:
  const fr_vector_interface& table_;
  fr_vector* raw_ = nullptr;
};

// A file that appears when the whole job has succeeded, or never.
class output_file {
 public:
  output_file(const job& j, std::string_view path)
      : table_(detail::interface_of<fr_output_file_interface>(FR_OUTPUT_FILE_INTERFACE)),
        raw_(table_.open(&j.raw(), detail::as_text(path))) {
    if (raw_ == nullptr) throw noted_failure();
  }
  output_file(const output_file&) = delete;
  output_file& operator=(const output_file&) = delete;
  ~output_file() { table_.close(raw_); }
  // Takes bytes from the front of `data`. ready: all. blocked: the rest comes again.
  outcome write(std::string_view& data) {
    size_t taken = 0;
    const outcome o(detail::unless_failed(table_.write(raw_, data.data(), data.size(), &taken)));
    data.remove_prefix(taken);
    return o;
  }
  // done: all is written.
  outcome finish() { return outcome(detail::unless_failed(table_.finish(raw_))); }

 private:
  const fr_output_file_interface& table_;
  fr_output_file* raw_;
};

// Wakes a node once: when a descriptor is ready, or after a time.
inline const fr_wake_interface& wakes() { return detail::interface_of<fr_wake_interface>(FR_WAKE_INTERFACE); }

}  // namespace fr
