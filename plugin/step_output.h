// One call of a step: behind fr_out, and what flowrun throws meanwhile.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plugin/crash_line.h"
#include "plugin/problem.h"
#include "plugin/running_node.h"

namespace flowrun::plugins {

// As a plugin sees it.
fr_batch as_batch(const record::batch& b);

class step_output {
 public:
  // `in`: what is handed to the step; null: nothing. `w`: of a step that may block; null: it may not.
  step_output(running_node& node, exec::output& out, const record::batch* in, waker* w)
      : node_(node), out_(out), in_(in), waker_(w) {}
  step_output(const step_output&) = delete;
  step_output& operator=(const step_output&) = delete;

  // Calls the plugin: a function of (const fr_out*) that gives FR_.... Throws what came of it.
  template <class Call>
  int run(Call call) {
    const fr_out table = begin();
    return end(called(call, table));
  }

  // What the engine hands out blocks with it.
  waker& blocked_with() const { return *waker_; }
  fr_problem& problem() { return problem_; }
  // As a batch of this type that lives as long as it is wanted. Throws error(internal) where it is none.
  record::batch owned(const fr_batch& b, const record::row_type& type) const;
  // The same for rows that are kept for long, wherever they lie: copied, unless they are all of a batch.
  record::batch kept(const fr_batch& b, const record::row_type& type) const;

 private:
  struct piece {
    std::shared_ptr<std::byte[]> data;
    size_t num_bytes;
  };
  fr_out begin();
  int end(int done);
  template <class Call>
  int called(const Call& call, const fr_out& table) const {
    const inside plugin(node_.who);
    return call(&table);
  }
  void* take(size_t num_bytes);
  int emit(uint32_t port, const fr_batch& b);
  void give(record::batch b, unsigned port);
  void give_gathered();
  uint64_t room() const;
  std::shared_ptr<const void> owner_of(const void* from, size_t num_bytes) const;
  bool is_whole_batch(const fr_batch& b) const;
  void check_shape(const fr_batch& b, const record::row_type& type) const;
  void check_values(const fr_batch& b, const record::row_type& type) const;

  running_node& node_;
  exec::output& out_;
  const record::batch* in_;
  waker* waker_;
  fr_problem problem_;
  std::vector<piece> pieces_;
  uint64_t taken_ = 0;
  // Rows that an output was given a few at a time, and that become one batch: a batch takes far more than a short row.
  struct few_rows {
    record::batch rows;                   // none: nothing was given
    std::shared_ptr<std::byte[]> memory;  // where they lie; null: where they were given
    size_t capacity = 0;
    // Strings stay where they are: `more` has the same heap.
    void append(const record::batch& more, record::batch_pool& pool);
  };
  std::vector<few_rows> few_;                        // for each output, once one was given some
  uint64_t few_bytes_ = 0;                           // of all
  std::optional<std::pair<size_t, uint64_t>> left_;  // what leave() said
};

}  // namespace flowrun::plugins
