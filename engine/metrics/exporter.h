// Serves a collection to Prometheus over HTTP, at /metrics. Off unless asked for, on the loopback interface unless told
// otherwise. Requests are bounded in size, headers, time and number, and there are no other pages. The same page is
// there as a text, for files. Each of its series has the label job_name. The only place that knows prometheus-cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "engine/base/error.h"
#include "engine/metrics/collection.h"

namespace flowrun::metrics {

// Where to listen: at the first port of a range that is free.
struct listen_range {
  std::string host;  // a number: "127.0.0.1", "[::]"
  uint16_t first = 0;
  uint16_t last = 0;
};

// "9464", ":9464" and "127.0.0.1:9464" mean the loopback interface; "0.0.0.0:9464" and "[::]:9464" all interfaces; port
// 0 any free one; "9464-9473" the first free one of ten. Throws error(usage).
// `what` is served there, for messages, and `port` is the usual one.
listen_range listen_addresses(std::string_view text, std::string_view what = "metrics", std::string_view port = "9464");

// Somebody else listens at the port, or at all ports of the range.
class address_taken : public error {
 public:
  using error::error;
};

// The page as a file: what a scrape would get now.
std::string page_of(collection& source, const std::string& job_name);

class exporter {
 public:
  // Listens until destroyed; `source` outlives it. Throws error(usage) for what is no address, address_taken, and
  // error(io) when it can't listen there for another reason.
  exporter(std::string_view addresses, collection& source, const std::string& job_name);
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
