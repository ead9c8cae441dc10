#include "runner/page_server.h"

#include <civetweb.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <string_view>

#include "engine/base/error.h"
#include "engine/base/mutex.h"
#include "engine/metrics/listening.h"
#include "runner/page_document.h"
#include "runner/tapped_text.h"

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

// Who asks for rows holds a thread for as long as none come.
constexpr std::chrono::milliseconds longest_wait_for_rows{1000};
constexpr unsigned most_asking = 4;

// A page of another site could have its own name lead to this machine (DNS rebinding), and so read what is served here.
// Its requests carry that name. An address and localhost can't be made to lead elsewhere.
bool names_this_machine(const char* host) {
  if (host == nullptr) return true;  // no browser
  std::string_view name = host;
  if (name.starts_with('[')) return true;
  name = name.substr(0, name.find(':'));
  if (name.ends_with('.')) name.remove_suffix(1);
  constexpr std::string_view local = "localhost";
  const auto is_alike = [](char a, char b) { return a == (b >= 'A' && b <= 'Z' ? b - 'A' + 'a' : b); };
  return std::equal(local.begin(), local.end(), name.begin(), name.end(), is_alike) ||
         (!name.empty() && name.find_first_not_of("0123456789.") == std::string_view::npos);
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

std::string variable_of(const mg_request_info& request, const char* name) {
  char value[512] = {};
  const std::string_view query = request.query_string == nullptr ? "" : request.query_string;
  return mg_get_var(query.data(), query.size(), name, value, sizeof value) > 0 ? value : "";
}

// Names are short: what is kept of a viewer is bounded.
std::string viewer_of(const mg_request_info& request) { return variable_of(request, "viewer").substr(0, 31); }

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

  void put_taps(std::vector<std::shared_ptr<exec::row_tap>> taps) {
    const mutex_lock lock(taps_mutex_);
    taps_ = std::move(taps);
  }
  void close_taps() {
    const mutex_lock lock(taps_mutex_);
    for (const auto& tap : taps_) tap->close();
  }

 private:
  std::shared_ptr<exec::row_tap> tap_of(const std::string& node) {
    const mutex_lock lock(taps_mutex_);
    const auto found = std::find_if(taps_.begin(), taps_.end(), [&](const auto& tap) { return tap->node() == node; });
    return found == taps_.end() ? nullptr : *found;
  }

  // Status and text. Waits for rows.
  std::pair<const char*, std::string> rows_for(const mg_request_info& request) {
    const std::string node = variable_of(request, "node"), port_name = variable_of(request, "port"),
                      rows = variable_of(request, "rows");
    const std::shared_ptr<exec::row_tap> tap = tap_of(node);
    if (!tap) return {"404 Not Found", "there is no such node\n"};
    unsigned port = 0;
    while (!port_name.empty() && port < tap->ports().size() && tap->ports()[port].name != port_name) ++port;
    if (port == tap->ports().size()) return {"404 Not Found", "the node has no such output\n"};
    size_t num_rows = 0;
    std::from_chars(rows.data(), rows.data() + rows.size(), num_rows);
    const record::row_type& type = tap->ports()[port].type;
    const bool json = variable_of(request, "format") == "json";
    if (asking_.fetch_add(1) >= most_asking) {
      --asking_;
      return {"503 Service Unavailable", "others ask for rows just now\n"};
    }
    exec::tapped_rows got;
    const exec::row_tap::outcome came = tap->ask(port, num_rows, longest_wait_for_rows, got);
    --asking_;
    if (came == exec::row_tap::outcome::taken) return {"409 Conflict", "somebody else asks for rows of this node\n"};
    if (came == exec::row_tap::outcome::over) return {"410 Gone", "the job has ended\n"};
    try {
      std::string out = fmt::format("{}\n", got.num_rows);
      if (!json && variable_of(request, "header") == "yes") out += csv_header(type);
      return {"200 OK", out + text_of(got, type, json ? row_format::json : row_format::csv)};
    } catch (const error& problem) {
      return {"422 Unprocessable Entity", std::string(problem.what()) + "\n"};
    }
  }

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
    if (path == "/rows" && with_body) {
      const auto [status, text] = rows_for(request);
      answer(connection, status, "text/plain", text);
      return std::atoi(status);
    }
    answer(connection, "404 Not Found", "text/plain", "there are /, /state.json and /rows\n", with_body);
    return 404;
  }

  page_state& state_;
  mutex taps_mutex_;
  std::vector<std::shared_ptr<exec::row_tap>> taps_ FLOWRUN_GUARDED_BY(taps_mutex_);
  std::atomic<unsigned> asking_{0};
  const std::string page_;
  const std::string host_;
  const bool loopback_;
  mg_context* context_ = nullptr;
};

page_server::page_server(const std::string& address) : server_(std::make_unique<server>(address, state_)) {
  url_ = fmt::format("http://{}:{}/", address.substr(0, address.rfind(':')), server_->port());
}

void page_server::serve_rows(std::vector<std::shared_ptr<exec::row_tap>> taps) { server_->put_taps(std::move(taps)); }

void page_server::end_rows() { server_->close_taps(); }

page_server::~page_server() { state_.wait_for_viewers(longest_goodbye); }

}  // namespace flowrun::runner
