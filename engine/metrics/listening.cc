#include "engine/metrics/listening.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <optional>

namespace flowrun::metrics {

namespace {

// An address as the system has it; nullopt: the host is no number.
std::optional<sockaddr_in> socket_address_of(const std::string& host, uint16_t port) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_port = htons(port);
  if (::inet_pton(AF_INET, host.c_str(), &out.sin_addr) != 1) return std::nullopt;
  return out;
}

const sockaddr* as_sockaddr(const sockaddr_in& address) { return reinterpret_cast<const sockaddr*>(&address); }

// Why nobody can listen there, as an errno; 0: it can be done. Web servers don't tell.
int refusal_of(const std::string& host, uint16_t port) {
  const std::optional<sockaddr_in> address = socket_address_of(host, port);
  if (!address) return EADDRNOTAVAIL;
  const int trial = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (trial < 0) return errno;
  // As the server does: connections of a job that has just ended are in nobody's way.
  const int yes = 1;
  ::setsockopt(trial, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  int problem = ::bind(trial, as_sockaddr(*address), sizeof *address) == 0 ? 0 : errno;
  if (problem == 0 && ::listen(trial, 1) != 0) problem = errno;
  ::close(trial);
  return problem;
}

// Whether it was heard doesn't matter, and nothing is waited for.
void knock_at(const sockaddr_in& address) {
  const int knock = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (knock < 0) return;
  [[maybe_unused]] const int heard = ::connect(knock, as_sockaddr(address), sizeof address);
  ::close(knock);
}

std::optional<uint16_t> port_of(std::string_view text) {
  uint16_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

listen_range listen_addresses(std::string_view text, std::string_view what, std::string_view usual) {
  const size_t colon = text.rfind(':');
  const bool bare = colon == std::string_view::npos;
  std::string_view host = bare ? std::string_view{} : text.substr(0, colon);
  const std::string_view ports = bare ? text : text.substr(colon + 1);
  if (host.empty()) host = "127.0.0.1";
  if (host == "localhost") host = "127.0.0.1";
  const size_t dash = ports.find('-');
  const std::optional<uint16_t> first = port_of(ports.substr(0, dash));
  const std::optional<uint16_t> last = dash == std::string_view::npos ? first : port_of(ports.substr(dash + 1));
  const bool range_is_wrong = dash != std::string_view::npos && first && last && (*first == 0 || *last < *first);
  // The web servers that serve there know no others.
  if (host.find(':') != std::string_view::npos)
    throw error(error_kind::usage, fmt::format("'{}': {} can't be served at an address of IPv6", text, what),
                fmt::format("give 127.0.0.1:{0} (this machine only) or 0.0.0.0:{0} (everyone may ask)", usual));
  const bool odd = !socket_address_of(std::string(host), 0);
  if (!first || !last || range_is_wrong || odd)
    throw error(error_kind::usage, fmt::format("'{}' is no address to serve {} at", text, what),
                fmt::format("give a port ({0}: this machine only) or ADDRESS:PORT (0.0.0.0:{0}: everyone may ask); "
                            "9464-9473 takes the first port that is free, port 0 any",
                            usual));
  return {std::string(host), *first, *last};
}

void serve_at_first_free(const listen_range& range, std::string_view what,
                         const std::function<bool(const std::string& address)>& serve) {
  const auto at = [&](uint32_t port) {
    const std::string where = fmt::format("{}:{}", range.host, port);
    const int refusal = refusal_of(range.host, static_cast<uint16_t>(port));
    if (refusal == EADDRINUSE) return false;
    if (refusal != 0)
      throw error(
          error_kind::io, fmt::format("can't serve {} at {}: {}", what, where, errno_text(refusal)),
          refusal == EACCES ? "choose a port from 1024 on" : "give an address of this machine, or a port alone");
    return serve(where);
  };
  for (uint32_t port = range.first; port <= range.last; ++port)
    if (at(port)) return;
  if (range.else_any && at(0)) return;
  const bool one = range.first == range.last;
  throw address_taken(error_kind::io,
                      fmt::format("can't serve {} at {}:{}{}: {} taken", what, range.host, range.first,
                                  one ? "" : fmt::format("-{}", range.last), one ? "the port is" : "all ports are"),
                      "give a range of ports, as 9464-9473, or port 0 for any free one");
}

knocking::knocking(const std::string& host, uint16_t port)
    : thread_([this, address = socket_address_of(host, port).value_or(sockaddr_in{})] {
        // The first knock may come before the server is told to stop. It needs no more than a moment for that.
        std::chrono::milliseconds pause{1};
        mutex_lock lock(mutex_);
        while (!end_) {
          knock_at(address);
          ended_.wait_until(lock, std::chrono::steady_clock::now() + pause,
                            [this]() FLOWRUN_REQUIRES(mutex_) { return end_; });
          pause = std::min(2 * pause, std::chrono::milliseconds(20));
        }
      }) {}

knocking::~knocking() {
  {
    mutex_lock lock(mutex_);
    end_ = true;
  }
  ended_.notify_all();
  thread_.join();
}

}  // namespace flowrun::metrics
