// Wakes for plugins: one thread of the process waits for all their descriptors and times.
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "engine/base/mutex.h"
#include "plugin/interfaces.h"
#include "plugin/plugin_waker.h"

namespace flowrun::plugins {

namespace {

using clock = std::chrono::steady_clock;

// Never destroyed: plugins may ask for wakes as long as the process lives.
class watch {
 public:
  static watch& of_process() {
    static watch* const all = new watch;
    return *all;
  }

  int when_ready(fr_waker* waker, int descriptor, uint32_t what) {
    mutex_lock lock(mutex_);
    if (epoll_ < 0) return ENFILE;
    epoll_event event{};
    event.events = EPOLLONESHOT | EPOLLRDHUP | ((what & FR_READABLE) != 0 ? EPOLLIN : 0U) |
                   ((what & FR_WRITABLE) != 0 ? EPOLLOUT : 0U);
    event.data.fd = descriptor;
    const bool is_new = !waiting_.contains(descriptor);
    if (!is_new && waiting_[descriptor] != waker) return EBUSY;  // each needs a descriptor of its own (dup)
    if (epoll_ctl(epoll_, is_new ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, descriptor, &event) != 0) {
      // It was closed without forget(), and the number is another descriptor's now.
      if (is_new || errno != ENOENT || epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &event) != 0) return errno;
    }
    waker->retain();
    if (!is_new) waiting_[descriptor]->release();
    waiting_[descriptor] = waker;
    return 0;
  }

  void forget(const fr_waker* waker, int descriptor) {
    mutex_lock lock(mutex_);
    const auto found = waiting_.find(descriptor);
    if (found == waiting_.end() || found->second != waker) return;
    epoll_ctl(epoll_, EPOLL_CTL_DEL, descriptor, nullptr);
    found->second->release();
    waiting_.erase(found);
  }

  void after(fr_waker* waker, uint64_t milliseconds) {
    mutex_lock lock(mutex_);
    waker->retain();
    times_.emplace(clock::now() + std::chrono::milliseconds(std::min<uint64_t>(milliseconds, 1'000'000'000)), waker);
    const uint64_t one = 1;
    if (write(earlier_, &one, sizeof one) < 0) times_.begin()->second->wake();  // it can't fail but for a full counter
  }

 private:
  watch() : epoll_(epoll_create1(EPOLL_CLOEXEC)), earlier_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = earlier_;
    if (epoll_ >= 0) epoll_ctl(epoll_, EPOLL_CTL_ADD, earlier_, &event);
    std::thread([this] { run(); }).detach();
  }

  [[noreturn]] void run() {
    for (;;) {
      epoll_event events[16];
      const int count = epoll_wait(epoll_, events, std::size(events), until_next());
      mutex_lock lock(mutex_);
      for (int i = 0; i < count; ++i) ready(events[i].data.fd);
      while (!times_.empty() && times_.begin()->first <= clock::now()) {
        times_.begin()->second->wake();
        times_.begin()->second->release();
        times_.erase(times_.begin());
      }
    }
  }
  void ready(int descriptor) FLOWRUN_REQUIRES(mutex_) {
    if (descriptor == earlier_) {
      uint64_t ignored = 0;
      static_cast<void>(!read(earlier_, &ignored, sizeof ignored));
      return;
    }
    const auto found = waiting_.find(descriptor);
    if (found == waiting_.end()) return;
    epoll_ctl(epoll_, EPOLL_CTL_DEL, descriptor, nullptr);
    found->second->wake();
    found->second->release();
    waiting_.erase(found);
  }
  int until_next() {
    mutex_lock lock(mutex_);
    if (times_.empty()) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(times_.begin()->first - clock::now()).count();
    return static_cast<int>(std::clamp<int64_t>(left, 0, 1'000'000));
  }

  const int epoll_, earlier_;
  mutex mutex_;
  std::map<int, fr_waker*> waiting_ FLOWRUN_GUARDED_BY(mutex_);  // by descriptor
  std::multimap<clock::time_point, fr_waker*> times_ FLOWRUN_GUARDED_BY(mutex_);
};

}  // namespace

const fr_wake_interface& wakes() {
  static constexpr fr_wake_interface table = {
      sizeof table,
      [](fr_waker* waker, int descriptor, uint32_t what) {
        return watch::of_process().when_ready(waker, descriptor, what);
      },
      [](fr_waker* waker, int descriptor) { watch::of_process().forget(waker, descriptor); },
      [](fr_waker* waker, uint64_t milliseconds) { watch::of_process().after(waker, milliseconds); }};
  return table;
}

}  // namespace flowrun::plugins
