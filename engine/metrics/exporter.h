// Serves a collection to Prometheus over HTTP, at /metrics. Off unless asked for, on the loopback interface unless told
// otherwise. The same page is there as a text, for files. Each of its series has the label job_name. The only place
// that knows prometheus-cpp.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "engine/metrics/collection.h"
#include "engine/metrics/listening.h"
#include "engine/metrics/web_server.h"

namespace flowrun::metrics {

// The page as a file: what a scrape would get now.
std::string page_of(collection& source, const std::string& job_name);

class exporter {
 public:
  // Listens until destroyed; `source` outlives it. Throws error(usage) for what is no address, address_taken, and
  // error(io) when it can't listen there for another reason.
  exporter(std::string_view addresses, collection& source, const std::string& job_name);

  // "http://127.0.0.1:9464/metrics", with the port that it really has.
  const std::string& url() const { return url_; }

 private:
  std::unique_ptr<web_server> server_;
  std::string url_;
};

}  // namespace flowrun::metrics
