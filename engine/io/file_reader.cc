#include "engine/io/file_reader.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "engine/base/buffer.h"
#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/io/descriptor_stream.h"
#include "engine/io/file.h"
#include "engine/io/io_thread.h"
#include "engine/io/page_cache.h"
#include "engine/io/statistics.h"

namespace flowrun::io {

namespace {

constexpr unsigned max_depth = 64;
constexpr uint64_t small_bytes = 1 * MiB;  // not worth a look into the page cache

std::unique_ptr<file> open_regular(const std::string& path, caching cache, uint64_t begin, uint64_t end) {
  if (cache == caching::direct) return file::open(path, open_mode::read, {.direct = true});
  auto buffered = file::open(path, open_mode::read);
  end = std::min(end, buffered->num_bytes());
  if (cache == caching::buffered || begin >= end || end - begin < small_bytes) return buffered;
  if (cached_share(buffered->descriptor(), begin, end) >= 0.5) return buffered;
  return file::open(path, open_mode::read, {.direct = true});
}

// Has positions and a length that can be trusted. Files in /proc are regular with length 0: they are read as streams.
bool is_positional(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return !names_descriptor(path);  // opening tells why
  return S_ISDIR(info.st_mode) || (S_ISREG(info.st_mode) && info.st_size > 0);
}

}  // namespace

// Slots go round: free -> in `started_` (in file order; being read, or ready) -> held by the consumer -> free.
class file_reader::core : public std::enable_shared_from_this<file_reader::core> {
 public:
  core(backend& io, const std::string& path, file_reader_options options, uint64_t begin, uint64_t end,
       disk_statistics* statistics)
      : io_(io),
        path_(path),
        chunk_bytes_(std::max<size_t>(options.chunk_bytes, 1)),
        depth_(std::clamp(options.depth, 1U, max_depth)),
        // An odd chunk in direct mode needs part of a page on either side.
        buffer_bytes_(round_up(chunk_bytes_, io_alignment) + (chunk_bytes_ % io_alignment == 0 ? 0 : io_alignment)),
        max_slots_(depth_ + std::max(options.max_held, 1U)),
        statistics_(statistics),
        begin_(begin),
        position_(begin),
        end_(end) {
    if (is_positional(path)) {
      file_ = open_regular(path, options.cache, begin, end);
      length_ = file_->num_bytes();
      end_ = std::min(end, length_);
      position_ = std::min(begin, end_);
      begin_ = position_;
      if (begin_ < end_)
        max_slots_ = std::min<uint64_t>(max_slots_, (end_ - 1) / chunk_bytes_ - begin_ / chunk_bytes_ + 1);
    } else {
      stream_ = descriptor_stream::open(path, direction::read);
    }
    free_.reserve(max_slots_);
    slots_.reserve(max_slots_);
  }

  void start() {
    if (stream_ != nullptr) thread_ = start_io_thread("flowrun-read", [this] { read_stream(); });
  }

  void close() {
    {
      std::unique_lock lock(mutex_);
      closed_ = true;
      waiting_ = nullptr;
      if (stream_ != nullptr) stream_->stop();
      changed_.notify_all();
      changed_.wait(lock, [&] { return num_in_flight_ == 0; });
    }
    if (thread_.joinable()) thread_.join();
    std::lock_guard lock(mutex_);
    if (free_.size() + started_.size() == slots_.size()) arena_ = {};
    for (slot* s : free_) give_back(*s);
    for (slot* s : started_) give_back(*s);
    file_.reset();
  }

  outcome next(chunk& out, waker* waiting) {
    std::unique_lock lock(mutex_);
    waiting_ = nullptr;
    if (failure_ != nullptr) std::rethrow_exception(failure_);
    if (file_ != nullptr) start_reads(lock);
    if (started_.empty() && ended_ && stream_failure_ != nullptr) std::rethrow_exception(failure_ = stream_failure_);
    if (started_.empty() && (file_ != nullptr ? position_ >= end_ : ended_)) return outcome::done();
    if (started_.empty() || !started_.front()->finished) {
      waiting_ = waiting;
      return outcome::blocked();
    }
    slot& first = *started_.front();
    started_.pop_front();
    if (file_ != nullptr) {
      try {
        check(first);
      } catch (...) {
        free_.push_back(&first);
        failure_ = std::current_exception();
        throw;
      }
    }
    if (stream_ != nullptr) changed_.notify_all();
    lock.unlock();  // the deleter locks if the next line fails
    out.owner =
        std::shared_ptr<const void>(&first, [self = shared_from_this(), &first](const void*) { self->release(first); });
    out.data = buffer_of(first) + first.skip;
    out.num_bytes = first.num_bytes;
    out.offset = first.offset;
    return outcome::ready();
  }

