// A machine that exists only in time: D modelled disks and one processor, under one discrete-event clock, for the real
// block manager, prefetcher, writer, run creators and mergers.
//
// The driver plays the processor: it says how long its own work takes (compute), and waits for the next event when the
// real components have nothing for it. Tasks that these components post to other threads are carried out between
// events, in order. Their cost is part of what the driver states.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "engine/base/resumable.h"
#include "engine/block/block_manager.h"
#include "engine/io/simulated_backend.h"
#include "engine/record/batch.h"

namespace flowrun::simulation {

struct machine_options {
  std::vector<io::disk_model> disks;  // at least one
  block::allocation_strategy allocation = block::allocation_strategy::randomised_cycling;
  unsigned queue_depth = 2;  // transfers of one disk under way
  io::service_order order = io::service_order::alternating;
  uint64_t seed = 1;
};

class simulated_machine {
 public:
  explicit simulated_machine(const machine_options& options);
  // Ends all transfers.
  ~simulated_machine();
  simulated_machine(const simulated_machine&) = delete;
  simulated_machine& operator=(const simulated_machine&) = delete;

  uint64_t now() const { return clock_.now(); }
  block::block_manager& blocks() { return *blocks_; }
  record::batch_pool& pool() { return pool_; }
  task_poster poster();

  // The processor works for `ns`; disks go on meanwhile.
  void compute(uint64_t ns);
  // The processor has nothing to do until something happens. Returns how long that took. Nothing ever happening is a
  // deadlock of the components: error(internal).
  uint64_t wait();
  // Until no transfer is under way and no task is left.
  void settle();

  // Time that all disks together spent on transfers.
  uint64_t busy_ns() const;
  uint64_t num_seeks() const;

 private:
  void run_tasks();

  io::event_clock clock_;
  io::simulated_backend io_;
  record::batch_pool pool_;
  std::deque<std::function<void()>> tasks_;
  std::unique_ptr<block::block_manager> blocks_;
};

}  // namespace flowrun::simulation
