#include "engine/io/output_file.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

#include "engine/base/broken_pipe.h"
#include "engine/base/buffer.h"
#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/base/machine.h"
#include "engine/base/mutex.h"
#include "engine/io/descriptor_stream.h"
#include "engine/io/followed_path.h"
#include "engine/io/io_thread.h"
#include "engine/io/output_target.h"
#include "engine/io/request_queue.h"
#include "engine/io/statistics.h"

namespace flowrun::io {

namespace {

// A limit on file sizes answers a reservation with a signal, and RAM disks would spend memory on it.
bool may_reserve(const std::string& path) {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY && !on_ram_disk(path);
}

}  // namespace

// Slots go round: free -> filling_ -> in flight -> free.
class output_file::core {
 public:
  core(backend& io, const std::string& path, output_file_options options, disk_statistics* statistics)
      : io_(io),
        path_(path),
        chunk_bytes_(round_up(std::max<size_t>(options.chunk_bytes, 1), io_alignment)),
        durable_(options.durable),
        reserve_bytes_(options.reserve_bytes),
        most_beginning_(round_up(options.rewritten_bytes, io_alignment)),
        hash_(options.hashed && options.kept_path.empty() ? XXH3_createState() : nullptr),
        statistics_(statistics) {
    if (hash_ != nullptr) XXH3_64bits_reset(hash_.get());
    const std::string followed = followed_output(path);
    const bool is_stream = output_target::is_stream(followed);
    const unsigned depth = std::max(options.depth, 2U);
    for (unsigned i = 0; i < depth; ++i) {
      slots_.push_back(std::make_unique<slot>(*this, i));
      free_.push_back(slots_.back().get());
    }
    if (is_stream) {
      stream_ = descriptor_stream::open(followed, direction::write);
      thread_ = start_io_thread("flowrun-write", [this] { write_stream(); });
    } else {
      target_ = std::make_unique<output_target>(followed, options.direct, options.kept_path);
      if (!options.kept_path.empty()) go_on(options.kept_bytes);
      // The unnamed file has no path of its own to ask by.
      if (reserve_bytes_ > 0 && !may_reserve(fmt::format("/proc/self/fd/{}", target_->content().descriptor())))
        reserve_bytes_ = 0;
    }
  }

  ~core() {
    mutex_lock lock(mutex_);
    closed_ = true;
    waiting_ = nullptr;
    if (stream_ != nullptr) stream_->stop();
    changed_.notify_all();
    changed_.wait(lock, [&]() FLOWRUN_REQUIRES(mutex_) { return num_in_flight_ == 0; });
    lock.unlock();
    if (thread_.joinable()) thread_.join();
  }

  outcome write(std::span<const std::byte> data, size_t& consumed, waker* waiting) {
    consumed = 0;
    FLOWRUN_CHECK(!finishing_);
    throw_failure();
    while (consumed < data.size()) {
      if (filling_ == nullptr) {
        filling_ = take_free(waiting);
        if (filling_ == nullptr) return outcome::blocked();
        filled_ = 0;
      }
      const size_t piece = std::min(data.size() - consumed, chunk_bytes_ - filled_);
      std::memcpy(buffer_of(*filling_) + filled_, data.data() + consumed, piece);
      note_beginning(data.subspan(consumed, piece));
      if (hash_ != nullptr) XXH3_64bits_update(hash_.get(), data.data() + consumed, piece);
      filled_ += piece;
      consumed += piece;
      num_bytes_ += piece;
      if (filled_ < chunk_bytes_) continue;
      reserve_ahead();
      hand_over();
    }
    return outcome::ready();
  }

  void rewrite_beginning(std::span<const std::byte> bytes) {
    FLOWRUN_CHECK(target_ != nullptr && !finishing_ && bytes.size() <= beginning_.size());
    std::copy(bytes.begin(), bytes.end(), beginning_.begin());
    rewrites_ = true;
  }

