// Serves the page of a running job over HTTP: the page itself at /, the state at /state.json, rows that nodes give on
// at /rows, and nothing else. Off unless asked for, on the loopback interface unless told otherwise.
// page_client.h asks.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/exec/row_tap.h"
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
  // From here on rows can be asked for; they are let go when the job has ended, before anything waits for the server.
  //   GET /rows?node=NODE&port=PORT&rows=N&format=csv|json&header=yes
  // The first line of the answer says how many rows follow; with header=yes there is a line with the names of the
  // columns between (csv). It comes after a second at the latest, with fewer rows or none. 404: no such node or port,
  // 409: somebody else asks for rows of this node just now, 410: the job has ended, 422: text that JSON can't have,
  // 503: too many ask.
  void serve_rows(std::vector<std::shared_ptr<exec::row_tap>> taps);
  void end_rows();
  const std::string& url() const { return url_; }

 private:
  class server;
  page_state state_;
  std::unique_ptr<server> server_;
  std::string url_;
};

}  // namespace flowrun::runner
