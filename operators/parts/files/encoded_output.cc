#include "operators/parts/files/encoded_output.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "engine/base/mutex.h"
#include "engine/exec/node_work.h"
#include "engine/io/encoder.h"

namespace flowrun::operators {

namespace {

// A piece of the text. While it is at work nobody else touches it.
struct piece {
  std::shared_ptr<std::byte[]> text, encoded;
  size_t text_bytes = 0, encoded_bytes = 0;
  uint32_t file = 0;                     // that it is of
  std::unique_ptr<io::encoder> encoder;  // made when it is first needed
  bool is_done = false;                  // guarded by the core's mutex
};

}  // namespace

uint64_t encoding_bytes(io::encoding content) {
  const size_t text = io::encoded_piece_bytes(content);
  return text + io::most_encoded_bytes(content, text) + io::encoder_bytes(content);
}

class encoded_output::core : public std::enable_shared_from_this<encoded_output::core> {
 public:
  core(exec::services& job, exec::node_counters& counters, io::encoding content, uint64_t memory_bytes)
      : job_(job),
        post_(exec::node_poster(job, counters)),
        content_(content),
        piece_bytes_(io::encoded_piece_bytes(content)),
        pieces_(std::clamp<uint64_t>(memory_bytes / encoding_bytes(content), 1, job.threads() + 1)) {}

  outcome write(uint32_t file, std::span<const std::byte> text, size_t& consumed, encoded_taker& taker, waker& w) {
    consumed = 0;
    while (consumed < text.size()) {
      if (const outcome o = drain(taker, num_at_work_ == pieces_.size(), w); o.is_blocked()) return o;
      piece& to = filling();
      if (to.text_bytes > 0 && to.file != file) {
        start(to);
        continue;
      }
      to.file = file;
      const size_t count = std::min(text.size() - consumed, piece_bytes_ - to.text_bytes);
      std::memcpy(to.text.get() + to.text_bytes, text.data() + consumed, count);
      to.text_bytes += count;
      consumed += count;
      if (to.text_bytes == piece_bytes_) start(to);
    }
    return outcome::ready();
  }

  outcome finish(bool at_least_one, encoded_taker& taker, waker& w) {
    if (!has_ended_) {
      if (const outcome o = drain(taker, num_at_work_ == pieces_.size(), w); o.is_blocked()) return o;
      // An empty text is one empty member: no program takes nothing at all for compressed content.
      if (piece& last = filling(); last.text_bytes > 0 || (at_least_one && !has_begun_)) start(last);
      has_ended_ = true;
    }
    while (num_at_work_ > 0)
      if (const outcome o = drain(taker, true, w); o.is_blocked()) return o;
    return outcome::done();
  }

  // Nobody waits any more.
  void leave() {
    mutex_lock lock(mutex_);
    waiting_ = nullptr;
  }

 private:
  piece& at(size_t i) { return pieces_[(first_ + i) % pieces_.size()]; }

  // The piece behind those at work, of which there is one.
  piece& filling() {
    piece& out = at(num_at_work_);
    if (out.text == nullptr) {
      out.text = job_.pool().take(piece_bytes_);
      out.encoded = job_.pool().take(io::most_encoded_bytes(content_, piece_bytes_));
    }
    return out;
  }

  void start(piece& p) {
    ++num_at_work_;
    has_begun_ = true;
    post_([self = shared_from_this(), &p] { self->encode(p); });
  }

  // On any thread.
  void encode(piece& p) {
    if (p.encoder == nullptr) p.encoder = io::make_encoder(content_);
    p.encoded_bytes = p.encoder->encode({p.text.get(), p.text_bytes},
                                        {p.encoded.get(), io::most_encoded_bytes(content_, p.text_bytes)});
    mutex_lock lock(mutex_);
    p.is_done = true;
    if (waiting_ != nullptr) std::exchange(waiting_, nullptr)->wake();
  }

  // Hands on what is done, in order; `waits`: for the first one at least.
  outcome drain(encoded_taker& taker, bool waits, waker& w) {
    for (; num_at_work_ > 0; waits = false) {
      piece& p = pieces_[first_];
      {
        mutex_lock lock(mutex_);
        if (!p.is_done && !waits) return outcome::ready();
        if (!p.is_done) {
          waiting_ = &w;
          return outcome::blocked(blocked_on::output);  // not for the file: for threads that compress
        }
      }
      while (num_handed_on_ < p.encoded_bytes) {
        size_t count = 0;
        const outcome o =
            taker.take_encoded(p.file, {p.encoded.get() + num_handed_on_, p.encoded_bytes - num_handed_on_}, count, w);
        num_handed_on_ += count;
        if (o.is_blocked()) return o;
      }
      num_handed_on_ = 0;
      p.text_bytes = 0;
      p.is_done = false;
      first_ = (first_ + 1) % pieces_.size();
      --num_at_work_;
    }
    return outcome::ready();
  }

  exec::services& job_;
  const task_poster post_;
  const io::encoding content_;
  const size_t piece_bytes_;
  std::vector<piece> pieces_;  // a ring
  size_t first_ = 0;           // at work, the oldest
  size_t num_at_work_ = 0;     // or done, and not yet handed on
  size_t num_handed_on_ = 0;   // bytes of the oldest
  bool has_begun_ = false, has_ended_ = false;

  mutex mutex_;
  waker* waiting_ FLOWRUN_GUARDED_BY(mutex_) = nullptr;
};

encoded_output::encoded_output(exec::services& job, exec::node_counters& counters, io::encoding content,
                               uint64_t memory_bytes)
    : core_(std::make_shared<core>(job, counters, content, memory_bytes)) {}
encoded_output::~encoded_output() { core_->leave(); }

outcome encoded_output::write(uint32_t file, std::span<const std::byte> text, size_t& consumed, encoded_taker& to,
                              waker& w) {
  return core_->write(file, text, consumed, to, w);
}
outcome encoded_output::finish(bool at_least_one, encoded_taker& to, waker& w) {
  return core_->finish(at_least_one, to, w);
}

}  // namespace flowrun::operators
