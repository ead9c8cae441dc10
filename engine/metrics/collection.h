// Where the values of metrics come from when they are asked for: nothing is counted twice. The owner of counters (a
// running job) attaches a collector; a scrape calls it, and it hands over what the counters say at that moment.
//
//   job ── attach ─▶ collection ◀── collect ── exporter (on a scrape)
//
// Invariant: once the attachment is gone its collector isn't running and is never called again, so that a scrape can't
// touch a job that is being taken down.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/mutex.h"
#include "engine/metrics/names.h"

namespace flowrun::metrics {

// Label values, in the order of the metric's declaration.
using label_values = std::vector<std::string>;

// Bucket i counts observations of at most upper_bounds[i]; counts has one bucket more, for everything above.
struct histogram_value {
  std::vector<double> upper_bounds;
  std::vector<uint64_t> counts;
  double sum = 0;
};

// Takes the values of one scrape. Called on the thread that scrapes.
class sink {
 public:
  virtual ~sink() = default;
  // A counter or gauge. Each metric and set of labels at most once a scrape.
  virtual void value(metric m, label_values labels, double value) = 0;
  virtual void histogram(metric m, label_values labels, const histogram_value& value) = 0;
};

using collector = std::function<void(sink&)>;

// Thread-safe.
class collection {
 public:
  // Detaches on destruction, waiting for a scrape that is under way. May not outlive the collection.
  class attachment {
   public:
    attachment() = default;
    attachment(attachment&& other) noexcept : owner_(std::exchange(other.owner_, nullptr)), where_(other.where_) {}
    attachment& operator=(attachment&& other) noexcept {
      std::swap(owner_, other.owner_);
      std::swap(where_, other.where_);
      return *this;
    }
    ~attachment();

   private:
    friend class collection;
    collection* owner_ = nullptr;
    std::list<collector>::iterator where_;
  };

  // `from` is called by scrapes, one at a time, from any thread, until the attachment is gone. It must not attach or
  // detach.
  [[nodiscard]] attachment attach(collector from);
  // Runs all collectors, first attached first.
  void collect(sink& into);

 private:
  mutex mutex_;  // held while collectors run
  std::list<collector> collectors_ FLOWRUN_GUARDED_BY(mutex_);
};

}  // namespace flowrun::metrics
