#include "engine/io/output_set_writer.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

#include "engine/base/mutex.h"
#include "engine/base/units.h"
#include "engine/io/io_thread.h"
#include "engine/io/piece_arena.h"

namespace flowrun::io {

namespace {

constexpr size_t most_gathered = 256 * KiB;
constexpr size_t least_gathered = 4 * KiB;

}  // namespace

class output_set_writer::core {
 public:
  core(output_set& to, size_t memory_bytes)
      : to_(to),
        gathered_capacity_(std::clamp<size_t>(memory_bytes / 8, least_gathered, most_gathered)),
        filling_(arena_bytes(memory_bytes)),
        full_(arena_bytes(memory_bytes)) {}

  ~core() {
    {
      mutex_lock lock(mutex_);
      closed_ = true;
      waiting_ = nullptr;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

  outcome write(uint32_t file, std::span<const std::byte> data, size_t& consumed, waker* waiting) {
    consumed = 0;
    throw_failure();
    while (consumed < data.size()) {
      consumed += filling_.add(file, data.subspan(consumed));
      if (consumed < data.size() && !hand_over(waiting)) return outcome::blocked();
    }
    return outcome::ready();
  }

  outcome finish(waker* waiting) {
    throw_failure();
    if (!filling_.empty() && !hand_over(waiting)) return outcome::blocked();
    {
      mutex_lock lock(mutex_);
      if (has_full_) {
        waiting_ = waiting;
        return outcome::blocked();
      }
    }
    throw_failure();
    filling_ = piece_arena(0);  // the commit may be far off
    full_ = piece_arena(0);
    return outcome::done();
  }

 private:
  size_t arena_bytes(size_t memory_bytes) const {
    return (memory_bytes - std::min(memory_bytes, gathered_capacity_)) / 2;
  }

  void throw_failure() {
    mutex_lock lock(mutex_);
    waiting_ = nullptr;
    if (failure_ != nullptr) std::rethrow_exception(failure_);
  }

  // False: the other one is still being written.
  bool hand_over(waker* waiting) {
    {
      mutex_lock lock(mutex_);
      if (failure_ != nullptr) std::rethrow_exception(failure_);
      if (has_full_) {
        waiting_ = waiting;
        return false;
      }
      std::swap(filling_, full_);
      has_full_ = true;
    }
    if (!thread_.joinable()) thread_ = start_io_thread("flowrun-write", [this] { run(); });
    changed_.notify_all();
    filling_.clear();
    return true;
  }

  // The body of the thread.
  void run() noexcept {
    mutex_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&]() FLOWRUN_REQUIRES(mutex_) { return closed_ || has_full_; });
      if (closed_) return;
      lock.unlock();
      std::exception_ptr failure;
      try {
        write_full();
      } catch (...) {
        failure = std::current_exception();
      }
      lock.lock();
      if (failure != nullptr && failure_ == nullptr) failure_ = failure;
      has_full_ = false;
      if (waker* const woken = std::exchange(waiting_, nullptr)) woken->wake();
    }
  }

  bool is_closed() {
    mutex_lock lock(mutex_);
    return closed_;
  }

  // While it is full, nobody else touches it.
  void write_full() {
    full_.sort();
    uint32_t file = 0;
    for (size_t i = 0; i < full_.num_pieces(); ++i) {
      const piece_arena::piece next = full_.at(i);
      if (next.file != file) {
        put_gathered(file);
        if (is_closed()) return;
        file = next.file;
      }
      gather(next);
    }
    put_gathered(file);
  }

  // Small pieces of a file are put together, large ones are written from where they lie.
  void gather(const piece_arena::piece& next) {
    if (num_gathered_ + next.bytes.size() > gathered_capacity_) put_gathered(next.file);
    if (next.bytes.size() >= gathered_capacity_ / 2) {
      put_gathered(next.file);
      return to_.append(next.file, next.bytes.data(), next.bytes.size());
    }
    if (gathered_.empty()) gathered_.resize(gathered_capacity_);
    std::memcpy(gathered_.data() + num_gathered_, next.bytes.data(), next.bytes.size());
    num_gathered_ += next.bytes.size();
  }
  void put_gathered(uint32_t file) {
    if (num_gathered_ > 0) to_.append(file, gathered_.data(), std::exchange(num_gathered_, 0));
  }

  output_set& to_;
  const size_t gathered_capacity_;
  piece_arena filling_;
  std::thread thread_;

  // Of the thread while has_full_, else of the producer.
  piece_arena full_;
  std::vector<std::byte> gathered_;
  size_t num_gathered_ = 0;

  mutex mutex_;
  condition changed_;
  bool has_full_ FLOWRUN_GUARDED_BY(mutex_) = false;
  bool closed_ FLOWRUN_GUARDED_BY(mutex_) = false;
  waker* waiting_ FLOWRUN_GUARDED_BY(mutex_) = nullptr;
  std::exception_ptr failure_ FLOWRUN_GUARDED_BY(mutex_);
};

output_set_writer::output_set_writer(output_set& to, size_t memory_bytes)
    : core_(std::make_unique<core>(to, memory_bytes)) {}
output_set_writer::~output_set_writer() = default;

outcome output_set_writer::write(uint32_t file, std::span<const std::byte> data, size_t& consumed, waker* waiting) {
  return core_->write(file, data, consumed, waiting);
}
outcome output_set_writer::finish(waker* waiting) { return core_->finish(waiting); }

}  // namespace flowrun::io
