#include "engine/metrics/exporter.h"

#include <fmt/format.h>
#include <prometheus/client_metric.h>
#include <prometheus/metric_family.h>
#include <prometheus/metric_type.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <sstream>

#include "engine/base/error.h"

namespace flowrun::metrics {

namespace {

// As Prometheus calls the format of the page.
constexpr const char* page_type = "text/plain; version=0.0.4; charset=utf-8";

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

}  // namespace

std::string page_of(collection& source, const std::string& job_name) {
  scrape now(job_name);
  source.collect(now);
  std::ostringstream out;
  prometheus::TextSerializer().Serialize(out, now.take());
  return std::move(out).str();
}

exporter::exporter(std::string_view addresses, collection& source, const std::string& job_name) {
  const listen_range range = listen_addresses(addresses);
  const auto answer = [&source, job_name](const web_request& request) -> web_answer {
    if (request.path != "/metrics") return {.status = 404, .body = "there is /metrics\n"};
    return {.type = page_type, .body = page_of(source, job_name)};
  };
  serve_at_first_free(range, "metrics", [&](const std::string& where) {
    try {
      server_ = std::make_unique<web_server>(where, answer);
    } catch (const std::exception&) {  // another process was faster
    }
    return server_ != nullptr;
  });
  url_ = fmt::format("http://{}:{}/metrics", range.host, server_->port());
}

}  // namespace flowrun::metrics
