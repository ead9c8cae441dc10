// Serves over HTTP what a job says of itself while it runs: its metrics and its page. Requests are bounded in size,
// headers, time and number, and can only read; their bodies aren't waited for. The only place that knows civetweb's
// server (its client is in runner/page_client.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace flowrun::metrics {

struct web_request {
  std::string path;       // "/state.json"
  std::string query;      // what follows '?'
  bool with_body = true;  // of the answer; false: HEAD
  // A variable of the query, decoded; "" where there is none, or it has 512 bytes or more.
  std::string variable(const char* name) const;
};

struct web_answer {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body = {};
  std::function<void()> sent = {};  // called when the body was handed to the system
};

class web_server {
 public:
  // Called on threads of the server, several at once. Where it throws, the answer is 500.
  using handler = std::function<web_answer(const web_request&)>;

  // Listens until destroyed. `address`: HOST:PORT, HOST a number, PORT 0 for any free one. At an address of this
  // machine alone (127.…) pages of other sites can't ask. Throws error(io) when it can't listen there.
  web_server(const std::string& address, handler answers);
  ~web_server();
  web_server(const web_server&) = delete;
  web_server& operator=(const web_server&) = delete;

  // Where it listens.
  const std::string& host() const;
  uint16_t port() const;

 private:
  class running;
  std::unique_ptr<running> running_;
};

}  // namespace flowrun::metrics
