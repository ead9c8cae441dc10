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
  const auto series_of = [](const metric_declaration& d) {
    return fmt::format("{}{{{}{}{}}}", d.name, common_label, d.labels.empty() ? "" : ",", d.labels);
  };
  size_t width = 0;
  for (const metric_declaration& d : declarations) width = std::max(width, series_of(d).size());
  std::string out;
  for (const metric_declaration& d : declarations) {
    const std::string series = series_of(d);
    out += fmt::format("{:<{}}  {:<9}  {}\n", series, width, to_string(d.kind), d.help);
  }
  return out;
}

}  // namespace flowrun::metrics
