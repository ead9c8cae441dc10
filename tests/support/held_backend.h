// A backend whose transfers end when the test says so, first come first served.
#pragma once

#include <deque>
#include <span>
#include <string_view>
#include <vector>

#include "engine/io/file.h"
#include "engine/io/request.h"

namespace flowrun {

class held_backend final : public io::backend {
 public:
  using backend::submit;
  bool hold = true;               // false: transfers end at once
  std::vector<size_t> batches;    // number of requests of each submit()
  std::vector<uint64_t> offsets;  // of all requests so far

  void submit(std::span<io::request* const> requests) noexcept override {
    batches.push_back(requests.size());
    for (io::request* request : requests) {
      request->start(time().now());
      offsets.push_back(request->offset);
      waiting_.push_back(request);
    }
    if (!hold) finish(waiting_.size());
  }
  std::string_view name() const override { return "held"; }

  size_t num_waiting() const { return waiting_.size(); }
  void finish(size_t num_requests) {
    for (; num_requests > 0 && !waiting_.empty(); --num_requests) {
      io::request* request = waiting_.front();
      waiting_.pop_front();
      request->complete(request->way == io::direction::read
                            ? request->target->read_at(request->offset, request->data, request->num_bytes)
                            : request->target->write_at(request->offset, request->data, request->num_bytes),
                        time().now());
    }
  }

 private:
  std::deque<io::request*> waiting_;
};

}  // namespace flowrun