  const std::string& path() const { return path_; }
  std::optional<uint64_t> num_bytes() const {
    return stream_ != nullptr ? std::nullopt : std::optional<uint64_t>(end_ - begin_);
  }
  bool is_direct() const { return file_ != nullptr && file_->is_direct(); }
  bool is_stream() const { return stream_ != nullptr; }

 private:
  struct slot final : waker {
    slot(core& o, size_t i) : owner(o), number(i) {}
    void wake() noexcept override { owner.finish(*this); }

    core& owner;
    const size_t number;  // of its buffer in the arena
    request transfer;
    uint64_t offset = 0;   // of the chunk in the file
    size_t skip = 0;       // bytes of the buffer before the chunk
    size_t num_bytes = 0;  // of the chunk
    bool finished = false;
  };

  std::byte* buffer_of(const slot& s) { return arena_.data() + s.number * buffer_bytes_; }
  void give_back(const slot& s) noexcept {
    if (arena_) arena_.discard(s.number * buffer_bytes_, buffer_bytes_);
  }

  // Null when all are in use. The caller holds the lock.
  slot* take_free() {
    if (!arena_) arena_ = aligned_buffer(max_slots_ * buffer_bytes_);
    if (free_.empty() && slots_.size() < max_slots_) {
      slots_.push_back(std::make_unique<slot>(*this, slots_.size()));
      free_.push_back(slots_.back().get());
    }
    if (free_.empty()) return nullptr;
    slot* const taken = free_.back();
    free_.pop_back();
    taken->finished = false;
    return taken;
  }

  uint64_t chunk_end(uint64_t position) const {
    const uint64_t left = chunk_bytes_ - position % chunk_bytes_;
    return end_ - position < left ? end_ : position + left;
  }

  // Starts as many reads as may be. The lock is open while the backend takes them, since it may finish them at once.
  void start_reads(std::unique_lock<std::mutex>& lock) {
    std::array<request*, max_depth> requests{};
    size_t num_requests = 0;
    while (position_ < end_ && started_.size() < depth_) {
      slot* taken = nullptr;
      try {
        taken = take_free();
      } catch (...) {
        if (started_.empty()) throw;  // else go on with the buffers that we have
      }
      if (taken == nullptr) break;
      const uint64_t upto = chunk_end(position_);
      const bool direct = file_->is_direct();
      const uint64_t first = direct ? position_ / io_alignment * io_alignment : position_;
      const uint64_t last = direct ? round_up(upto, io_alignment) : upto;
      taken->offset = position_;
      taken->skip = static_cast<size_t>(position_ - first);
      taken->num_bytes = static_cast<size_t>(upto - position_);
      request& r = taken->transfer;
      r.target = file_.get();
      r.way = direction::read;
      r.offset = first;
      r.data = buffer_of(*taken);
      r.num_bytes = static_cast<size_t>(last - first);
      r.statistics = statistics_;
      r.on_done = taken;
      started_.push_back(taken);
      ++num_in_flight_;
      requests[num_requests++] = &r;
      position_ = upto;
    }
    if (num_requests == 0) return;
    lock.unlock();
    io_.submit(std::span<request* const>(requests.data(), num_requests));
    lock.lock();
  }

  // From the backend.
  void finish(slot& s) noexcept {
    std::lock_guard lock(mutex_);
    s.finished = true;
    --num_in_flight_;
    if (!started_.empty() && started_.front() == &s) wake_waiting();
    if (num_in_flight_ == 0) changed_.notify_all();
  }

  void check(slot& s) {
    const size_t moved = s.transfer.take_result();
    if (moved >= s.skip + s.num_bytes) return;
    throw error(error_kind::bad_data,
                fmt::format("{} became shorter while it was being read: it had {} bytes and ended at {}", path_,
                            length_, s.offset + (moved > s.skip ? moved - s.skip : 0)),
                "let nothing write to the file during the job, and run it again");
  }

