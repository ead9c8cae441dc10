// Asynchrony from a handful of plain threads that call pread and pwrite: works everywhere, io_uring or not.
//
// Requests are taken first in, first out. A thread costs a stack and a wake-up per transfer (some ten microseconds),
// which is little beside the transfer of a block.
#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <vector>

#include "engine/base/error.h"
#include "engine/io/backends.h"
#include "engine/io/file.h"
#include "engine/io/io_thread.h"
#include "engine/io/request_queue.h"

namespace flowrun::io {

namespace {

constexpr unsigned max_threads = 8;

class thread_backend final : public backend {
 public:
  explicit thread_backend(unsigned queue_depth) {
    const unsigned num_threads = std::clamp(queue_depth, 1U, max_threads);
    threads_.reserve(num_threads);
    try {
      while (threads_.size() < num_threads) threads_.push_back(start_io_thread("flowrun-io", [this] { run(); }));
    } catch (const std::system_error& failure) {
      if (threads_.empty())
        throw error(error_kind::resources, std::string("can't start an I/O thread: ") + failure.what(),
                    "raise the limit of processes (ulimit -u) or of this container");
      // Fewer threads are slower, not wrong.
    }
  }

  ~thread_backend() override {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    for (std::thread& t : threads_) t.join();
  }

  using backend::submit;
  void submit(std::span<request* const> requests) noexcept override {
    size_t num_queued = 0;
    for (request* r : requests) {
      r->start();
      if (r->target->is_memory()) {
        perform(*r);
        continue;
      }
      std::lock_guard lock(mutex_);
      queue_.push(*r);
      ++num_queued;
    }
    if (num_queued == 1)
      changed_.notify_one();
    else if (num_queued > 1)
      changed_.notify_all();
  }

  std::string_view name() const override { return "threads"; }

 private:
  void run() noexcept {
    for (;;) {
      request* taken = nullptr;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
        taken = queue_.pop();
      }
      if (taken == nullptr) return;  // stopping, and nothing left
      perform(*taken);
    }
  }

  std::mutex mutex_;  // guards queue_ and stopping_
  std::condition_variable changed_;
  request_queue queue_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace

std::unique_ptr<backend> make_thread_backend(unsigned queue_depth) {
  return std::make_unique<thread_backend>(queue_depth);
}

}  // namespace flowrun::io
