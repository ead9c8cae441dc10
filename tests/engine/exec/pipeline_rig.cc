#include "tests/engine/exec/pipeline_rig.h"

namespace flowrun::exec {

record::batch batch_of(const numbers& values, std::atomic<int>* alive) {
  auto* const held = new numbers(values);
  if (alive != nullptr) ++*alive;
  record::batch b;
  b.rows = reinterpret_cast<const std::byte*>(held->data());
  b.num_rows = held->size();
  b.row_bytes = sizeof(uint64_t);
  b.owner = std::shared_ptr<const void>(held, [alive](const numbers* p) {
    delete p;
    if (alive != nullptr) --*alive;
  });
  return b;
}

numbers numbers_of(const record::batch& b) {
  numbers out(b.num_rows);
  if (!out.empty()) std::memcpy(out.data(), b.rows, b.num_rows * sizeof(uint64_t));
  return out;
}

std::vector<pipeline_setting> pipeline_settings() {
  return {{0, 1, 3}, {0, 4, 6}, {1, 1, 1}, {1, 1, 3}, {2, 2, 4}, {4, 4, 6}, {4, 2, 9}, {8, 8, 10}, {8, 8, 2}};
}

pipeline_rig::pipeline_rig(const pipeline_setting& setting, uint64_t seed)
    : setting_(setting),
      executor_(setting.threads == 0 ? make_plain_executor() : make_arena_executor(setting.threads)),
      clock_(seed) {}

pipeline_rig::~pipeline_rig() { take_down(); }

void pipeline_rig::start(pipeline_tree tree) {
  pipeline_events events;
  events.finished = [this] {
    ++finished_;
    executor_->notify();
  };
  events.failed = [this](std::exception_ptr problem) {
    {
      std::lock_guard lock(mutex_);
      if (!problem_) problem_ = std::move(problem);
    }
    ++failed_;
    stop_ = true;
    executor_->notify();
  };
  events.stopped = [this] { return stop_.load(); };
  pipeline_ = std::make_unique<pipeline>(std::move(tree), *executor_, setting_.max_workers, setting_.max_tickets,
                                         std::move(events));
  pipeline_->start();
}

void pipeline_rig::end_now() {
  stop_ = true;
  executor_->notify();
}

bool pipeline_rig::wait() {
  for (int i = 0; i < 600; ++i)
    if (executor_->wait([&] { return finished_ > 0 || stop_; }, std::chrono::milliseconds(100))) return true;
  return false;
}

void pipeline_rig::take_down() {
  stop_ = true;
  executor_->drain();
  if (pipeline_) pipeline_->dismantle();
  clock_.stop();
  executor_->drain();
  pipeline_.reset();
}

void pipeline_rig::run(pipeline_tree tree) {
  start(std::move(tree));
  if (!wait()) ADD_FAILURE() << "hangs: " << pipeline_->state();
  take_down();
}

std::string pipeline_rig::problem() {
  std::lock_guard lock(mutex_);
  if (!problem_) return {};
  try {
    std::rethrow_exception(problem_);
  } catch (const std::exception& e) {
    return e.what();
  }
}

std::unique_ptr<source> counting_source(uint64_t count, std::atomic<int>* alive) {
  return std::make_unique<function_source>([next = uint64_t{0}, count, alive](output& out, waker&) mutable {
    if (next == count) return outcome::done();
    out.emit(batch_of({next++}, alive));
    return outcome::ready();
  });
}

pipeline_tree chain(std::unique_ptr<source> head, std::vector<stage> stages) {
  pipeline_tree tree;
  tree.head = std::move(head);
  if (!stages.empty()) tree.head_children = {{0}};
  for (stage& s : stages) {
    pipeline_tree::node n;
    n.work = std::move(s);
    const auto next = static_cast<uint32_t>(tree.stages.size() + 1);
    if (next < stages.size()) n.children = {{next}};
    tree.stages.push_back(std::move(n));
  }
  return tree;
}

}  // namespace flowrun::exec
