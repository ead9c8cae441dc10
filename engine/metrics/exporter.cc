#include "engine/metrics/exporter.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <prometheus/client_metric.h>
#include <prometheus/collectable.h>
#include <prometheus/exposer.h>
#include <prometheus/metric_family.h>
#include <prometheus/metric_type.h>
#include <prometheus/text_serializer.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <optional>
#include <sstream>

#include "engine/base/error.h"

namespace flowrun::metrics {

namespace {

// A connection holds a thread until its request is there. Some that say nothing must not keep the others out: there
// are threads for several, and none waits long.
constexpr const char* num_threads = "16";
constexpr const char* request_timeout_ms = "2000";
// A scrape asks for one page in a few hundred bytes (the server takes 64 headers at most). More connections than have a
// thread wait in short queues, and what comes beyond these is left to the system.
constexpr const char* most_request_bytes = "8192";
constexpr const char* most_waiting = "16";

prometheus::MetricType type_of(metric_kind kind) {
  switch (kind) {
    case metric_kind::counter: return prometheus::MetricType::Counter;
    case metric_kind::gauge: return prometheus::MetricType::Gauge;
    case metric_kind::histogram: return prometheus::MetricType::Histogram;
  }
  return prometheus::MetricType::Untyped;
}

// The families of one scrape, in the order of the list of names.
class scrape final : public sink {
 public:
  explicit scrape(const std::string& job_name) : job_name_(job_name), families_(declarations.size()) {}

  void value(metric m, label_values labels, double value) override {
    prometheus::ClientMetric out = labelled(m, std::move(labels));
    if (declaration_of(m).kind == metric_kind::counter)
      out.counter.value = value;
    else
      out.gauge.value = value;
    add(m, std::move(out));
  }

  void histogram(metric m, label_values labels, const histogram_value& value) override {
    prometheus::ClientMetric out = labelled(m, std::move(labels));
    FLOWRUN_CHECK(value.counts.size() == value.upper_bounds.size() + 1);
    uint64_t count = 0;
    for (size_t i = 0; i < value.upper_bounds.size(); ++i) {
      count += value.counts[i];
      out.histogram.bucket.push_back({count, value.upper_bounds[i]});
    }
    out.histogram.sample_count = count + value.counts.back();
    out.histogram.sample_sum = value.sum;
    add(m, std::move(out));
  }

  std::vector<prometheus::MetricFamily> take() {
    std::erase_if(families_, [](const prometheus::MetricFamily& f) { return f.metric.empty(); });
    return std::move(families_);
  }

 private:
  prometheus::ClientMetric labelled(metric m, label_values values) const {
    prometheus::ClientMetric out;
    out.label.push_back({std::string(common_label), job_name_});
    std::string_view names = declaration_of(m).labels;
    for (std::string& value : values) {
      FLOWRUN_CHECK(!names.empty());
      const size_t end = std::min(names.find(','), names.size());
      out.label.push_back({std::string(names.substr(0, end)), std::move(value)});
      names.remove_prefix(std::min(end + 1, names.size()));
    }
    FLOWRUN_CHECK(names.empty());
    return out;
  }

  void add(metric m, prometheus::ClientMetric value) {
    prometheus::MetricFamily& family = families_[static_cast<size_t>(m)];
    if (family.metric.empty()) {
      const metric_declaration& d = declaration_of(m);
      family.name = d.name;
      family.help = d.help;
      family.type = type_of(d.kind);
    }
    family.metric.push_back(std::move(value));
  }

  const std::string& job_name_;
  std::vector<prometheus::MetricFamily> families_;
};

class bridge final : public prometheus::Collectable {
 public:
  bridge(collection& source, std::string job_name) : source_(source), job_name_(std::move(job_name)) {}
  std::vector<prometheus::MetricFamily> Collect() const override {
    scrape now(job_name_);
    source_.collect(now);
    return now.take();
  }

