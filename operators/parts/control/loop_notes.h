// What a loop of a job that can be resumed notes between two iterations, so that a later process goes on from there:
// its scalars, the rows of each carried stream that has others than it had, and the rows that were collected meanwhile.
//
// Streams are copied to scratch for it. So a state is noted only where that has taken at most a twentieth of the time
// since the last one. And what was collected meanwhile takes a block however little it is: so the states become rarer
// the longer the loop runs, and a day has three thousand of them, not four million.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/container/external_vector.h"
#include "engine/container/row_run.h"
#include "engine/exec/control_context.h"
#include "engine/expr/scalars.h"
#include "engine/resume/kept_loop.h"
#include "operators/parts/control/loop_settings.h"

namespace flowrun::operators {

// Whether a state is noted now: `elapsed_ns` after the loop began, `since_ns` after the last one, which took `cost_ns`.
bool note_is_due(uint64_t elapsed_ns, uint64_t since_ns, uint64_t cost_ns);

class loop_notes {
 public:
  using collected_streams = std::vector<std::shared_ptr<exec::held_rows>>;

  // `streams` and `collected`: as the loop begins. All outlive it.
  loop_notes(exec::vector_access& vectors, const loop_settings& settings, resume::kept_loop& kept,
             const exec::body_streams& streams, const collected_streams& collected);

  // What an earlier process noted, if it did, takes the place of all that.
  void go_on(uint64_t& iteration, std::vector<expr::constant>& scalars, exec::body_streams& streams,
             const collected_streams& collected);
  // Rows that were added to a collected output.
  void collect(size_t output, const exec::held_rows& rows);
  // An iteration is over; `next` follows. Notes it where it is time to.
  void note(uint64_t next, const std::vector<expr::constant>& scalars, const exec::body_streams& streams);

 private:
  resume::stream_runs runs_of(const container::external_vector& rows);
  void write(const container::external_vector& rows, container::row_run_writer& to);
  resume::stream_runs flush(container::row_run_writer& writer);
  void read(resume::stream_runs runs, container::external_vector& to);

  exec::vector_access& vectors_;
  const loop_settings& settings_;
  resume::kept_loop& kept_;
  std::vector<std::weak_ptr<const exec::held_rows>> noted_;            // by carried stream: what it was then
  std::vector<std::unique_ptr<container::row_run_writer>> collected_;  // by output; null: nobody reads it
  const uint64_t began_ns_;
  uint64_t cost_ns_;   // of the last one
  uint64_t noted_ns_;  // when that was
};

}  // namespace flowrun::operators