  outcome finish(waker* waiting) {
    throw_failure();
    if (!std::exchange(finishing_, true)) {
      // A reader of a FIFO waits for its end, also where there are no bytes.
      if (stream_ != nullptr && num_bytes_ == 0 && !stream_->is_open()) filling_ = take_free(nullptr);
      if (filling_ != nullptr && (filled_ > 0 || num_bytes_ == 0)) hand_over();
    }
    if (rewritten_ == 0)  // the writes before may be of the same pages
      if (const outcome o = all_written(waiting); o.is_blocked()) return o;
    while (rewrites_ && rewritten_ < beginning_.size()) {
      filling_ = take_free(waiting);
      if (filling_ == nullptr) return outcome::blocked();
      filled_ = std::min(chunk_bytes_, beginning_.size() - rewritten_);
      std::memcpy(buffer_of(*filling_), beginning_.data() + rewritten_, filled_);
      offset_ = rewritten_;
      rewritten_ += filled_;
      hand_over();
    }
    if (const outcome o = all_written(waiting); o.is_blocked()) return o;
    throw_failure();
    if (target_ != nullptr && !finished_ && length_ != num_bytes_) target_->content().truncate(num_bytes_);
    arena_ = {};  // the commit may be far off
    finished_ = true;
    return outcome::done();
  }

  void commit() {
    FLOWRUN_CHECK(finished_);
    if (target_ != nullptr) target_->commit(durable_);
  }

  output_target& target() {
    FLOWRUN_CHECK(finished_ && target_ != nullptr);
    return *target_;
  }
  bool is_durable() const { return durable_; }
  std::optional<uint64_t> content_hash() const {
    if (hash_ == nullptr || rewrites_) return std::nullopt;
    return XXH3_64bits_digest(hash_.get());
  }

  std::string keep(const std::string& suffix) { return target_->keep(suffix); }
  std::string clear_kept(const std::string& suffix) const { return target_->clear_kept(suffix); }
  std::shared_ptr<file> content() const {
    const int descriptor = fcntl(target_->content().descriptor(), F_DUPFD_CLOEXEC, 0);
    if (descriptor < 0)
      throw error(error_kind::output, fmt::format("can't write {}: {}", path_, errno_text(errno)),
                  "raise the limit of open files (ulimit -n)");
    return file::adopt(descriptor, path_, target_->content().is_direct());
  }
  uint64_t num_bytes_written() {
    mutex_lock lock(mutex_);
    uint64_t out = offset_;
    for (const auto& s : slots_)
      if (s->is_in_flight) out = std::min(out, s->transfer.offset);
    return out;
  }

  const std::string& path() const { return path_; }
  uint64_t num_bytes() const { return num_bytes_; }
  bool is_direct() const { return target_ != nullptr && target_->content().is_direct(); }
  bool is_stream() const { return stream_ != nullptr; }

 private:
  struct slot final : waker {
    slot(core& o, size_t i) : owner(o), number(i) {}
    void wake() noexcept override { owner.written(*this); }

    core& owner;
    const size_t number;        // of its buffer in the arena
    bool is_in_flight = false;  // guarded by mutex_
    request transfer;           // a stream uses data, num_bytes and the link only
  };

  std::byte* buffer_of(const slot& s) { return arena_.data() + s.number * chunk_bytes_; }

  void throw_failure() {
    mutex_lock lock(mutex_);
    waiting_ = nullptr;
    if (failure_ != nullptr) std::rethrow_exception(failure_);
  }

  outcome all_written(waker* waiting) {
    mutex_lock lock(mutex_);
    if (num_in_flight_ == 0) return outcome::ready();
    waiting_ = waiting;
    return outcome::blocked();
  }

  // The pages that are to be written again are kept as they are.
  void note_beginning(std::span<const std::byte> bytes) {
    if (num_bytes_ >= most_beginning_) return;
    const auto kept = bytes.first(std::min<uint64_t>(bytes.size(), most_beginning_ - num_bytes_));
    beginning_.insert(beginning_.end(), kept.begin(), kept.end());
  }

  slot* take_free(waker* waiting) {
    mutex_lock lock(mutex_);
    if (free_.empty()) {
      waiting_ = waiting;
      return nullptr;
    }
    slot* const taken = free_.back();
    if (!arena_) arena_ = aligned_buffer(slots_.size() * chunk_bytes_);
    free_.pop_back();
    return taken;
  }

  // Behind the first bytes of the file. The last page of them, which may be part of the next write, is read again, and
  // so are those that are to be written again.
  void go_on(uint64_t num_bytes) {
    if (most_beginning_ > 0) {
      aligned_buffer pages(most_beginning_);
      const size_t there = std::min<uint64_t>(most_beginning_, num_bytes);
      read_kept(0, pages.data(), most_beginning_, there);
      note_beginning({pages.data(), there});
    }
    num_bytes_ = num_bytes;
    length_ = target_->content().num_bytes();
    filled_ = num_bytes % io_alignment;
    offset_ = num_bytes - filled_;
    if (filled_ == 0) return;
    filling_ = take_free(nullptr);
    read_kept(offset_, buffer_of(*filling_), io_alignment, filled_);
  }

