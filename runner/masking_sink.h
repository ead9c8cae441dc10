// Metrics on their way to a sink, whose labels show no values of the environment.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "engine/metrics/collection.h"
#include "runner/environment_mask.h"
#include "specs/source_text.h"

namespace flowrun::runner {

// Labels are paths, and names of the job and its nodes.
class masking_sink final : public metrics::sink {
 public:
  masking_sink(metrics::sink& into, const environment_mask& mask) : into_(into), mask_(mask) {}
  void value(metrics::metric m, metrics::label_values labels, double value) override {
    into_.value(m, masked(m, std::move(labels)), value);
  }
  void histogram(metrics::metric m, metrics::label_values labels, const metrics::histogram_value& value) override {
    into_.histogram(m, masked(m, std::move(labels)), value);
  }

 private:
  // Ids of nodes and names of operators stay. Prometheus takes no page that isn't UTF-8.
  metrics::label_values masked(metrics::metric m, metrics::label_values labels) const {
    std::string_view names = metrics::declaration_of(m).labels;
    for (std::string& label : labels) {
      const std::string_view name = names.substr(0, names.find(','));
      names.remove_prefix(std::min(names.size(), name.size() + 1));
      if (name != "node" && name != "op") label = mask_.masked(label);
      if (!specs::is_utf8(label)) label = specs::made_utf8(label);
    }
    return labels;
  }

  metrics::sink& into_;
  const environment_mask& mask_;
};

}  // namespace flowrun::runner
