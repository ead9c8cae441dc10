#include "operators/parts/control/loop_notes.h"

#include <algorithm>
#include <utility>

#include "engine/base/clock.h"
#include "engine/base/units.h"

namespace flowrun::operators {

namespace {

constexpr uint64_t most_share = 20;               // one of so many parts of the time goes into notes
constexpr uint64_t least_share = 200;             // a kill costs at most one of so many parts of the loop's time
constexpr uint64_t expected_cost_ns = 1'000'000;  // before the first one

constexpr uint64_t reading_bytes = 256 * KiB;

}  // namespace

bool note_is_due(uint64_t elapsed_ns, uint64_t since_ns, uint64_t cost_ns) {
  return since_ns >= std::max(most_share * std::max(cost_ns, expected_cost_ns), elapsed_ns / least_share);
}

loop_notes::loop_notes(exec::vector_access& vectors, const loop_settings& settings, resume::kept_loop& kept,
                       const exec::body_streams& streams, const collected_streams& collected)
    : vectors_(vectors), settings_(settings), kept_(kept), began_ns_(now_ns()), cost_ns_(0), noted_ns_(began_ns_) {
  for (const carried_stream& s : settings_.streams) noted_.push_back(streams.in.at(s.name));
  for (size_t i = 0; i < collected.size(); ++i)
    collected_.push_back(collected[i] == nullptr ? nullptr
                                                 : std::make_unique<container::row_run_writer>(
                                                       settings_.collected[i].type, vectors_.job.blocks()));
}

void loop_notes::go_on(uint64_t& iteration, std::vector<expr::constant>& scalars, exec::body_streams& streams,
                       const collected_streams& collected) {
  const resume::loop_progress& before = kept_.before();
  if (before.iteration == 0) return;
  iteration = before.iteration;
  for (size_t i = 0; i < before.scalars.size() && i < scalars.size(); ++i) scalars[i].bits = before.scalars[i];
  for (size_t i = 0; i < settings_.streams.size(); ++i) {
    const carried_stream& s = settings_.streams[i];
    const auto found = before.carried.find(s.name);
    if (found == before.carried.end()) continue;
    const auto rows = vectors_.make_vector(s.type, s.sought ? s.sorted_by : plan::order());
    read(found->second, *rows);
    vectors_.finish(*rows);
    streams.in[s.name] = std::make_shared<exec::vector_rows>(exec::shared_rows(rows));
    noted_[i] = streams.in[s.name];
  }
  for (size_t i = 0; i < before.collected.size() && i < collected.size(); ++i)
    if (collected[i] != nullptr) read(before.collected[i], exec::growing_vector(*collected[i]));
  noted_ns_ = now_ns();
}

void loop_notes::collect(size_t output, const exec::held_rows& rows) {
  write(*exec::vector_of(rows), *collected_[output]);
}

void loop_notes::note(uint64_t next, const std::vector<expr::constant>& scalars, const exec::body_streams& streams) {
  const uint64_t begin = now_ns();
  if (!note_is_due(begin - began_ns_, begin - noted_ns_, cost_ns_)) return;
  resume::loop_step step;
  step.iteration = next;
  for (size_t i = 0; i < settings_.scalars.size(); ++i) step.scalars.push_back(scalars[i].bits);
  for (size_t i = 0; i < settings_.streams.size(); ++i) {
    const std::string& name = settings_.streams[i].name;
    const exec::rows_handle& rows = streams.in.at(name);
    if (noted_[i].lock() == rows) continue;
    step.carried[name] = runs_of(*exec::vector_of(*rows));
    noted_[i] = rows;
  }
  for (const auto& writer : collected_) step.collected.push_back(writer ? flush(*writer) : resume::stream_runs());
  kept_.written(std::move(step));
  noted_ns_ = now_ns();
  cost_ns_ = noted_ns_ - begin;
}

resume::stream_runs loop_notes::runs_of(const container::external_vector& rows) {
  container::row_run_writer writer(rows.type(), vectors_.job.blocks());
  write(rows, writer);
  return flush(writer);
}

void loop_notes::write(const container::external_vector& rows, container::row_run_writer& to) {
  if (rows.num_rows() == 0) return;
  const auto reader = rows.read(reading_bytes);
  while (const record::batch* front = vectors_.next_of(*reader)) {
    record::batch left = *front;
    static_cast<void>(vectors_.complete([&](waker& w) { return to.push(left, w); }));
    reader->pop();
  }
}

resume::stream_runs loop_notes::flush(container::row_run_writer& writer) {
  static_cast<void>(vectors_.complete([&](waker& w) { return writer.flush(w); }));
  return writer.take();
}

void loop_notes::read(resume::stream_runs runs, container::external_vector& to) {
  container::row_run_reader reader(to.type(), vectors_.job.blocks(), std::move(runs));
  record::batch rows;
  while (!vectors_
              .complete([&](waker& w) {
                rows = {};
                return reader.next(rows, w);
              })
              .is_done())
    vectors_.append(to, rows);
}

}  // namespace flowrun::operators
