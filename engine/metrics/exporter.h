// Serves a collection to Prometheus over HTTP, at /metrics. Off unless asked for, on the loopback interface unless told
// otherwise. Requests are bounded in size, headers, time and number, and there are no other pages. The only place that
// knows prometheus-cpp.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "engine/metrics/collection.h"

namespace flowrun::metrics {

// "9464", ":9464" and "127.0.0.1:9464" mean the loopback interface; "0.0.0.0:9464" and "[::]:9464" all interfaces; port
// 0 any free one. Returns HOST:PORT. Throws error(usage).
// `what` is served there, for messages, and `port` is the usual one.
std::string listen_address(std::string_view text, std::string_view what = "metrics", std::string_view port = "9464");

class exporter {
 public:
  // Listens until destroyed; `source` outlives it. Throws error(usage) for a wrong address and error(io) when it can't
  // listen there.
  exporter(std::string_view address, collection& source);
  ~exporter();
  exporter(const exporter&) = delete;
  exporter& operator=(const exporter&) = delete;

  // "http://127.0.0.1:9464/metrics", with the port that it really has.
  const std::string& url() const { return url_; }

 private:
  class server;
  std::unique_ptr<server> server_;
  std::string url_;
};

}  // namespace flowrun::metrics
