#include "engine/io/read_window.h"

#include <algorithm>
#include <deque>
#include <exception>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/mutex.h"
#include "engine/io/transfer_pool.h"

namespace flowrun::io {

class read_window::core final : public transfer_pool {
 public:
  core(backend& io, piece_source& source, const window_options& options)
      : transfer_pool(io, std::min<uint64_t>(options.num_buffers, options.num_pieces), options.longest_piece),
        source_(source),
        num_pieces_(options.num_pieces),
        most_ahead_(options.most_ahead == 0 ? slots().size() : options.most_ahead),
        ahead_(options.ahead_at_once ? most_ahead_ : 0) {}

  void read_ahead() {
    mutex_lock lock(mutex_);
    asked_ = false;
    transfer_on();
  }

  outcome next(read_piece& out, waker* w) {
    {
      mutex_lock lock(mutex_);
      if (next_ == num_pieces_) {
        if (failure_) std::rethrow_exception(failure_);
        return outcome::done();
      }
    }
    slot* const taken = take_next(w);
    if (taken == nullptr) return outcome::blocked();
    std::shared_ptr<const void> lease = lend(*taken);
    try {
      source_.check(taken->position, taken->transfer, taken->memory);
    } catch (...) {
      mutex_lock lock(mutex_);
      failure_ = std::current_exception();
      throw;
    }
    out = {std::move(lease), taken->memory, taken->position};
    read_ahead();
    return outcome::ready();
  }

  void skip_to(uint64_t piece) {
    mutex_lock lock(mutex_);
    if (failure_) return;  // next() says so
    FLOWRUN_CHECK(piece >= next_ && piece <= num_pieces_);
    if (piece == next_) return;
    next_ = piece;
    forget_wait();
    for (slot& one : slots())
      if (one.now == state::done && one.position < piece) drop(one);
    while (!expected_.empty() && expected_.front() < piece) expected_.pop_front();
    ahead_ = 0;
    skipped_ = true;
  }

  void expect(std::span<const uint64_t> pieces) {
    {
      mutex_lock lock(mutex_);
      expected_.assign(pieces.begin(), pieces.end());
    }
    read_ahead();
  }

  uint64_t position() const {
    mutex_lock lock(mutex_);
    return next_;
  }
  uint64_t num_read() const {
    mutex_lock lock(mutex_);
    return num_read_;
  }

 private:
  slot* find(uint64_t piece, state now) FLOWRUN_REQUIRES(mutex_) {
    for (slot& one : slots())
      if (one.now == now && one.position == piece) return &one;
    return nullptr;
  }
  bool is_here_or_coming(uint64_t piece) FLOWRUN_REQUIRES(mutex_) {
    return find(piece, state::done) != nullptr || find(piece, state::in_flight) != nullptr;
  }

  // The next piece to read, or num_pieces_.
  uint64_t next_to_read() FLOWRUN_REQUIRES(mutex_) {
    if (asked_ && next_ < num_pieces_ && !is_here_or_coming(next_)) return next_;
    while (!expected_.empty()) {
      const uint64_t piece = expected_.front();
      if (piece >= next_ && !is_here_or_coming(piece)) return piece;
      expected_.pop_front();
      if (expected_.empty()) ahead_ = 0;
    }
    const uint64_t end = std::min(num_pieces_, next_ + ahead_);
    for (uint64_t piece = next_; piece < end; ++piece)
      if (!is_here_or_coming(piece)) return piece;
    return num_pieces_;
  }

  void choose(batch& to, bool) override FLOWRUN_REQUIRES(mutex_) {
    if (failure_) return;
    while (num_free() > 0 && !to.full()) {
      const uint64_t piece = next_to_read();
      if (piece == num_pieces_) return;
      slot& one = *take_free();
      source_.prepare(piece, one.transfer, one.memory);
      begin(to, one, piece);
      ++num_read_;
    }
  }

  bool arrived(slot& one) noexcept override FLOWRUN_REQUIRES(mutex_) {
    if (one.position == next_) return true;
    if (one.position < next_) drop(one);
    return find(next_, state::in_flight) == nullptr;
  }
  bool came_back() noexcept override FLOWRUN_REQUIRES(mutex_) {
    wake();
    return false;  // `source_` is the consumer's
  }

  // When the next piece has no buffer and none is free: takes the one of the piece that is there and needed last, which
  // is read again when its turn comes. False: all are held or in flight.
  bool give_up_latest() FLOWRUN_REQUIRES(mutex_) {
    slot* const latest = latest_done();
    if (latest == nullptr) return false;
    if (!expected_.empty())
      expected_.insert(std::lower_bound(expected_.begin(), expected_.end(), latest->position), latest->position);
    drop(*latest);
    return true;
  }

  // The buffer with the next piece, now held; null: blocked.
  slot* take_next(waker* w) {
    mutex_lock lock(mutex_);
    for (;;) {
      asked_ = true;
      transfer_on();
      unblock();
      if (failure_) std::rethrow_exception(failure_);
      if (slot* there = find(next_, state::done)) {
        there->now = state::held;
        ++next_;
        if (!std::exchange(skipped_, false)) ahead_ = std::clamp<uint64_t>(ahead_ * 2, 1, most_ahead_);
        return there;
      }
      // A buffer that came back just now woke no waker, so look again.
      if (find(next_, state::in_flight) == nullptr && (num_free() > 0 || give_up_latest())) continue;
      block(w);
      return nullptr;
    }
  }

  piece_source& source_;
  const uint64_t num_pieces_;
  const uint64_t most_ahead_;

  uint64_t next_ FLOWRUN_GUARDED_BY(mutex_) = 0;              // piece
  uint64_t ahead_ FLOWRUN_GUARDED_BY(mutex_);                 // pieces worth reading, from next_ on
  bool skipped_ FLOWRUN_GUARDED_BY(mutex_) = false;           // the next one is the first since pieces were left out
  std::deque<uint64_t> expected_ FLOWRUN_GUARDED_BY(mutex_);  // if not empty: pieces to read instead, ascending
  bool asked_ FLOWRUN_GUARDED_BY(mutex_) = false;             // the consumer waits for the next one of all
  uint64_t num_read_ FLOWRUN_GUARDED_BY(mutex_) = 0;
  std::exception_ptr failure_ FLOWRUN_GUARDED_BY(mutex_);
};

read_window::read_window(backend& io, piece_source& source, const window_options& options)
    : core_(std::make_shared<core>(io, source, options)) {}
read_window::~read_window() { core_->close(); }

void read_window::start() { core_->read_ahead(); }
outcome read_window::next(read_piece& out, waker* w) {
  out = {};
  return core_->next(out, w);
}
void read_window::skip_to(uint64_t piece) { core_->skip_to(piece); }
void read_window::expect(std::span<const uint64_t> pieces) { core_->expect(pieces); }
uint64_t read_window::position() const { return core_->position(); }
uint64_t read_window::num_read() const { return core_->num_read(); }

}  // namespace flowrun::io
