// Where a job's web servers listen, of its metrics and of its page: the address as users write it, the first free port
// of a range, and an end without delay. Which web server it is doesn't matter here.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

#include "engine/base/error.h"
#include "engine/base/mutex.h"

namespace flowrun::metrics {

// Where to listen: at the first port of a range that is free.
struct listen_range {
  std::string host;  // a number: "127.0.0.1"
  uint16_t first = 0;
  uint16_t last = 0;
  bool else_any = false;  // where all of them are taken, at any free one
};

// "9464", ":9464" and "127.0.0.1:9464" mean the loopback interface; "0.0.0.0:9464" all interfaces; port
// 0 any free one; "9464-9473" the first free one of ten. Throws error(usage).
// `what` is served there, for messages, and `port` is the usual one.
listen_range listen_addresses(std::string_view text, std::string_view what = "metrics", std::string_view port = "9464");

// Somebody else listens at the port, or at all ports of the range.
class address_taken : public error {
 public:
  using error::error;
};

// Tries the ports in turn, and has `serve` listen at the first free one: at HOST:PORT. It returns whether it does:
// another process may have been faster. `what` is for messages, as above. Throws address_taken, and error(io) where
// nobody can listen for another reason.
void serve_at_first_free(const listen_range& range, std::string_view what,
                         const std::function<bool(const std::string& address)>& serve);

// Connects again and again, for as long as this object lives, to a server of ours that is being stopped. A web server
// may look only every two seconds whether it is to stop, or else when someone connects.
class knocking {
 public:
  // `host` as in listen_range.
  knocking(const std::string& host, uint16_t port);
  ~knocking();
  knocking(const knocking&) = delete;
  knocking& operator=(const knocking&) = delete;

 private:
  mutex mutex_;
  condition ended_;
  bool end_ FLOWRUN_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace flowrun::metrics
