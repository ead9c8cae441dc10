// The queue between a pipeline and a meeting node: batches change owners, nothing is copied.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/exec/operator.h"
#include "engine/exec/services.h"

namespace flowrun::exec {

// Thread-safe between one producer and one consumer.
class edge_queue : public input_stream {
 public:
  // Producer: ready when the batch was taken; blocked when there is no room (`w` will be woken).
  virtual outcome push(record::batch& b, waker& w) = 0;
  // Producer: no more batches. done, or blocked.
  virtual outcome close(waker& w) = 0;
  // The pipelines on both ends are being taken down: once this returns, none of their wakers is woken any more. The
  // queue may outlive them, and so may its transfers.
  virtual void forget_wakers() = 0;
};

// At most `max_batches` wait, and no more than one of them once they take `max_bytes`. For producer and consumer that
// run in step. `in_step_with`: a bounded queue between the same two, which lives longer. The consumer may need a row of
// each of these before it takes one, and the producer may have much for this one before it comes to the next: while one
// of them is empty, the others take what comes.
std::unique_ptr<edge_queue> make_bounded_queue(size_t max_batches, uint64_t max_bytes,
                                               edge_queue* in_step_with = nullptr);

// Always takes what comes; beyond `memory_bytes` rows go to scratch. For branches of one stream that meet again, and
// for rows that a later phase wants. `kept_bytes` less than that: once closed it holds no more, in rows and buffers.
std::unique_ptr<edge_queue> make_spilling_queue(const record::row_type& type, services& job, uint64_t memory_bytes,
                                                uint64_t kept_bytes);

// The head of a pipeline that gives on what it reads from a queue.
std::unique_ptr<source> make_queue_source(input_stream& queue);

// The sink of the producing pipeline: passes batches on and closes the queue at the end.
std::unique_ptr<ordered_stage> make_queue_sink(edge_queue& queue);

}  // namespace flowrun::exec
