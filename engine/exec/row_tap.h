// A look at the rows of a running job: the next few that a node gives on (of a sink: takes in), copied for someone who
// asks while the job goes on.
//
// Each node has a tap for as long as the job lives, over all runs of its graph. Whoever carries a batch reads one flag;
// nothing else happens while nobody asks. Where someone does, the first rows of the next batches are copied, up to a
// number of rows and of bytes, then the flag is taken back. A copy takes microseconds under a mutex that the asker
// holds only to fetch it, so no pipeline waits for a reader, and no batch lives longer because somebody has looked at
// it.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/mutex.h"
#include "engine/plan/graph.h"
#include "engine/record/batch.h"

namespace flowrun::exec {

// Copied rows; texts that are long have lost their ends.
struct tapped_rows {
  std::vector<std::byte> rows;
  std::string heap;
  size_t num_rows = 0;
};

class row_tap {
 public:
  // What one answer has at most.
  static constexpr size_t most_rows = 64;
  static constexpr size_t most_bytes = 64 * 1024;
  static constexpr size_t most_text_bytes = 2048;  // of a value

  struct port {
    std::string name;
    record::row_type type;
  };

  row_tap(std::string node, std::vector<port> ports, bool takes_input)
      : node_(std::move(node)), ports_(std::move(ports)), takes_input_(takes_input) {}
  row_tap(const row_tap&) = delete;
  row_tap& operator=(const row_tap&) = delete;

  const std::string& node() const { return node_; }  // as the report calls it
  const std::vector<port>& ports() const { return ports_; }
  bool takes_input() const { return takes_input_; }  // of a sink: it shows what goes in

  // --- for workers, from any thread ---
  bool wanted() const { return wanted_.load(std::memory_order_relaxed); }
  void show(const record::batch& b, unsigned port);

  // --- for who asks, from any thread ---
  enum class outcome { rows, nothing_came, taken, over };
  // Up to `num_rows` rows of a port: waits for them for so long at most, and takes what has come by then. taken:
  // somebody else asks just now. over: the job has ended.
  outcome ask(unsigned port, size_t num_rows, std::chrono::milliseconds patience, tapped_rows& to);
  // The job has ended: whoever waits goes.
  void close();

 private:
  void copy(const record::row_type& type, const std::byte* row, const std::byte* heap) FLOWRUN_REQUIRES(mutex_);
  bool full() const FLOWRUN_REQUIRES(mutex_) {
    return kept_.num_rows >= asked_rows_ || kept_.rows.size() + kept_.heap.size() >= most_bytes;
  }

  const std::string node_;
  const std::vector<port> ports_;
  const bool takes_input_;
  std::atomic<bool> wanted_{false};
  mutex mutex_;
  condition changed_;
  bool asked_ FLOWRUN_GUARDED_BY(mutex_) = false;
  bool closed_ FLOWRUN_GUARDED_BY(mutex_) = false;
  unsigned asked_port_ FLOWRUN_GUARDED_BY(mutex_) = 0;
  size_t asked_rows_ FLOWRUN_GUARDED_BY(mutex_) = 0;
  tapped_rows kept_ FLOWRUN_GUARDED_BY(mutex_);
};

// One for each node of a graph, by its number; null for those that only the engine knows.
std::vector<std::shared_ptr<row_tap>> make_taps(const plan::graph& g);

}  // namespace flowrun::exec