  void read_kept(uint64_t offset, std::byte* data, size_t num_bytes, size_t least_bytes) {
    const int64_t result = target_->content().read_at(offset, data, num_bytes);
    if (result < static_cast<int64_t>(least_bytes))
      throw error(error_kind::io,
                  fmt::format("can't read what is there of {}: {}", path_,
                              result < 0 ? errno_text(static_cast<int>(-result)) : "it is too short"),
                  "run the job again");
  }

  // Extends the file before the writes get there: 1 chunk, 2, 4, … up to reserve_bytes. A refusal is no failure:
  // perhaps what is really to come fits.
  void reserve_ahead() {
    const uint64_t upto = offset_ + chunk_bytes_;
    if (target_ == nullptr || reserve_bytes_ == 0 || upto <= length_) return;
    const uint64_t ahead = std::clamp<uint64_t>(round_up(upto, chunk_bytes_), chunk_bytes_,
                                                std::max<uint64_t>(reserve_bytes_, chunk_bytes_));
    try {
      if (target_->content().reserve(length_, upto - length_ + ahead))
        length_ = upto + ahead;
      else
        reserve_bytes_ = 0;
    } catch (const error&) {
      reserve_bytes_ = 0;
    }
  }

  // Sends what was filled on its way.
  void hand_over() {
    slot& full = *std::exchange(filling_, nullptr);
    request& r = full.transfer;
    r.way = direction::write;
    r.offset = offset_;
    r.data = buffer_of(full);
    r.num_bytes = filled_;
    r.statistics = statistics_;
    r.on_done = &full;
    offset_ += filled_;
    if (target_ != nullptr) {
      r.target = &target_->content();
      if (r.target->is_direct() && filled_ % io_alignment != 0) {
        r.num_bytes = round_up(filled_, io_alignment);
        std::memset(buffer_of(full) + filled_, 0, r.num_bytes - filled_);
      }
      length_ = std::max<uint64_t>(length_, r.offset + r.num_bytes);
    }
    {
      mutex_lock lock(mutex_);
      ++num_in_flight_;
      full.is_in_flight = true;
      if (stream_ != nullptr) queue_.push(r);
    }
    if (stream_ != nullptr)
      changed_.notify_all();
    else
      io_.submit(r);
  }

  // From the backend: one write is over.
  void written(slot& s) noexcept {
    std::exception_ptr failure;
    try {
      const size_t moved = s.transfer.take_result();
      if (moved < s.transfer.num_bytes)
        throw error(error_kind::io,
                    fmt::format("wrote only {} of {} bytes at offset {} of {}", moved, s.transfer.num_bytes,
                                s.transfer.offset, path_),
                    "check the disk and the system log (dmesg)");
    } catch (...) {
      failure = std::current_exception();
    }
    mutex_lock lock(mutex_);
    settle(s, failure);
  }

  // The wake is under the lock, too: the destructor must not return, and the waker not die, before it is woken.
  void settle(slot& s, const std::exception_ptr& failure) noexcept FLOWRUN_REQUIRES(mutex_) {
    if (failure != nullptr && failure_ == nullptr) failure_ = failure;
    free_.push_back(&s);  // has room for all
    s.is_in_flight = false;
    --num_in_flight_;
    if (num_in_flight_ == 0) changed_.notify_all();
    if (waker* const woken = std::exchange(waiting_, nullptr)) woken->wake();
  }

  std::exception_ptr stream_failure(int cause) const {
    if (cause == EPIPE)
      return std::make_exception_ptr(broken_pipe(fmt::format("can't write {}: {}", path_, errno_text(cause))));
    const bool full = cause == ENOSPC || cause == EDQUOT || cause == EFBIG;
    return std::make_exception_ptr(
        error(full ? error_kind::output : error_kind::io, fmt::format("can't write {}: {}", path_, errno_text(cause)),
              full ? "there is no room behind it: write to a file or a disk with room" : "check what reads it"));
  }

