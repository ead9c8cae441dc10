// Asks the page server of a running job. The other place that knows civetweb (engine/metrics/web_server.h is the first):
// its client ends a connection that can't be made after ten seconds and a body that doesn't come after thirty, and
// nothing makes that shorter. So an exchange runs on a thread of its own, and who waits for it decides how long.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "engine/exec/report.pb.h"

namespace flowrun::runner {

// Where a job serves its page.
struct page_address {
  std::string host;
  uint16_t port = 0;
  std::string text() const;  // HOST:PORT
};

// "8080", ":8080", "127.0.0.1:8080", "build-7:8080", "http://127.0.0.1:8080/". Throws error(usage).
page_address parse_page_address(std::string_view text);

struct page_answer {
  int status = 0;  // of HTTP; 0: none came
  std::string body;
  std::string problem;       // why none came
  bool was_refused = false;  // nobody listens there: the connection could not be made
};

// A question under way. Its destruction leaves the connection to itself.
class page_exchange {
 public:
  // GET `path`.
  page_exchange(const page_address& to, const std::string& path);

  // Whether the answer, or what went wrong, is there after at most so long.
  bool wait(std::chrono::milliseconds most) const;
  // Once wait() was true.
  const page_answer& answer() const;

 private:
  class shared;
  std::shared_ptr<shared> shared_;
};

// How long a job may take to answer before that is an error.
inline constexpr std::chrono::milliseconds page_patience{5000};

// What an answer without status means to the user: nobody listens (66), or nothing came (74).
[[noreturn]] void refuse_unanswered(const page_address& at, const page_answer& got);
// The state of the job in an answer to /state.json. Throws error(bad_data) where something else than flowrun has
// answered, or one that speaks another version of the document.
exec::RunReport state_in(const page_address& at, const page_answer& got);

}  // namespace flowrun::runner
