#include "engine/exec/pipeline.h"

#include <algorithm>

#include "engine/base/clock.h"
#include "engine/base/counted.h"
#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/expr/outside_function.h"
#include "engine/record/row_too_large.h"

namespace flowrun::exec {

namespace {

ordered_stage* ordered(const stage& s) {
  const auto* p = std::get_if<std::unique_ptr<ordered_stage>>(&s);
  return p == nullptr ? nullptr : p->get();
}

void count_in(node_counters* c, uint64_t num_rows, uint64_t num_bytes) {
  if (c == nullptr) return;
  c->rows_in.fetch_add(num_rows, std::memory_order_relaxed);
  c->bytes_in.fetch_add(num_bytes, std::memory_order_relaxed);
}

// An input may be taken in several pieces whose batches share its heap: the heap is counted with the last of them only.
void count_out(node_counters* c, output& out) {
  if (c == nullptr) return;
  for (const auto& [port, batch] : out.items()) {
    const bool counts_heap = !out.leaves_rows() || batch.heap != out.input_heap();
    c->rows_out.fetch_add(batch.num_rows, std::memory_order_relaxed);
    c->bytes_out.fetch_add(batch.num_bytes() - (counts_heap ? 0 : batch.heap_bytes), std::memory_order_relaxed);
  }
}

void show_out(row_tap* tap, output& out) {
  if (tap == nullptr || !tap->wanted() || tap->takes_input()) return;
  for (const auto& [port, batch] : out.items()) tap->show(batch, port);
}

// After so many batches a worker goes to the end of the queue, so that other pipelines and background sorting get their
// turn. On the plain executor, the only thread then looks at the stop flag.
constexpr unsigned turns_per_task = 64;

// Tickets that have grown to their share of what may wait at the gate are finished behind it. But where rows only grow
// a few times as large, it pays to let several threads make them.
constexpr uint64_t largest_ticket_share = 4 * MiB;

// Longer rows are made behind the gate, one at a time.
constexpr uint64_t longest_parallel_row = 1 * MiB;

uint64_t ticket_share(uint64_t most_parked_bytes, uint64_t batch_bytes, unsigned max_tickets) {
  const uint64_t share = most_parked_bytes / std::max(max_tickets, 1U);
  return std::max(std::min(share, largest_ticket_share), 4 * batch_bytes);
}

// Adds the time from its construction to a counter.
class stopwatch {
 public:
  explicit stopwatch(node_counters* c) : counters_(c), start_(now_ns()) {}
  ~stopwatch() {
    if (counters_ != nullptr) counters_->busy_ns.fetch_add(now_ns() - start_, std::memory_order_relaxed);
  }
  stopwatch(const stopwatch&) = delete;
  stopwatch& operator=(const stopwatch&) = delete;

