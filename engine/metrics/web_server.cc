#include "engine/metrics/web_server.h"

#include <civetweb.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <string_view>
#include <utility>

#include "engine/base/error.h"
#include "engine/metrics/listening.h"

namespace flowrun::metrics {

namespace {

// A connection holds a thread until its request is there. Some that say nothing must not keep the others out: there
// are threads for several, and none waits long.
constexpr const char* num_threads = "16";
constexpr const char* request_timeout_ms = "1000";
// A request has a few hundred bytes (the server takes 64 headers at most). More connections than have a thread wait in
// short queues, and what comes beyond these is left to the system.
constexpr const char* most_request_bytes = "8192";
constexpr const char* most_waiting = "16";
// Of answers that nobody has read yet. Who asks for more gets it later: clients that don't read take no more memory.
constexpr size_t most_unsent_bytes = 16 << 20;

// A page of another site could have its own name lead to this machine (DNS rebinding), and so read what is served here.
// Its requests carry that name. An address and localhost can't be made to lead elsewhere.
bool names_this_machine(std::string_view name) {
  if (name.starts_with('['))
    return name.find_first_not_of("0123456789abcdefABCDEF:.", 1) == name.find(']') && name.find(']') != name.npos;
  name = name.substr(0, name.find(':'));
  if (name.ends_with('.')) name.remove_suffix(1);
  constexpr std::string_view local = "localhost";
  const auto is_alike = [](char a, char b) { return a == (b >= 'A' && b <= 'Z' ? b - 'A' + 'a' : b); };
  return std::equal(local.begin(), local.end(), name.begin(), name.end(), is_alike) ||
         (!name.empty() && name.find_first_not_of("0123456789.") == std::string_view::npos);
}

// All that say to whom the request goes. None: it comes from no browser.
bool are_for_this_machine(const mg_request_info& asked) {
  if (asked.num_headers >= MG_MAX_HEADERS) return false;  // more may have come, and been dropped
  return std::all_of(asked.http_headers, asked.http_headers + asked.num_headers, [](const mg_header& one) {
    return mg_strcasecmp(one.name, "Host") != 0 || names_this_machine(one.value);
  });
}

void send(mg_connection* to, web_answer answer, bool with_body) {
  const std::string head = fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n"
      "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\n"
      "Referrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n\r\n",
      answer.status, mg_get_response_code_text(to, answer.status), answer.type, answer.body.size());
  answer.body.insert(0, head);  // all at once: a server that stops sends nothing more
  mg_write(to, answer.body.data(), with_body ? answer.body.size() : head.size());
  if (with_body && answer.sent) answer.sent();
}

}  // namespace

std::string web_request::variable(const char* name) const {
  char value[512] = {};
  return mg_get_var(query.data(), query.size(), name, value, sizeof value) > 0 ? value : "";
}

class web_server::running {
 public:
  running(const std::string& address, handler answers)
      : answers_(std::move(answers)),
        host_(address.substr(0, address.rfind(':'))),
        loopback_(address.starts_with("127.")) {
    mg_init_library(MG_FEATURES_DEFAULT);
    mg_callbacks callbacks{};
    callbacks.begin_request = [](mg_connection* connection) {
      return static_cast<running*>(mg_get_request_info(connection)->user_data)->handle(connection);
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
      throw error(error_kind::io, "can't serve at " + address + ": the address is taken or not ours",
                  "choose another port, or port 0 for any free one");
    }
  }
  ~running() {
    const knocking knock(host_, port());
    mg_stop(context_);
    mg_exit_library();
  }
  running(const running&) = delete;
  running& operator=(const running&) = delete;

  const std::string& host() const { return host_; }
  uint16_t port() const {
    mg_server_port ports[4] = {};
    return mg_get_server_ports(context_, 4, ports) > 0 ? static_cast<uint16_t>(ports[0].port) : 0;
  }

 private:
  int handle(mg_connection* connection) {
    // Otherwise the rest of the request's body would be read before the connection is closed, and who sends it slowly
    // would hold the thread.
    mg_disable_connection_keep_alive(connection);
    const mg_request_info& asked = *mg_get_request_info(connection);
    const std::string_view method = asked.request_method;
    try {
      const unsent_bytes expected(unsent_bytes_, longest_answer_);
      web_answer answer = expected.are_too_many()
                              ? web_answer{.status = 503, .body = "others read slowly: ask again later\n"}
                              : answer_to(method, asked);
      const unsent_bytes more(unsent_bytes_, answer.body.size() - std::min(answer.body.size(), expected.count()));
      longest_answer_ = std::max(longest_answer_.load(), answer.body.size());
      const int status = answer.status;
      send(connection, std::move(answer), method != "HEAD");
      return status;
    } catch (const std::exception&) {  // there is no memory just now
      mg_send_http_error(connection, 500, "%s", "ask again later");
      return 500;
    }
  }

  // Counts bytes for as long as it lives.
  class unsent_bytes {
   public:
    unsent_bytes(std::atomic<size_t>& all, size_t count) : all_(all), count_(count), before_(all.fetch_add(count)) {}
    ~unsent_bytes() { all_ -= count_; }
    unsent_bytes(const unsent_bytes&) = delete;
    unsent_bytes& operator=(const unsent_bytes&) = delete;
    size_t count() const { return count_; }
    bool are_too_many() const { return before_ > 0 && before_ + count_ > most_unsent_bytes; }

   private:
    std::atomic<size_t>& all_;
    const size_t count_, before_;
  };

  web_answer answer_to(std::string_view method, const mg_request_info& asked) {
    if (loopback_ && !are_for_this_machine(asked))
      return {.status = 403, .body = "ask by the machine's address or as localhost\n"};
    if (method != "GET" && method != "HEAD") return {.status = 405, .body = "what is here can only be read\n"};
    web_request request;
    if (asked.local_uri != nullptr) request.path = asked.local_uri;
    if (asked.query_string != nullptr) request.query = asked.query_string;
    request.with_body = method == "GET";
    return answers_(request);
  }

  const handler answers_;
  const std::string host_;
  const bool loopback_;
  std::atomic<size_t> unsent_bytes_{0}, longest_answer_{0};
  mg_context* context_ = nullptr;
};

web_server::web_server(const std::string& address, handler answers)
    : running_(std::make_unique<running>(address, std::move(answers))) {}

web_server::~web_server() = default;

const std::string& web_server::host() const { return running_->host(); }

uint16_t web_server::port() const { return running_->port(); }

}  // namespace flowrun::metrics
