// The backend without asynchrony: each transfer is over when submit() returns. For files in memory, and for tests that
// want everything to happen in one order.
#include "engine/io/backends.h"
#include "engine/io/file.h"
#include "engine/io/queueing_backend.h"

namespace flowrun::io {

int64_t perform(request& r) noexcept {
  return r.way == direction::read ? r.target->read_at(r.offset, r.data, r.num_bytes)
                                  : r.target->write_at(r.offset, r.data, r.num_bytes);
}

namespace {

class memory_backend final : public queueing_backend {
 public:
  memory_backend() : queueing_backend(unbounded) {}
  std::string_view name() const override { return "memory"; }

 private:
  void issue(request_queue admitted) noexcept override {
    while (request* const r = admitted.pop()) finish(*r, perform(*r), admitted);
  }
};

}  // namespace

std::unique_ptr<backend> make_memory_backend() { return std::make_unique<memory_backend>(); }

}  // namespace flowrun::io
