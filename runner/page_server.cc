#include "runner/page_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/mutex.h"
#include "engine/metrics/web_server.h"
#include "runner/page_document.h"
#include "runner/tapped_text.h"

namespace flowrun::runner {

using metrics::web_answer;
using metrics::web_request;

namespace {

// Long enough for pages that ask each second.
constexpr std::chrono::milliseconds longest_goodbye{1500};

// Who asks for rows holds a thread for as long as none come.
constexpr std::chrono::milliseconds longest_wait_for_rows{1000};
constexpr unsigned most_asking = 4;

// Names are short: what is kept of a viewer is bounded.
std::string viewer_of(const web_request& request) { return request.variable("viewer").substr(0, 31); }

}  // namespace

class page_server::server {
 public:
  server(const std::string& address, page_state& state)
      : state_(state),
        page_(live_page_document()),
        web_(address, [this](const web_request& request) { return answer(request); }) {}

  std::string url() const { return fmt::format("http://{}:{}/", web_.host(), web_.port()); }

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

  // Waits for rows.
  web_answer rows_for(const web_request& request) {
    const std::string node = request.variable("node"), port_name = request.variable("port"),
                      rows = request.variable("rows");
    const std::shared_ptr<exec::row_tap> tap = tap_of(node);
    if (!tap) return {.status = 404, .body = "there is no such node\n"};
    unsigned port = 0;
    while (!port_name.empty() && port < tap->ports().size() && tap->ports()[port].name != port_name) ++port;
    if (port == tap->ports().size()) return {.status = 404, .body = "the node has no such output\n"};
    size_t num_rows = 0;
    std::from_chars(rows.data(), rows.data() + rows.size(), num_rows);
    const record::row_type& type = tap->ports()[port].type;
    const bool json = request.variable("format") == "json";
    if (asking_.fetch_add(1) >= most_asking) {
      --asking_;
      return {.status = 503, .body = "others ask for rows just now\n"};
    }
    exec::tapped_rows got;
    const exec::row_tap::outcome came = tap->ask(port, num_rows, longest_wait_for_rows, got);
    --asking_;
    if (came == exec::row_tap::outcome::taken)
      return {.status = 409, .body = "somebody else asks for rows of this node\n"};
    if (came == exec::row_tap::outcome::over) return {.status = 410, .body = "the job has ended\n"};
    try {
      std::string out = fmt::format("{}\n", got.num_rows);
      if (!json && request.variable("header") == "yes") out += csv_header(type);
      return {.body = out + text_of(got, type, json ? row_format::json : row_format::csv)};
    } catch (const error& problem) {
      return {.status = 422, .body = std::string(problem.what()) + "\n"};
    }
  }

  web_answer answer(const web_request& request) {
    if (request.path == "/") return {.type = "text/html; charset=utf-8", .body = page_};
    if (request.path == "/state.json") {
      const std::string viewer = viewer_of(request);
      page_state::edition now = state_.read(viewer);
      web_answer out{.type = "application/json; charset=utf-8", .body = std::move(now.document)};
      if (now.last) out.sent = [this, viewer] { state_.note_last_sent(viewer); };
      return out;
    }
    if (request.path == "/rows" && request.with_body) return rows_for(request);
    return {.status = 404, .body = "there are /, /state.json and /rows\n"};
  }

  page_state& state_;
  mutex taps_mutex_;
  std::vector<std::shared_ptr<exec::row_tap>> taps_ FLOWRUN_GUARDED_BY(taps_mutex_);
  std::atomic<unsigned> asking_{0};
  const std::string page_;
  metrics::web_server web_;  // last: its threads use the others
};

page_server::page_server(const std::string& address) : server_(std::make_unique<server>(address, state_)) {
  url_ = server_->url();
}

void page_server::serve_rows(std::vector<std::shared_ptr<exec::row_tap>> taps) { server_->put_taps(std::move(taps)); }

void page_server::end_rows() { server_->close_taps(); }

page_server::~page_server() { state_.wait_for_viewers(longest_goodbye); }

}  // namespace flowrun::runner
