// Where the requests of one job wait for one disk (Asynchronous sorting, section 3: a read queue and a write queue for
// each disk; the layers above choose the strategy that arbitrates between them).
//
//   backend::submit ─▶ enter: waiting reads │ waiting writes ─▶ at most `depth` under way ─▶ leave: the next ones
//
// At most `depth` transfers are with the backend, so that it is decided here, not in the kernel, what a disk does next,
// and so that a slow disk never takes the places of a fast one. Requests are linked through themselves: nothing is
// allocated per request (the set of offsets grows to the most requests seen at once, and stays).
//
// One queue belongs to one job: two jobs on one disk have two queues, and so each its own order.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "engine/base/mutex.h"
#include "engine/io/request.h"
#include "engine/io/request_queue.h"

namespace flowrun::io {

enum class service_order : uint8_t {
  // Two reads and two writes in turn while both wait. A write waits for two reads at most, so a merge runs as with
  // writes_first; and a burst of writes (half a run buffer of run formation) doesn't keep all reads waiting until it is
  // over. Two, because a disk with an arm loses 7 % more when it changes sides every time; four would need more write
  // buffers than a merge has (tests/simulation).
  alternating,
  writes_first,  // a waiting write goes before all waiting reads: it frees a buffer (Asynchronous sorting)
  arrival,       // first come first served, reads and writes alike
};

// Offsets of the blocks that are waiting or under way: open addressing with linear probing. Not thread-safe.
class offset_set {
 public:
  // False when it was in there already.
  bool insert(uint64_t offset);
  void erase(uint64_t offset);
  bool contains(uint64_t offset) const { return slots_[find(offset)] != nothing; }

 private:
  static constexpr uint64_t nothing = UINT64_MAX;
  // Where it is, or where it would go.
  size_t find(uint64_t offset) const;
  void grow();
  size_t home(uint64_t offset) const {
    return static_cast<size_t>((offset * 0x9e3779b97f4a7c15ull) >> 32) & (slots_.size() - 1);
  }

  std::vector<uint64_t> slots_ = std::vector<uint64_t>(16, nothing);  // a power of two, at most half full
  size_t num_offsets_ = 0;
};

class disk_queue {
 public:
  static constexpr unsigned unbounded = ~0U;

  // `depth` >= 1: transfers under way at once. `exclusive`: its requests are whole blocks, of each of which at most one
  // write is in flight, or any number of reads (STXXL, section 3); anything else is our bug and ends the process.
  explicit disk_queue(unsigned depth, service_order order = service_order::arrival, bool exclusive = false)
      : depth_(depth), order_(order), exclusive_(exclusive) {}
  disk_queue(const disk_queue&) = delete;
  disk_queue& operator=(const disk_queue&) = delete;

  unsigned depth() const { return depth_; }
  // Exclusive queues: whether a transfer of the block at `offset` waits or is under way.
  bool in_flight(uint64_t offset) const;

  // For backends. enter(): `added` waits; leave(): `over` has ended. Both append to `admitted` what may be carried out
  // now. withdraw(): takes `waiting` out unless it was admitted before.
  void enter(request& added, request_queue& admitted);
  void leave(request& over, request_queue& admitted);
  bool withdraw(request& waiting);

 private:
  static constexpr unsigned most_in_a_row = 2;
  void begin(const request& added) FLOWRUN_REQUIRES(mutex_);
  void end(const request& over) FLOWRUN_REQUIRES(mutex_);
  struct waiting_list {
    request* first = nullptr;
    request* last = nullptr;
    void push(request& added);
    void unlink(request& one);
    bool contains(const request& one) const { return first == &one || one.previous != nullptr; }
  };
  waiting_list& list_of(direction way) FLOWRUN_REQUIRES(mutex_) {
    return order_ != service_order::arrival && way == direction::write ? writes_ : others_;
  }
  void admit(request_queue& admitted) FLOWRUN_REQUIRES(mutex_);

  const unsigned depth_;
  const service_order order_;
  const bool exclusive_;
  mutable mutex mutex_;
  waiting_list writes_ FLOWRUN_GUARDED_BY(mutex_);  // apart unless `arrival`
  waiting_list others_ FLOWRUN_GUARDED_BY(mutex_);
  unsigned num_under_way_ FLOWRUN_GUARDED_BY(mutex_) = 0;
  unsigned num_in_a_row_ FLOWRUN_GUARDED_BY(mutex_) = 0;    // of reads or of writes, admitted last
  bool last_was_write_ FLOWRUN_GUARDED_BY(mutex_) = false;  // the last one admitted
  offset_set written_ FLOWRUN_GUARDED_BY(mutex_);           // of blocks that are being written
  offset_set read_ FLOWRUN_GUARDED_BY(mutex_);              // of blocks that are being read
  // For each block that several requests read at once: how many besides the first.
  std::map<uint64_t, unsigned> more_reads_ FLOWRUN_GUARDED_BY(mutex_);
};

}  // namespace flowrun::io
