// The backend without asynchrony: each transfer is over when submit() returns. For files in memory, and for tests that
// want everything to happen in one order.
#include "engine/io/backends.h"
#include "engine/io/file.h"

namespace flowrun::io {

void perform(request& r) noexcept {
  r.complete(r.way == direction::read ? r.target->read_at(r.offset, r.data, r.num_bytes)
                                      : r.target->write_at(r.offset, r.data, r.num_bytes));
}

namespace {

class memory_backend final : public backend {
 public:
  using backend::submit;
  void submit(std::span<request* const> requests) noexcept override {
    for (request* r : requests) {
      r->start();
      perform(*r);
    }
  }
  std::string_view name() const override { return "memory"; }
};

}  // namespace

std::unique_ptr<backend> make_memory_backend() { return std::make_unique<memory_backend>(); }

}  // namespace flowrun::io
