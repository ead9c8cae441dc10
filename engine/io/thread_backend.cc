// Asynchrony from plain threads that call pread and pwrite: works everywhere, io_uring or not. And the mmap backend,
// where the same threads copy between memory and mapped pages.
//
// Each disk has threads of its own, up to its depth, so that a slow disk doesn't keep the others waiting; they come
// when there is work for them and stay until the backend goes. A thread costs a stack and a wake-up per transfer (some
// ten microseconds), which is little beside the transfer of a block. No thread is made per request.
#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/mutex.h"
#include "engine/io/backends.h"
#include "engine/io/file.h"
#include "engine/io/io_thread.h"
#include "engine/io/mapped_transfer.h"
#include "engine/io/queueing_backend.h"

namespace flowrun::io {

namespace {

constexpr unsigned max_threads = 8;

class thread_backend final : public queueing_backend {
 public:
  using transfer = int64_t (*)(request&) noexcept;

  thread_backend(unsigned queue_depth, std::string_view name, transfer carry_out)
      : queueing_backend(unbounded),
        max_threads_(std::clamp(queue_depth, 1U, max_threads)),
        name_(name),
        carry_out_(carry_out) {
    // One thread must be had; fewer than wanted are slower, not wrong.
    lane& first = lanes_[nullptr];
    first.threads.reserve(max_threads_);
    first.threads.push_back(start_io_thread("flowrun-io", [this, &first] { run(first); }));
  }

  ~thread_backend() override {
    {
      mutex_lock lock(mutex_);
      stopping_ = true;
      for (auto& [disk, one] : lanes_) one.changed.notify_all();
    }
    for (auto& [disk, one] : lanes_)
      for (std::thread& t : one.threads) t.join();
  }

  std::string_view name() const override { return name_; }

 private:
  // The threads of one disk.
  struct lane {
    request_queue queue;
    unsigned num_queued = 0;
    unsigned num_idle = 0;
    condition changed;
    std::vector<std::thread> threads;
  };

  void issue(request_queue admitted) noexcept override {
    while (request* const r = admitted.pop()) {
      if (r->target->is_memory()) {
        finish(*r, perform(*r), admitted);
        continue;
      }
      mutex_lock lock(mutex_);
      lane& own = lane_of(r->disk);
      own.queue.push(*r);
      ++own.num_queued;
      if (own.num_queued > own.num_idle && own.threads.size() < max_threads_) add_thread(own);
      own.changed.notify_one();
    }
  }

  // A disk that is gone leaves its lane, with threads, to a later disk at the same address. When there is no memory for
  // a lane, the common one serves.
  lane& lane_of(const disk_queue* disk) noexcept FLOWRUN_REQUIRES(mutex_) {
    try {
      lane& own = lanes_[disk];
      if (own.threads.empty()) add_thread(own);
      if (!own.threads.empty()) return own;
    } catch (const std::bad_alloc&) {
    }
    return lanes_.at(nullptr);
  }

  // Without another thread it is slower, not wrong.
  void add_thread(lane& own) noexcept FLOWRUN_REQUIRES(mutex_) {
    try {
      own.threads.reserve(max_threads_);  // before there is a thread that nobody would join
      own.threads.push_back(start_io_thread("flowrun-io", [this, &own] { run(own); }));
    } catch (const std::exception&) {
    }
  }

  void run(lane& own) noexcept {
    for (;;) {
      request* taken = nullptr;
      {
        mutex_lock lock(mutex_);
        ++own.num_idle;
        own.changed.wait(lock, [&]() FLOWRUN_REQUIRES(mutex_) { return stopping_ || !own.queue.empty(); });
        --own.num_idle;
        taken = own.queue.pop();
        if (taken == nullptr) return;  // stopping, and nothing left
        --own.num_queued;
      }
      finish(*taken, carry_out_(*taken));
    }
  }

  const unsigned max_threads_;  // of a lane
  const std::string_view name_;
  const transfer carry_out_;
  mutex mutex_;  // guards what is in the lanes, too
  std::map<const disk_queue*, lane> lanes_ FLOWRUN_GUARDED_BY(mutex_);
  bool stopping_ FLOWRUN_GUARDED_BY(mutex_) = false;
};

}  // namespace

std::unique_ptr<backend> make_thread_backend(unsigned queue_depth) {
  return std::make_unique<thread_backend>(queue_depth, "threads", perform);
}

std::unique_ptr<backend> make_mmap_backend(unsigned queue_depth) {
  return std::make_unique<thread_backend>(queue_depth, "mmap", transfer_mapped);
}

}  // namespace flowrun::io
