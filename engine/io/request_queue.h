// First in, first out, linked through the requests themselves: queueing allocates nothing. Not thread-safe.
#pragma once

#include "engine/io/request.h"

namespace flowrun::io {

class request_queue {
 public:
  bool empty() const { return first_ == nullptr; }
  void push(request& added) {
    added.next = nullptr;
    (first_ == nullptr ? first_ : last_->next) = &added;
    last_ = &added;
  }
  // Moves all of `other` to the end.
  void append(request_queue& other) {
    if (other.empty()) return;
    (first_ == nullptr ? first_ : last_->next) = other.first_;
    last_ = other.last_;
    other.first_ = nullptr;
  }
  // Null when empty.
  request* pop() {
    request* const taken = first_;
    if (taken != nullptr) first_ = taken->next;
    return taken;
  }

 private:
  request* first_ = nullptr;
  request* last_ = nullptr;
};

}  // namespace flowrun::io
