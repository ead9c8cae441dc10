// Metrics on their way to a sink, whose labels show no values of the environment.
#pragma once

#include <string>
#include <utility>

#include "engine/metrics/collection.h"
#include "runner/environment_mask.h"

namespace flowrun::runner {

// Labels are paths and names of the job.
class masking_sink final : public metrics::sink {
 public:
  masking_sink(metrics::sink& into, const environment_mask& mask) : into_(into), mask_(mask) {}
  void value(metrics::metric m, metrics::label_values labels, double value) override {
    into_.value(m, masked(std::move(labels)), value);
  }
  void histogram(metrics::metric m, metrics::label_values labels, const metrics::histogram_value& value) override {
    into_.histogram(m, masked(std::move(labels)), value);
  }

 private:
  metrics::label_values masked(metrics::label_values labels) const {
    if (!mask_.empty())
      for (std::string& label : labels) label = mask_.masked(label);
    return labels;
  }

  metrics::sink& into_;
  const environment_mask& mask_;
};

}  // namespace flowrun::runner
