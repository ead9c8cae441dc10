#include "runner/page_state.h"

#include <algorithm>

namespace flowrun::runner {

namespace {

using std::chrono::milliseconds;

// Younger documents need not be made anew, however many browsers ask.
constexpr milliseconds fresh{250};
// The job looks whether one is wanted about ten times a second. It may be at work on something longer.
constexpr milliseconds patience{350};
// Before there is any, the job is being prepared.
constexpr milliseconds patience_at_first{2000};
// Pages ask each second.
constexpr milliseconds away{3000};
constexpr size_t most_viewers = 64;

}  // namespace

void page_state::publish(std::string document, bool last) {
  {
    const mutex_lock lock(mutex_);
    document_ = std::move(document);
    made_ = clock::now();
    last_ = last;
    wanted_ = false;
  }
  published_.notify_all();
}

page_state::edition page_state::read(const std::string& viewer) {
  mutex_lock lock(mutex_);
  if (!last_ && clock::now() - made_ > fresh) {
    const clock::time_point seen = made_;
    wanted_ = true;
    const milliseconds most = document_.empty() ? patience_at_first : patience;
    published_.wait_until(lock, clock::now() + most, [&]() FLOWRUN_REQUIRES(mutex_) { return made_ != seen; });
  }
  if (!viewer.empty() && (viewers_.size() < most_viewers || viewers_.contains(viewer))) {
    viewers_[viewer].at = clock::now();
    std::erase_if(viewers_, [](const auto& entry) { return clock::now() - entry.second.at > away; });
  }
  return {document_, last_};
}

void page_state::note_last_sent(const std::string& viewer) {
  {
    const mutex_lock lock(mutex_);
    const auto found = viewers_.find(viewer);
    if (found != viewers_.end()) found->second.has_read_last = true;
  }
  handed_out_.notify_all();
}

bool page_state::all_have_read() const {
  return std::all_of(viewers_.begin(), viewers_.end(), [](const auto& entry) {
    return entry.second.has_read_last || clock::now() - entry.second.at > away;
  });
}

void page_state::wait_for_viewers(milliseconds most) {
  mutex_lock lock(mutex_);
  handed_out_.wait_until(lock, clock::now() + most, [&]() FLOWRUN_REQUIRES(mutex_) { return all_have_read(); });
}

}  // namespace flowrun::runner
