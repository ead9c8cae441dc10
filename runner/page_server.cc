#include "runner/page_server.h"

#include <civetweb.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string_view>

#include "engine/base/error.h"
#include "engine/metrics/listening.h"
#include "runner/page_document.h"

namespace flowrun::runner {

namespace {

// A connection holds a thread until its request is there. Some that say nothing must not keep the others out: there
// are threads for several, and none waits long.
constexpr const char* num_threads = "16";
constexpr const char* request_timeout_ms = "1000";
constexpr const char* most_request_bytes = "8192";
constexpr const char* most_waiting = "16";

// Long enough for pages that ask each second.
constexpr std::chrono::milliseconds longest_goodbye{1500};

// A page of another site could have its own name lead to this machine (DNS rebinding), and so read what is served here.
// Its requests carry that name. An address and localhost can't be made to lead elsewhere.
bool names_this_machine(const char* host) {
  if (host == nullptr) return true;  // no browser
  std::string_view name = host;
  if (name.starts_with('[')) return true;
  name = name.substr(0, name.find(':'));
  return name == "localhost" || (!name.empty() && name.find_first_not_of("0123456789.") == std::string_view::npos);
}

void answer(mg_connection* to, const char* status, const char* type, std::string_view body, bool with_body = true) {
  std::string whole = fmt::format(
      "HTTP/1.1 {}\r\nContent-Type: {}; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n"
      "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\n"
      "Referrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n\r\n",
      status, type, body.size());
  if (with_body) whole += body;
  mg_write(to, whole.data(), whole.size());  // at once: a server that stops sends nothing more
}

std::string viewer_of(const mg_request_info& request) {
  char name[32] = {};
  const std::string_view query = request.query_string == nullptr ? "" : request.query_string;
  return mg_get_var(query.data(), query.size(), "viewer", name, sizeof name) > 0 ? name : "";
}

}  // namespace

class page_server::server {
 public:
  server(const std::string& address, page_state& state)
      : state_(state),
        page_(live_page_document()),
        host_(address.substr(0, address.rfind(':'))),
        loopback_(address.starts_with("127.")) {
    mg_init_library(MG_FEATURES_DEFAULT);
    mg_callbacks callbacks{};
    callbacks.begin_request = [](mg_connection* connection) {
      return static_cast<server*>(mg_get_request_info(connection)->user_data)->handle(connection);
    };
    callbacks.log_message = [](const mg_connection*, const char*) { return 1; };  // what matters is thrown
    const char* options[] = {"listening_ports",
                             address.c_str(),
                             "num_threads",
                             num_threads,
                             "request_timeout_ms",
                             request_timeout_ms,
                             "max_request_size",
                             most_request_bytes,
                             "connection_queue",
                             most_waiting,
                             "listen_backlog",
                             most_waiting,
                             "enable_keep_alive",
                             "no",
                             "enable_directory_listing",
                             "no",
                             nullptr};
    context_ = mg_start(&callbacks, this, options);
    if (context_ == nullptr) {
      mg_exit_library();
      throw error(error_kind::io, "can't serve the page at " + address + ": the address is taken or not ours",
                  "choose another port, or port 0 for any free one");
    }
  }
  ~server() {
    const metrics::knocking knock(host_, static_cast<uint16_t>(port()));
    mg_stop(context_);
    mg_exit_library();
  }
  server(const server&) = delete;
  server& operator=(const server&) = delete;

  int port() const {
    mg_server_port ports[4] = {};
    return mg_get_server_ports(context_, 4, ports) > 0 ? ports[0].port : 0;
  }

 private:
  int handle(mg_connection* connection) {
    const mg_request_info& request = *mg_get_request_info(connection);
    const std::string_view method = request.request_method,
                           path = request.local_uri == nullptr ? "" : request.local_uri;
    if (loopback_ && !names_this_machine(mg_get_header(connection, "Host"))) {
      answer(connection, "403 Forbidden", "text/plain", "ask for this page by the machine's address or as localhost\n");
      return 403;
    }
    if (method != "GET" && method != "HEAD") {
      answer(connection, "405 Method Not Allowed", "text/plain", "this page can only be read\n");
      return 405;
    }
    const bool with_body = method == "GET";
    if (path == "/") {
      answer(connection, "200 OK", "text/html", page_, with_body);
      return 200;
    }
    if (path == "/state.json") {
      const std::string viewer = viewer_of(request);
      const page_state::edition now = state_.read(viewer);
      answer(connection, "200 OK", "application/json", now.document, with_body);
      if (with_body) state_.note_sent(now, viewer);
      return 200;
    }
    answer(connection, "404 Not Found", "text/plain", "there are / and /state.json\n", with_body);
    return 404;
  }

  page_state& state_;
  const std::string page_;
  const std::string host_;
  const bool loopback_;
  mg_context* context_ = nullptr;
};

page_server::page_server(const std::string& address) : server_(std::make_unique<server>(address, state_)) {
  url_ = fmt::format("http://{}:{}/", address.substr(0, address.rfind(':')), server_->port());
}

page_server::~page_server() { state_.wait_for_viewers(longest_goodbye); }

}  // namespace flowrun::runner
