// Serves the page of a running job and its state over HTTP: / and /state.json, and nothing else. Off unless asked for,
// on the loopback interface unless told otherwise. Requests are bounded in size, headers, time and number.
// page_client.h asks; these two know civetweb.
#pragma once

#include <memory>
#include <string>

#include "runner/page_state.h"

namespace flowrun::runner {

class page_server {
 public:
  // `address`: HOST:PORT, HOST a number. Throws error(io) when it can't listen there.
  explicit page_server(const std::string& address);
  // Waits until those who look have the last document, if there is one, then stops.
  ~page_server();
  page_server(const page_server&) = delete;
  page_server& operator=(const page_server&) = delete;

  page_state& state() { return state_; }
  const std::string& url() const { return url_; }

 private:
  class server;
  page_state state_;
  std::unique_ptr<server> server_;
  std::string url_;
};

}  // namespace flowrun::runner
