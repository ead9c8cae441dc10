#include "engine/metrics/names.h"

#include <fmt/format.h>

#include <algorithm>

namespace flowrun::metrics {

std::string_view to_string(metric_kind kind) {
  switch (kind) {
    case metric_kind::counter: return "counter";
    case metric_kind::gauge: return "gauge";
    case metric_kind::histogram: return "histogram";
  }
  return {};
}

std::string list_metrics() {
  size_t width = 0;
  for (const metric_declaration& d : declarations) width = std::max(width, d.name.size() + d.labels.size() + 2);
  std::string out;
  for (const metric_declaration& d : declarations) {
    const std::string series = d.labels.empty() ? std::string(d.name) : fmt::format("{}{{{}}}", d.name, d.labels);
    out += fmt::format("{:<{}}  {:<9}  {}\n", series, width, to_string(d.kind), d.help);
  }
  return out;
}

}  // namespace flowrun::metrics