 private:
  node_counters* counters_;
  uint64_t start_;
};

// Work of a node: gets the time, and says whose row was too large, or whose function failed.
template <class Work>
void run_as(const std::string& name, node_counters* busy, Work work) {
  const stopwatch time(busy);
  try {
    work();
  } catch (const record::row_too_large& cause) {
    throw record::row_too_large(name, cause);
  } catch (const expr::call_failed& cause) {
    throw expr::call_failed(name, cause);
  }
}

}  // namespace

pipeline::pipeline(pipeline_tree tree, task_executor& executor, unsigned max_workers, unsigned max_tickets,
                   pipeline_events events)
    : tree_(std::move(tree)),
      in_parallel_(tree_.stages.size(), false),
      executor_(executor),
      max_workers_(std::max(max_workers, 1U)),
      max_tickets_(std::max(max_tickets, 1U)),
      most_ticket_bytes_(ticket_share(tree_.most_parked_bytes, tree_.limits.num_bytes, max_tickets)),
      events_(std::move(events)),
      head_waker_(*this),
      gate_waker_(*this) {
  // Before the gate: stateless stages whose parents, up to the head, are stateless too.
  std::vector<bool> reached(tree_.stages.size(), false);
  auto reach = [&](const std::vector<std::vector<uint32_t>>& children) {
    for (const auto& port : children)
      for (uint32_t child : port) reached[child] = true;
  };
  reach(tree_.head_children);
  for (uint32_t i = 0; i < tree_.stages.size(); ++i) {
    if (!reached[i] || ordered(tree_.stages[i].work) != nullptr) continue;
    in_parallel_[i] = true;
    has_parallel_ = true;
    reach(tree_.stages[i].children);
  }
}

pipeline::~pipeline() { dismantle(); }

void pipeline::dismantle() {
  stack_.clear();
  std::map<uint64_t, gate_entry> parked;  // dies outside the lock
  {
    mutex_lock lock(mutex_);
    parked.swap(parked_);
  }
  parked.clear();
  tree_.head.reset();
  tree_.stages.clear();
}

void pipeline::start() {
  mutex_lock lock(mutex_);
  post_worker_locked();
}

void pipeline::role_waker::wake() noexcept {
  mutex_lock lock(owner_.mutex_);
  woken = true;
  if (!blocked) return;
  blocked = false;
  owner_.post_worker_locked();
}

void pipeline::post_worker_locked() {
  if (workers_ >= max_workers_ || ended_) return;
  ++workers_;
  executor_.post([this] { work(); });
}

bool pipeline::may_pull_locked() const {
  if (in_head_ || head_done_ || head_waker_.blocked) return false;
  if (tickets_out_ == 0) return true;
  return long_tickets_ == 0 && tickets_out_ < max_tickets_ && parked_bytes_ < tree_.most_parked_bytes;
}

bool pipeline::gate_is_ready_locked() const {
  if (in_gate_ || gate_waker_.blocked) return false;
  return parked_.contains(next_at_gate_) || (head_done_ && !in_head_ && tickets_out_ == 0);
}

void pipeline::work() noexcept {
  mutex_lock lock(mutex_);
  try {
    for (unsigned turns = 0; !ended_; ++turns) {
      if (turns == turns_per_task) return executor_.post([this] { work(); });
      if (events_.stopped()) {
        ended_ = true;
      } else if (gate_is_ready_locked()) {
        pass_gate(lock);
      } else if (may_pull_locked()) {
        pull(lock);
      } else {
        break;
      }
    }
  } catch (...) {
    if (!lock.owns_lock()) lock.lock();
    ended_ = true;
    events_.failed(std::current_exception());
  }
  --workers_;
}

void pipeline::sleep_locked(role_waker& w, blocked_on why) {
  if (w.woken) return;  // the wake came before we got here: try again at once
  w.blocked = true;
  w.why = why;
  w.since_ns = now_ns();
}

void pipeline::charge_locked(role_waker& w, node_counters* c) {
  if (w.since_ns == 0) return;
  if (c != nullptr)
    c->blocked_ns[static_cast<size_t>(w.why)].fetch_add(now_ns() - w.since_ns, std::memory_order_relaxed);
  w.since_ns = 0;
}

void pipeline::pull(mutex_lock& lock) {
  in_head_ = true;
  head_waker_.woken = false;
  charge_locked(head_waker_, tree_.head_busy);
  lock.unlock();
  gate_entry entry;
  if (tree_.notes_positions) entry.from = tree_.head->position();
  output out(tree_.limits);
  outcome result;
  run_as(tree_.head_name, tree_.head_busy, [&] { result = tree_.head->pull(out, head_waker_); });
  count_out(tree_.head_output, out);
  show_out(tree_.head_tap, out);
  std::vector<item> items;
  route(out.items(), tree_.head_children, items);
  lock.lock();
  in_head_ = false;
  if (result.is_blocked()) sleep_locked(head_waker_, result.why());
  if (result.is_done()) head_done_ = true;
  if (items.empty()) return;
  const uint64_t ticket = next_ticket_++;
  ++tickets_out_;
  // One very long row, or a few in one parcel.
  entry.is_long = std::any_of(items.begin(), items.end(), [&](const item& one) {
    const uint64_t longest = std::max(longest_parallel_row, 4 * tree_.limits.num_bytes);
    return one.batch.num_bytes() > one.batch.num_rows * longest;
  });
  if (entry.is_long) ++long_tickets_;
  if (may_pull_locked()) post_worker_locked();
  lock.unlock();
  carry_in_parallel(std::move(items), entry);
  lock.lock();
  parked_bytes_ += entry.num_bytes;
  parked_[ticket] = std::move(entry);
}

void pipeline::pass_gate(mutex_lock& lock) {
  in_gate_ = true;
  gate_waker_.woken = false;
  charge_locked(gate_waker_, blocked_stage_ < tree_.stages.size() ? tree_.stages[blocked_stage_].busy : nullptr);
  const bool finishing = head_done_ && !in_head_ && tickets_out_ == 0;
  resume::source_position from;
  if (!finishing && stack_.empty()) {
    gate_entry& next = parked_[next_at_gate_];
    stack_ = std::move(next.items);
    from = std::move(next.from);
    std::reverse(stack_.begin(), stack_.end());
  }
  if (may_pull_locked()) post_worker_locked();
  lock.unlock();
  if (!from.empty()) note_position(std::move(from));
  const outcome result = finishing ? finish_stages() : carry_in_order(stack_);
  lock.lock();
  in_gate_ = false;
  if (result.is_blocked()) {
    sleep_locked(gate_waker_, result.why());
  } else if (finishing) {
    ended_ = true;
    lock.unlock();
    events_.finished();
    lock.lock();
  } else {
    const auto passed = parked_.find(next_at_gate_++);
    parked_bytes_ -= passed->second.num_bytes;
    if (passed->second.is_long) --long_tickets_;
    parked_.erase(passed);
    --tickets_out_;
  }
}

void pipeline::route(std::vector<std::pair<unsigned, record::batch>>& from,
                     const std::vector<std::vector<uint32_t>>& children, std::vector<item>& to) const {
  for (auto& [port, batch] : from) {
    if (port >= children.size()) continue;
    for (uint32_t child : children[port]) to.push_back({child, batch});
  }
  from.clear();
}

// Lets its stage take the last item. It goes, or stays with what is left of it; what came of it lies above, the first
// batch on top.
outcome pipeline::apply_last(std::vector<item>& items, const expr::run_limits& limits) {
  item& in = items.back();
  pipeline_tree::node& n = tree_.stages[in.stage];
  output out(limits, in.batch, in.within);
  const uint64_t rows_before = in.batch.num_rows;
  const uint64_t bytes_before = in.batch.num_bytes();
  record::batch shown;  // of a sink that somebody looks at; once it is known how much of it was taken
  if (n.tap != nullptr && n.tap->wanted() && n.tap->takes_input()) shown = in.batch;
  outcome result = outcome::ready();
  run_as(n.name, n.busy, [&] {
    if (ordered_stage* in_order = ordered(n.work))
      result = in_order->push(in.batch, out, gate_waker_);
    else
      std::get<std::unique_ptr<stateless_stage>>(n.work)->apply(in.batch, out);
  });
  const bool stays = result.is_blocked() || out.leaves_rows();
  if (out.leaves_rows()) {
    in.batch = in.batch.slice(out.rows_taken(), in.batch.num_rows - out.rows_taken());
    in.within = out.within();
    in.is_rest = true;
  }
  count_in(n.input, rows_before - (stays ? in.batch.num_rows : 0), bytes_before - (stays ? in.batch.num_bytes() : 0));
  count_out(n.output, out);
  if (shown.num_rows > 0)
    n.tap->show(shown.slice(0, rows_before - (stays ? items.back().batch.num_rows : 0)), 0);
  else
    show_out(n.tap, out);
  if (!stays) items.pop_back();
  const size_t before = items.size();
  route(out.items(), n.children, items);
  std::reverse(items.begin() + static_cast<std::ptrdiff_t>(before), items.end());
  return result;
}

// False: the row is too long to be taken before the gate, where several threads work.
bool pipeline::apply_last_in_parallel(std::vector<item>& items) {
  const record::batch& in = items.back().batch;
  if (in.num_rows == 1 && in.num_bytes() > longest_parallel_row) return false;
  expr::run_limits limits = tree_.limits;
  limits.row_bytes = std::min(limits.row_bytes, longest_parallel_row);
  try {
    static_cast<void>(apply_last(items, limits));  // a stage without state never waits
    return true;
  } catch (const record::row_too_large&) {
    return false;
  }
}

// Depth first, so that batches keep their order along every edge.
void pipeline::carry_in_parallel(std::vector<item> items, gate_entry& entry) {
  std::reverse(items.begin(), items.end());
  const std::byte* heap = nullptr;  // counted already
  const auto leave_last = [&] {
    const record::batch& b = items.back().batch;
    entry.num_bytes += b.num_bytes() - (b.heap == heap ? b.heap_bytes : 0);
    heap = b.heap;
    entry.items.push_back(std::move(items.back()));
    items.pop_back();
  };
  while (!items.empty()) {
    if (!in_parallel_[items.back().stage]) {
      leave_last();
      continue;
    }
    if (items.back().is_rest && events_.stopped()) return;  // as will be seen before any ticket passes the gate
    const bool has_grown = items.back().is_rest && entry.num_bytes >= most_ticket_bytes_;
    if (!has_grown && apply_last_in_parallel(items)) continue;
    while (!items.empty()) leave_last();
  }
}

outcome pipeline::carry_in_order(std::vector<item>& stack) {
  while (!stack.empty()) {
    if (stack.back().is_rest && events_.stopped()) return outcome::blocked(blocked_on::output);  // no wake will come
    const uint32_t index = stack.back().stage;
    const size_t before = stack.size();
    const outcome result = apply_last(stack, tree_.limits);
    if (result.is_blocked() && stack.size() == before) {
      blocked_stage_ = index;
      return result;
    }
  }
  return outcome::ready();
}

// The last ordered stage is told, with the states of those before it.
void pipeline::note_position(resume::source_position from) {
  resume::pipeline_position at{std::move(from), {}};
  ordered_stage* end = nullptr;
  for (pipeline_tree::node& n : tree_.stages) {
    ordered_stage* const in_order = ordered(n.work);
    if (in_order == nullptr) continue;
    if (end != nullptr) at.states.push_back(end->state(at.source));
    end = in_order;
  }
  if (end != nullptr) end->note_position(at);
}

// After the last ticket: parents finish before their children, and what they still emit goes through the children
// first.
outcome pipeline::finish_stages() {
  const outcome carried = carry_in_order(stack_);
  if (carried.is_blocked()) return carried;
  bool again = false;  // a stage that hasn't come to its end, which may be far
  while (finishing_ < tree_.stages.size()) {
    if (again && events_.stopped()) return outcome::blocked(blocked_on::output);  // no wake will come
    pipeline_tree::node& n = tree_.stages[finishing_];
    ordered_stage* in_order = ordered(n.work);
    if (in_order == nullptr) {
      ++finishing_;
      continue;
    }
    output out(tree_.limits);
    outcome result;
    run_as(n.name, n.busy, [&] { result = in_order->finish(out, gate_waker_); });
    count_out(n.output, out);
    show_out(n.tap, out);
    again = !result.is_done();
    if (!again) ++finishing_;
    const bool emitted = !out.items().empty();
    route(out.items(), n.children, stack_);
    std::reverse(stack_.begin(), stack_.end());
    const outcome passed = carry_in_order(stack_);
    if (passed.is_blocked()) return passed;
    if (result.is_blocked() && !emitted) {
      blocked_stage_ = static_cast<uint32_t>(finishing_);
      return result;
    }
  }
  return outcome::done();
}

std::string pipeline::state() const {
  static constexpr const char* things[] = {"a file, a disk or another program", "memory", "rows that others make",
                                           "room for its rows"};
  mutex_lock lock(mutex_);
  std::string text =
      fmt::format("{} at work, {} under way", counted(workers_, "worker"), counted(tickets_out_, "piece"));
  const auto add = [&](const std::string& name, const role_waker& waiting) {
    if (waiting.blocked) text += fmt::format(", '{}' waits for {}", name, things[static_cast<size_t>(waiting.why)]);
  };
  add(tree_.head_name, head_waker_);
  add(blocked_stage_ < tree_.stages.size() ? tree_.stages[blocked_stage_].name : tree_.head_name, gate_waker_);
  return text;
}

}  // namespace flowrun::exec
