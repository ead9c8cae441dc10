#include "engine/io/stream_chunks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <exception>
#include <thread>
#include <utility>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/base/mutex.h"
#include "engine/io/io_thread.h"
#include "engine/io/statistics.h"
#include "engine/io/transfer_pool.h"

namespace flowrun::io {

class stream_chunks::core final : public transfer_pool {
 public:
  core(backend& io, std::unique_ptr<byte_stream> from, const std::string& path, const stream_options& options,
       disk_statistics* statistics)
      : transfer_pool(io, options.num_buffers, options.chunk_bytes),
        path_(path),
        options_(options),
        statistics_(statistics),
        stream_(std::move(from)) {}

  void start() {
    thread_ = start_io_thread("flowrun-read", [this] { read(); });
  }

  void stop() {
    {
      mutex_lock lock(mutex_);
      stopped_ = true;
      unblock();
      stream_->stop();
      room_.notify_all();
    }
    thread_.join();
    stream_.reset();  // before what it uses; buffers that are lent live on
    {
      mutex_lock lock(mutex_);
      for (const chunk& one : ready_) drop(*one.buffer);
      ready_.clear();
    }
    close();
  }

  outcome next(stream_piece& out, waker* w) {
    chunk first;
    {
      mutex_lock lock(mutex_);
      unblock();
      if (ready_.empty()) {
        if (failure_) std::rethrow_exception(failure_);
        if (ended_) return outcome::done();
        block(w);
        return outcome::blocked();
      }
      first = ready_.front();
      ready_.pop_front();
      room_.notify_all();
    }
    out = {lend(*first.buffer), first.buffer->memory, first.num_bytes, first.buffer->position, first.num_taken};
    return outcome::ready();
  }

 private:
  struct chunk {
    slot* buffer = nullptr;
    size_t num_bytes = 0;
    uint64_t num_taken = 0;
  };

  void choose(batch&, bool) override FLOWRUN_REQUIRES(mutex_) {}  // the thread reads
  bool arrived(slot&) noexcept override FLOWRUN_REQUIRES(mutex_) { return false; }
  bool came_back() noexcept override FLOWRUN_REQUIRES(mutex_) {
    room_.notify_all();
    return false;
  }

  bool may_read() const FLOWRUN_REQUIRES(mutex_) { return ready_.size() < options_.depth && num_free() > 0; }

  // The body of the thread.
  // Not analysed: what was thrown may have been thrown with the lock open.
  void read() noexcept FLOWRUN_NO_THREAD_SAFETY_ANALYSIS {
    mutex_lock lock(mutex_);
    try {
      for (uint64_t position = 0; position < options_.end;) {
        room_.wait(lock, [&]() FLOWRUN_REQUIRES(mutex_) { return stopped_ || may_read(); });
        if (stopped_) break;
        slot& one = *take_free();
        lock.unlock();
        const bool skipping = position < options_.begin;
        const uint64_t grid = position - position % options_.chunk_bytes + options_.chunk_bytes;
        const uint64_t upto = std::min(skipping ? options_.begin : options_.end, grid);
        const auto wanted = static_cast<size_t>(upto - position);
        const int64_t got = read_into(one.memory, wanted);
        const uint64_t taken = stream_->num_taken();
        lock.lock();
        if (got <= 0 || skipping) {
          drop(one);
        } else {
          one.now = state::held;
          one.position = position;
          ready_.push_back({&one, static_cast<size_t>(got), taken});
          wake();
        }
        if (got < 0 && got != -ECANCELED)
          throw error(error_kind::io, fmt::format("can't read {} at offset {}: {}", path_, position,
                                                  errno_text(static_cast<int>(-got))));
        if (got < static_cast<int64_t>(wanted)) break;
        position = upto;
      }
    } catch (...) {
      if (!lock.owns_lock()) lock.lock();
      failure_ = std::current_exception();
    }
    ended_ = true;
    wake();
  }

  int64_t read_into(std::byte* to, size_t wanted) {
    const uint64_t started = now_ns();
    if (statistics_ != nullptr) statistics_->begin(direction::read, started);
    const int64_t got = stream_->read(to, wanted);
    if (statistics_ != nullptr) statistics_->end(direction::read, started, now_ns(), got);
    return got;
  }

  const std::string path_;
  const stream_options options_;
  disk_statistics* const statistics_;
  std::unique_ptr<byte_stream> stream_;
  std::thread thread_;

  condition room_;  // to read, or stopped
  std::deque<chunk> ready_ FLOWRUN_GUARDED_BY(mutex_);
  bool stopped_ FLOWRUN_GUARDED_BY(mutex_) = false;
  bool ended_ = false;
  std::exception_ptr failure_;  // due after the pieces before it
};

stream_chunks::stream_chunks(backend& io, std::unique_ptr<byte_stream> from, const std::string& path,
                             const stream_options& options, disk_statistics* statistics)
    : core_(std::make_shared<core>(io, std::move(from), path, options, statistics)) {
  core_->start();
}
stream_chunks::~stream_chunks() { core_->stop(); }

outcome stream_chunks::next(stream_piece& out, waker* w) {
  out = {};
  return core_->next(out, w);
}

}  // namespace flowrun::io