 private:
  collection& source_;
  const std::string job_name_;
};

// Why nobody can listen there, as an errno; 0: it can be done. The web server doesn't tell.
int refusal_of(const std::string& host, uint16_t port) {
  sockaddr_storage address{};
  socklen_t size = 0;
  const bool six = host.find(':') != std::string::npos;
  if (six) {
    auto& v6 = reinterpret_cast<sockaddr_in6&>(address);
    const size_t skip = host.starts_with('[') ? 1 : 0;
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    size = sizeof v6;
    if (::inet_pton(AF_INET6, host.substr(skip, host.size() - 2 * skip).c_str(), &v6.sin6_addr) != 1)
      return EADDRNOTAVAIL;
  } else {
    auto& v4 = reinterpret_cast<sockaddr_in&>(address);
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    size = sizeof v4;
    if (::inet_pton(AF_INET, host.c_str(), &v4.sin_addr) != 1) return EADDRNOTAVAIL;
  }
  const int trial = ::socket(six ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (trial < 0) return errno;
  // As the server does: connections of a job that has just ended are in nobody's way.
  const int yes = 1;
  ::setsockopt(trial, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (six) ::setsockopt(trial, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes);
  int problem = ::bind(trial, reinterpret_cast<const sockaddr*>(&address), size) == 0 ? 0 : errno;
  if (problem == 0 && ::listen(trial, 1) != 0) problem = errno;
  ::close(trial);
  return problem;
}

std::optional<uint16_t> port_of(std::string_view text) {
  uint16_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

std::string page_of(collection& source, const std::string& job_name) {
  scrape now(job_name);
  source.collect(now);
  std::ostringstream out;
  prometheus::TextSerializer().Serialize(out, now.take());
  return std::move(out).str();
}

listen_range listen_addresses(std::string_view text, std::string_view what, std::string_view usual) {
  const size_t colon = text.rfind(':');
  const bool bare = colon == std::string_view::npos || (text.starts_with('[') && text.ends_with(']'));
  std::string_view host = bare ? std::string_view{} : text.substr(0, colon);
  const std::string_view ports = bare ? text : text.substr(colon + 1);
  if (host.empty()) host = "127.0.0.1";
  if (host == "localhost") host = "127.0.0.1";
  const size_t dash = ports.find('-');
  const std::optional<uint16_t> first = port_of(ports.substr(0, dash));
  const std::optional<uint16_t> last = dash == std::string_view::npos ? first : port_of(ports.substr(dash + 1));
  const bool range_is_wrong = dash != std::string_view::npos && first && last && (*first == 0 || *last < *first);
  const bool odd = host.find_first_not_of("0123456789abcdefABCDEF.:[]") != std::string_view::npos;
  if (!first || !last || range_is_wrong || odd)
    throw error(error_kind::usage, fmt::format("'{}' is no address to serve {} at", text, what),
                fmt::format("give a port ({0}: this machine only) or ADDRESS:PORT (0.0.0.0:{0}: everyone may ask); "
                            "9464-9473 takes the first port that is free, port 0 any",
                            usual));
  return {std::string(host), *first, *last};
}

class exporter::server {
 public:
  server(const std::string& address, collection& source, const std::string& job_name)
      : bridge_(std::make_shared<bridge>(source, job_name)),
        exposer_(std::vector<std::string>{"listening_ports", address, "num_threads", num_threads, "request_timeout_ms",
                                          request_timeout_ms, "max_request_size", most_request_bytes,
                                          "connection_queue", most_waiting, "listen_backlog", most_waiting,
                                          "enable_keep_alive", "no", "enable_directory_listing", "no"}) {
    exposer_.RegisterCollectable(bridge_);
  }
  int port() const {
    const std::vector<int> ports = exposer_.GetListeningPorts();
    return ports.empty() ? 0 : ports.front();
  }

 private:
  std::shared_ptr<bridge> bridge_;
  prometheus::Exposer exposer_;
};

exporter::exporter(std::string_view addresses, collection& source, const std::string& job_name) {
  const listen_range range = listen_addresses(addresses);
  for (uint32_t port = range.first; port <= range.last && !server_; ++port) {
    const int refusal = refusal_of(range.host, static_cast<uint16_t>(port));
    if (refusal == EADDRINUSE) continue;
    const std::string where = fmt::format("{}:{}", range.host, port);
    if (refusal != 0)
      throw error(
          error_kind::io, fmt::format("can't serve metrics at {}: {}", where, errno_text(refusal)),
          refusal == EACCES ? "choose a port from 1024 on" : "give an address of this machine, or a port alone");
    try {
      server_ = std::make_unique<server>(where, source, job_name);
    } catch (const std::exception&) {  // another process was faster
    }
  }
  if (!server_) {
    const bool one = range.first == range.last;
    throw address_taken(error_kind::io,
                        fmt::format("can't serve metrics at {}:{}{}: {} taken", range.host, range.first,
                                    one ? "" : fmt::format("-{}", range.last), one ? "the port is" : "all ports are"),
                        "give a range of ports, as 9464-9473, or port 0 for any free one");
  }
  url_ = fmt::format("http://{}:{}/metrics", range.host, server_->port());
}

exporter::~exporter() = default;

}  // namespace flowrun::metrics