  // The body of the stream's thread.
  void write_stream() noexcept {
    mutex_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&]() FLOWRUN_REQUIRES(mutex_) { return closed_ || !queue_.empty(); });
      request* const taken = queue_.pop();
      if (taken == nullptr) return;
      const bool dropped = closed_ || failure_ != nullptr;
      int64_t result = 0;
      if (!dropped) {
        lock.unlock();
        const uint64_t started = now_ns();
        if (statistics_ != nullptr) statistics_->begin(direction::write, started);
        result = stream_->write(taken->data, taken->num_bytes);
        if (statistics_ != nullptr) statistics_->end(direction::write, started, now_ns(), result);
        lock.lock();
      }
      std::exception_ptr failure;
      if (result < 0) failure = stream_failure(static_cast<int>(-result));
      settle(*static_cast<slot*>(taken->on_done), failure);
    }
  }

  backend& io_;
  const std::string path_;
  const size_t chunk_bytes_;
  const bool durable_;
  uint64_t reserve_bytes_;
  const size_t most_beginning_;
  struct hash_free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  const std::unique_ptr<XXH3_state_t, hash_free> hash_;  // of what was taken; null: it isn't wanted
  disk_statistics* const statistics_;
  std::unique_ptr<output_target> target_;  // one of the two
  std::unique_ptr<descriptor_stream> stream_;

  // Only the producer.
  slot* filling_ = nullptr;
  size_t filled_ = 0;
  uint64_t offset_ = 0;               // of the next write
  uint64_t length_ = 0;               // of the file, with what is reserved or padded
  uint64_t num_bytes_ = 0;            // taken
  std::vector<std::byte> beginning_;  // the first bytes taken, at most most_beginning_
  bool rewrites_ = false;             // these, when all others are written
  size_t rewritten_ = 0;
  bool finishing_ = false;
  bool finished_ = false;

  mutex mutex_;
  condition changed_;
  aligned_buffer arena_;  // of all slots: huge pages make direct writes of 1 MiB twice as fast, or more
  std::vector<std::unique_ptr<slot>> slots_;
  std::vector<slot*> free_ FLOWRUN_GUARDED_BY(mutex_);
  request_queue queue_ FLOWRUN_GUARDED_BY(mutex_);  // of the stream
  size_t num_in_flight_ FLOWRUN_GUARDED_BY(mutex_) = 0;
  waker* waiting_ FLOWRUN_GUARDED_BY(mutex_) = nullptr;
  bool closed_ FLOWRUN_GUARDED_BY(mutex_) = false;
  std::exception_ptr failure_ FLOWRUN_GUARDED_BY(mutex_);
  std::thread thread_;
};

output_file::output_file(backend& io, const std::string& path, output_file_options options, disk_statistics* statistics)
    : core_(std::make_unique<core>(io, path, options, statistics)) {}

output_file::~output_file() = default;

outcome output_file::write(std::span<const std::byte> data, size_t& consumed, waker* waiting) {
  return core_->write(data, consumed, waiting);
}
void output_file::rewrite_beginning(std::span<const std::byte> bytes) { core_->rewrite_beginning(bytes); }
outcome output_file::finish(waker* waiting) { return core_->finish(waiting); }
void output_file::commit() { core_->commit(); }
std::optional<uint64_t> output_file::content_hash() const { return core_->content_hash(); }
bool output_file::is_durable() const { return core_->is_durable(); }
void output_file::sync() { core_->target().sync(); }
void output_file::prepare() { core_->target().prepare(); }
void output_file::place(size_t, bool keep_old) { core_->target().place(keep_old); }
bool output_file::undo(size_t) noexcept { return core_->target().undo(); }
std::string output_file::kept_old(size_t) const { return core_->target().kept_old(); }
void output_file::settle() noexcept { core_->target().settle(); }
void output_file::sync_directories(std::set<std::string>& done) { core_->target().sync_directory(done); }
std::string output_file::keep(const std::string& suffix) { return core_->keep(suffix); }
std::string output_file::clear_kept(const std::string& suffix) const { return core_->clear_kept(suffix); }
std::shared_ptr<file> output_file::content() const { return core_->content(); }
uint64_t output_file::num_bytes_written() const { return core_->num_bytes_written(); }
const std::string& output_file::path() const { return core_->path(); }
uint64_t output_file::num_bytes() const { return core_->num_bytes(); }
bool output_file::is_direct() const { return core_->is_direct(); }
bool output_file::is_stream() const { return core_->is_stream(); }

}  // namespace flowrun::io
