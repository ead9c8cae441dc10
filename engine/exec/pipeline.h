// A pipeline at work: one task carries one batch from the head through every stage behind it (decision D3).
//
//   head ─▶ [stateless stages: several batches at once] ─▶ gate ─▶ [the rest: one batch at a time, in order]
//
// The head is pulled by one thread at a time; what it gives gets a ticket. A thread that pulled carries its batch
// through the stateless stages at once, while others pull the next. At the gate tickets pass in order: the thread that
// brings the ticket whose turn it is carries it, and all that wait behind it, through the ordered part. Other threads
// park theirs and go back to the head.
//
// Memory: at most `max_tickets` are between the head and the end of the gate, and the head rests while those that wait
// there are large. A stage that has made a batch from a part of its input leaves the rest: what it made goes through
// the stages behind it first. A ticket that has grown to its share is finished behind the gate, where each piece goes
// all the way before the next one is made. So is a ticket with a very long row, since behind the gate there is only one
// such row at a time; and while one that the head gave is under way, the head rests.
//
// A head or a stage that is blocked leaves the pipeline's waker behind, and its thread returns to the executor; the
// wake posts a new worker.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "engine/base/mutex.h"
#include "engine/base/units.h"
#include "engine/exec/operator.h"
#include "engine/exec/operator_definition.h"
#include "engine/exec/row_tap.h"
#include "engine/exec/services.h"
#include "engine/exec/task_executor.h"

namespace flowrun::exec {

// The tree of a pipeline, as built from the plan.
struct pipeline_tree {
  struct node {
    stage work;
    std::string name = {};                        // of the node that it is of
    node_counters* busy = nullptr;                // gets the time
    node_counters* input = nullptr;               // gets the rows that come in; null behind the first stage of a node
    node_counters* output = nullptr;              // gets the rows that go out; null before the last stage of a node
    row_tap* tap = nullptr;                       // is shown what `output` counts, or, of a sink, what `input` does
    std::vector<std::vector<uint32_t>> children;  // by output port: indices into `stages`
  };
  std::unique_ptr<source> head;
  std::string head_name;
  node_counters* head_busy = nullptr;
  node_counters* head_output = nullptr;  // null when stages of the same node follow
  row_tap* head_tap = nullptr;           // with it
  std::vector<std::vector<uint32_t>> head_children;
  std::vector<node> stages;                            // parents before children
  expr::run_limits limits = {.num_bytes = 256 * KiB};  // of a step
  uint64_t most_parked_bytes = 16 * MiB;               // while so much waits at the gate, the head rests
  bool notes_positions = false;                        // ordered stages are told where the head was
};

// What a pipeline tells the job. Called from workers.
struct pipeline_events {
  std::function<void()> finished;
  std::function<void(std::exception_ptr)> failed;
  std::function<bool()> stopped;  // the job ends early
};

class pipeline {
 public:
  pipeline(pipeline_tree tree, task_executor& executor, unsigned max_workers, unsigned max_tickets,
           pipeline_events events);
  ~pipeline();
  pipeline(const pipeline&) = delete;
  pipeline& operator=(const pipeline&) = delete;

  // Posts the first worker.
  void start();
  // Destroys head and stages: waits for their transfers. No worker may be inside any more, but wakes may still come.
  void dismantle();
  // "0 workers at work, 3 pieces under way, 'by_key' waits for memory", for the watchdog.
  std::string state() const;

 private:
  struct item {
    uint32_t stage;  // to enter
    record::batch batch;
    bool is_rest = false;  // the stage has taken and left it already
    uint64_t within = 0;   // output::within()
  };
  struct gate_entry {
    std::vector<item> items;
    uint64_t num_bytes = 0;
    resume::source_position from = {};  // where the head was
    bool is_long = false;               // the head gave a very long row
  };
  class role_waker final : public waker {
   public:
    explicit role_waker(pipeline& owner) : owner_(owner) {}
    void wake() noexcept override;
    bool blocked = false;  // guarded by pipeline::mutex_, as are the next three
    bool woken = false;
    uint64_t since_ns = 0;
    blocked_on why = blocked_on::io;

   private:
    pipeline& owner_;
  };

  // Not analysed: they open the lock while operators work, and what these throw comes out with the lock open.
  void work() noexcept FLOWRUN_NO_THREAD_SAFETY_ANALYSIS;
  void pull(mutex_lock& lock) FLOWRUN_REQUIRES(mutex_) FLOWRUN_NO_THREAD_SAFETY_ANALYSIS;
  void pass_gate(mutex_lock& lock) FLOWRUN_REQUIRES(mutex_) FLOWRUN_NO_THREAD_SAFETY_ANALYSIS;

  void post_worker_locked() FLOWRUN_REQUIRES(mutex_);
  bool may_pull_locked() const FLOWRUN_REQUIRES(mutex_);
  bool gate_is_ready_locked() const FLOWRUN_REQUIRES(mutex_);
  void route(std::vector<std::pair<unsigned, record::batch>>& from, const std::vector<std::vector<uint32_t>>& children,
             std::vector<item>& to) const;
  void carry_in_parallel(std::vector<item> items, gate_entry& entry);
  outcome carry_in_order(std::vector<item>& stack);
  void note_position(resume::source_position from);
  outcome finish_stages();
  outcome apply_last(std::vector<item>& items, const expr::run_limits& limits);
  bool apply_last_in_parallel(std::vector<item>& items);
  void sleep_locked(role_waker& w, blocked_on why) FLOWRUN_REQUIRES(mutex_);
  void charge_locked(role_waker& w, node_counters* c) FLOWRUN_REQUIRES(mutex_);

  pipeline_tree tree_;
  std::vector<bool> in_parallel_;  // by stage: before the gate
  bool has_parallel_ = false;
  task_executor& executor_;
  const unsigned max_workers_;
  const unsigned max_tickets_;
  const uint64_t most_ticket_bytes_;  // for the ordered part, before the gate
  const pipeline_events events_;

  mutable mutex mutex_;
  unsigned workers_ FLOWRUN_GUARDED_BY(mutex_) = 0;  // running or posted
  bool ended_ FLOWRUN_GUARDED_BY(mutex_) = false;    // finished, or told to stop
  bool in_head_ FLOWRUN_GUARDED_BY(mutex_) = false;
  bool head_done_ FLOWRUN_GUARDED_BY(mutex_) = false;
  uint64_t next_ticket_ FLOWRUN_GUARDED_BY(mutex_) = 0;
  unsigned tickets_out_ FLOWRUN_GUARDED_BY(mutex_) = 0;
  unsigned long_tickets_ FLOWRUN_GUARDED_BY(mutex_) = 0;  // of these
  bool in_gate_ FLOWRUN_GUARDED_BY(mutex_) = false;
  uint64_t next_at_gate_ FLOWRUN_GUARDED_BY(mutex_) = 0;
  std::map<uint64_t, gate_entry> parked_ FLOWRUN_GUARDED_BY(mutex_);
  uint64_t parked_bytes_ FLOWRUN_GUARDED_BY(mutex_) = 0;
  role_waker head_waker_;  // what is in them: guarded, too
  role_waker gate_waker_;
  // Owned by the thread in the gate.
  std::vector<item> stack_;     // what is left of the current ticket; the last is next
  size_t finishing_ = 0;        // stages that have finished, once the head is done
  uint32_t blocked_stage_ = 0;  // the stage that blocked the gate
};

}  // namespace flowrun::exec
