// The head of a source whose pieces are looked at in parallel by the stage behind. It ends, or fails, only once all
// pieces were looked at: an error is the first one in the order of the files, whichever thread came upon it
// (operators/parts/text/rejection_tally.h).
#pragma once

#include <deque>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "engine/exec/parcel.h"
#include "operators/parts/files/file_input.h"
#include "operators/parts/text/rejection_tally.h"

namespace flowrun::operators {

// A piece has num_rows and num_bytes(), and leaves as a parcel.
template <class piece>
class settling_source : public exec::source {
 public:
  settling_source(exec::build_context& context, const std::vector<std::string>& paths, io::file_reader_options options,
                  std::shared_ptr<rejection_tally> tally)
      : input_(context.job, context.counters, parts(paths), std::move(options), beginning_at(context.begin_at)),
        tally_(std::move(tally)) {}

  outcome pull(exec::output& out, waker& w) final {
    if (tally_->failed()) return settle(w);
    while (pieces_.empty()) {
      if (ended_) return settle(w);
      try {
        if (const outcome o = read(w); o.is_blocked()) return o;
      } catch (const error&) {
        failure_ = std::current_exception();  // if all that comes before is right
        ended_ = true;
      }
    }
    tally_->piece_left();
    const size_t num_rows = pieces_.front().num_rows, num_bytes = pieces_.front().num_bytes();
    out.emit(exec::make_parcel(std::move(pieces_.front()), num_rows, num_bytes));
    pieces_.pop_front();
    return outcome::ready();
  }

 protected:
  // The next bytes of the file, and its end. Pieces go to queue(); what is thrown comes behind them.
  virtual void take(io::chunk chunk) = 0;
  virtual void end_file() = 0;

  const file_input& input() const { return input_; }
  void queue(piece p) { pieces_.push_back(std::move(p)); }
  // That will leave next; null: none is queued.
  const piece* next() const { return pieces_.empty() ? nullptr : &pieces_.front(); }
  // What is rejected is counted from the beginning, so where the job goes on without it a source can't begin elsewhere.
  bool may_begin_anywhere() const { return !tally_->tolerates(); }

 private:
  static std::vector<file_input::part> parts(const std::vector<std::string>& paths) {
    std::vector<file_input::part> all;
    for (const std::string& path : paths) all.push_back({path});
    return all;
  }

  outcome read(waker& w) {
    io::chunk chunk;
    const outcome o = input_.next(chunk, w);
    ended_ = o.is_done();
    if (!o.is_ready()) return o;
    if (chunk.num_bytes > 0)
      take(std::move(chunk));
    else
      end_file();
    return o;
  }

  outcome settle(waker& w) {
    pieces_.clear();
    const outcome o = tally_->settled(w);
    if (o.is_done() && failure_ != nullptr) std::rethrow_exception(failure_);
    return o;
  }

  file_input input_;
  const std::shared_ptr<rejection_tally> tally_;
  std::deque<piece> pieces_;
  std::exception_ptr failure_;
  bool ended_ = false;
};

}  // namespace flowrun::operators
