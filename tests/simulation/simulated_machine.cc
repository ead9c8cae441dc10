#include "tests/simulation/simulated_machine.h"

#include <string>

#include "engine/base/error.h"

namespace flowrun::simulation {

namespace {

std::string path_of(size_t disk) { return "disk" + std::to_string(disk); }

}  // namespace

simulated_machine::simulated_machine(const machine_options& options) : io_(clock_, options.disks.at(0)) {
  block::manager_options manager;
  for (size_t i = 0; i < options.disks.size(); ++i) {
    io_.attach(path_of(i), options.disks[i]);
    manager.disks.push_back({.path = path_of(i), .weight = 1});
  }
  manager.backend = &io_;
  manager.in_memory = true;
  manager.seed = options.seed;
  manager.strategy = options.allocation;
  manager.depth = options.queue_depth;
  manager.order = options.order;
  blocks_ = std::make_unique<block::block_manager>(std::move(manager));
}

simulated_machine::~simulated_machine() { settle(); }

task_poster simulated_machine::poster() {
  return [this](std::function<void()> task) { tasks_.push_back(std::move(task)); };
}

void simulated_machine::run_tasks() {
  while (!tasks_.empty()) {
    const std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    task();
  }
}

void simulated_machine::compute(uint64_t ns) {
  const uint64_t end = now() + ns;
  run_tasks();
  for (;;) {
    const std::optional<uint64_t> next = clock_.next_event();
    if (!next || *next > end) break;
    clock_.run_next();
    run_tasks();
  }
  clock_.run_until(end);
}

uint64_t simulated_machine::wait() {
  const uint64_t before = now();
  if (!tasks_.empty()) {
    run_tasks();
    return 0;
  }
  if (!clock_.run_next()) internal_error("everybody waits, and no disk has anything to do");
  run_tasks();
  return now() - before;
}

void simulated_machine::settle() {
  do {
    run_tasks();
  } while (clock_.run_next() || !tasks_.empty());
}

uint64_t simulated_machine::busy_ns() const {
  uint64_t total = 0;
  for (unsigned i = 0; i < blocks_->num_disks(); ++i) total += io_.disk_at(path_of(i)).busy_ns();
  return total;
}

uint64_t simulated_machine::num_seeks() const {
  uint64_t total = 0;
  for (unsigned i = 0; i < blocks_->num_disks(); ++i) total += io_.disk_at(path_of(i)).num_seeks();
  return total;
}

}  // namespace flowrun::simulation