  // From any thread: the consumer has let go of the chunk.
  void release(slot& s) noexcept {
    std::lock_guard lock(mutex_);
    if (closed_) return give_back(s);
    free_.push_back(&s);  // has room for all
    if (started_.empty()) wake_waiting();
    if (stream_ != nullptr) changed_.notify_all();
  }

  // Under the lock: close() must not return, and the waker not die, before it is woken.
  void wake_waiting() noexcept {
    if (waker* const woken = std::exchange(waiting_, nullptr)) woken->wake();
  }

  // The body of the stream's thread.
  void read_stream() noexcept {
    std::unique_lock lock(mutex_);
    try {
      uint64_t position = 0;
      while (!closed_ && position < end_) {
        slot* taken = nullptr;
        changed_.wait(lock, [&] { return closed_ || (started_.size() < depth_ && (taken = take_free()) != nullptr); });
        if (taken == nullptr) break;
        ++num_in_flight_;
        lock.unlock();
        const bool skipping = position < begin_;
        const uint64_t upto = skipping ? std::min(begin_, chunk_end(position)) : chunk_end(position);
        const auto wanted = static_cast<size_t>(upto - position);
        const uint64_t started = now_ns();
        if (statistics_ != nullptr) statistics_->begin(direction::read, started);
        const int64_t got = stream_->read(buffer_of(*taken), wanted);
        if (statistics_ != nullptr) statistics_->end(direction::read, started, now_ns(), got);
        lock.lock();
        --num_in_flight_;
        if (got <= 0 || skipping) {
          free_.push_back(taken);
        } else {
          taken->offset = position;
          taken->skip = 0;
          taken->num_bytes = static_cast<size_t>(got);
          taken->finished = true;
          started_.push_back(taken);
          wake_waiting();
        }
        if (got < 0 && got != -ECANCELED)
          throw error(error_kind::io, fmt::format("can't read {} at offset {}: {}", path_, position,
                                                  errno_text(static_cast<int>(-got))));
        if (got < static_cast<int64_t>(wanted)) break;
        position = upto;
      }
    } catch (...) {
      if (!lock.owns_lock()) lock.lock();
      stream_failure_ = std::current_exception();
    }
    ended_ = true;
    wake_waiting();
    changed_.notify_all();
  }

  backend& io_;
  const std::string path_;
  const size_t chunk_bytes_;
  const unsigned depth_;
  const size_t buffer_bytes_;
  size_t max_slots_;  // no more than there are chunks
  disk_statistics* const statistics_;
  uint64_t length_ = 0;  // of the file when it was opened

  std::mutex mutex_;                 // guards everything below, and the slots outside a transfer
  std::condition_variable changed_;  // num_in_flight_ fell to 0; for the stream's thread: room, or closed
  std::unique_ptr<file> file_;
  std::unique_ptr<descriptor_stream> stream_;
  uint64_t begin_;
  uint64_t position_;  // where the next read starts
  uint64_t end_;
  aligned_buffer arena_;  // of all slots: huge pages make direct reads of 1 MiB twice as fast, or more
  std::vector<std::unique_ptr<slot>> slots_;
  std::vector<slot*> free_;
  std::deque<slot*> started_;
  size_t num_in_flight_ = 0;
  waker* waiting_ = nullptr;
  bool closed_ = false;
  bool ended_ = false;                 // the stream
  std::exception_ptr stream_failure_;  // due after the chunks before it
  std::exception_ptr failure_;         // thrown from now on
  std::thread thread_;
};

file_reader::file_reader(backend& io, const std::string& path, file_reader_options options, uint64_t begin,
                         uint64_t end, disk_statistics* statistics)
    : core_(std::make_shared<core>(io, path, options, begin, end, statistics)) {
  core_->start();
}

file_reader::~file_reader() { core_->close(); }

outcome file_reader::next(chunk& out, waker* waiting) { return core_->next(out, waiting); }
const std::string& file_reader::path() const { return core_->path(); }
std::optional<uint64_t> file_reader::num_bytes() const { return core_->num_bytes(); }
bool file_reader::is_direct() const { return core_->is_direct(); }
bool file_reader::is_stream() const { return core_->is_stream(); }

}  // namespace flowrun::io
