#include "runner/page_client.h"

#include <civetweb.h>
#include <fmt/format.h>

#include <charconv>
#include <thread>

#include "engine/base/error.h"
#include "engine/base/mutex.h"
#include "engine/base/units.h"
#include "engine/exec/job_report.h"
#include "engine/io/io_thread.h"
#include "runner/page_document.h"

namespace flowrun::runner {

namespace {

// Documents have a few hundred bytes for each node.
constexpr size_t most_bytes = 64 * MiB;

page_answer exchange_with(const page_address& to, const std::string& path) {
  page_answer out;
  char problem[256] = {};
  mg_connection* const connection = mg_connect_client(to.host.c_str(), to.port, 0, problem, sizeof problem);
  if (connection == nullptr) {
    out.problem = problem;
    // "connect(HOST:PORT): error Connection refused": the last part is the system's word.
    if (const size_t at = out.problem.find("error "); at != std::string::npos) out.problem.erase(0, at + 6);
    out.was_refused = true;
    return out;
  }
  const std::string request =
      fmt::format("GET {} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nAccept: */*\r\n\r\n", path, to.text());
  const int timeout_ms = static_cast<int>(page_patience.count());
  if (mg_write(connection, request.data(), request.size()) != static_cast<int>(request.size()) ||
      mg_get_response(connection, problem, sizeof problem, timeout_ms) < 0) {
    out.problem = *problem == 0 ? "the connection was closed" : problem;
  } else {
    const mg_response_info& head = *mg_get_response_info(connection);
    const long long whole = head.content_length;
    char buffer[1 << 14];
    int got = 0;
    while (out.body.size() <= most_bytes && (got = mg_read(connection, buffer, sizeof buffer)) > 0)
      out.body.append(buffer, static_cast<size_t>(got));
    const bool is_cut = got < 0 || (whole >= 0 && out.body.size() < static_cast<size_t>(whole));
    if (is_cut && head.status_code == 200)
      out.problem = "the answer was cut off";
    else
      out.status = head.status_code;
  }
  mg_close_connection(connection);
  return out;
}

}  // namespace

std::string page_address::text() const { return fmt::format("{}:{}", host, port); }

page_address parse_page_address(std::string_view text) {
  const auto refuse = [&](const char* why) {
    throw error(error_kind::usage, fmt::format("'{}' is no address of a job's page{}", text, why),
                "give what the job printed at its start, http://127.0.0.1:9465/, or HOST:PORT, or the port alone");
  };
  std::string_view rest = text;
  if (rest.starts_with("https://")) refuse(": it is served without TLS, as http://");
  const bool url = rest.starts_with("http://");
  if (url) {
    rest.remove_prefix(7);
    const size_t slash = rest.find('/');
    if (slash != std::string_view::npos && rest.size() > slash + 1 && rest.substr(slash) != "/state.json")
      refuse(": it has a path");
    rest = rest.substr(0, slash);
  }
  if (rest.starts_with('[')) refuse(": no job is served at an address of IPv6");
  const size_t colon = rest.find(':');
  page_address out;
  std::string_view host, port;
  if (colon == std::string_view::npos && !url) {
    port = rest;
  } else if (colon == std::string_view::npos) {
    host = rest;
    port = "80";  // as a browser would take it
  } else {
    host = rest.substr(0, colon);
    port = rest.substr(colon + 1);
  }
  const auto [end, problem] = std::from_chars(port.data(), port.data() + port.size(), out.port);
  if (port.empty() || problem != std::errc() || end != port.data() + port.size() || out.port == 0) refuse("");
  constexpr std::string_view allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
  if (host.find_first_not_of(allowed) != std::string_view::npos || (url && host.empty())) refuse("");
  out.host = host.empty() || host == "localhost" ? "127.0.0.1" : std::string(host);
  return out;
}

// The thread and who waits, whichever lives longer.
class page_exchange::shared {
 public:
  void put(page_answer got) {
    {
      const mutex_lock lock(mutex_);
      answer_ = std::move(got);
      done_ = true;
    }
    changed_.notify_all();
  }
  bool wait(std::chrono::milliseconds most) {
    mutex_lock lock(mutex_);
    changed_.wait_until(lock, std::chrono::steady_clock::now() + most,
                        [&]() FLOWRUN_REQUIRES(mutex_) { return done_; });
    return done_;
  }
  const page_answer& answer() {
    const mutex_lock lock(mutex_);
    FLOWRUN_CHECK(done_);
    return answer_;  // nobody changes it any more
  }

 private:
  mutex mutex_;
  condition changed_;
  bool done_ FLOWRUN_GUARDED_BY(mutex_) = false;
  page_answer answer_ FLOWRUN_GUARDED_BY(mutex_);
};

page_exchange::page_exchange(const page_address& to, const std::string& path) : shared_(std::make_shared<shared>()) {
  static const unsigned library = mg_init_library(MG_FEATURES_DEFAULT);  // for good: threads may be left behind
  static_cast<void>(library);
  // Signals are for who asks: one that this thread took would end the process.
  io::start_io_thread("flowrun-page", [mine = shared_, to, path] { mine->put(exchange_with(to, path)); }).detach();
}

bool page_exchange::wait(std::chrono::milliseconds most) const { return shared_->wait(most); }

const page_answer& page_exchange::answer() const { return shared_->answer(); }

void refuse_unanswered(const page_address& at, const page_answer& got) {
  if (got.was_refused)
    throw error(error_kind::missing_input, fmt::format("no job serves its page at {}: {}", at.text(), got.problem),
                "start the job with --ui, and give the address that it prints; the page ends with the job");
  throw error(error_kind::io, fmt::format("{} doesn't answer: {}", at.text(), got.problem),
              "see whether the job is stopped, or whether something else than flowrun listens there");
}

exec::RunReport state_in(const page_address& at, const page_answer& got) {
  const auto refuse = [&](const std::string& why) {
    throw error(error_kind::bad_data, fmt::format("what listens at {} is no page of a job: {}", at.text(), why),
                "give the address that the job printed at its start (\"the job can be watched at …\")");
  };
  if (got.status == 0) refuse_unanswered(at, got);
  if (got.status != 200) refuse(fmt::format("it answers {} to /state.json", got.status));
  if (got.body.size() > most_bytes) refuse("its answer has more than " + format_bytes(most_bytes));
  const std::optional<exec::RunReport> state = report_in(got.body);
  if (!state || state->status().empty()) refuse("its answer is not the state of one");
  if (state->format() != exec::report_format)
    throw error(error_kind::bad_data,
                fmt::format("the job at {} speaks format {} of its state, and this program knows format {}", at.text(),
                            state->format(), exec::report_format),
                state->version().empty() ? "use the flowrun that runs the job"
                                         : "use flowrun " + state->version() + ", which runs the job");
  return *state;
}

}  // namespace flowrun::runner
