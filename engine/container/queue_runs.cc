#include "engine/container/queue_runs.h"

#include <algorithm>
#include <utility>

#include "engine/base/error.h"

namespace flowrun::container {

template <class Item>
queue_runs<Item>::~queue_runs() {
  reader_.reset();
  for (const run_state& run : runs_) {
    for (const segment& s : run.segments) blocks_.free(run.blocks.blocks[s.block].id);
    for (size_t b = run.next; b < run.blocks.blocks.size(); ++b) blocks_.free(run.blocks.blocks[b].id);
  }
}

template <class Item>
void queue_runs<Item>::add(runs::run r, std::vector<Item> firsts) {
  FLOWRUN_CHECK(r.blocks.size() == firsts.size() && num_runs() + 2 < num_buffers_);
  if (!reader_) reader_ = std::make_unique<block_pool_reader>(blocks_, block_bytes_, num_buffers_);
  run_state run;
  run.num_items = r.num_rows;
  run.blocks = std::move(r);
  run.firsts = std::move(firsts);
  run.chosen = !restricted_;
  runs_.push_back(std::move(run));
}

template <class Item>
size_t queue_runs<Item>::num_runs() const {
  return static_cast<size_t>(
      std::count_if(runs_.begin(), runs_.end(), [](const run_state& run) { return run.num_items > 0; }));
}

template <class Item>
void queue_runs<Item>::choose_shortest() {
  std::erase_if(runs_, [](const run_state& run) { return run.num_items == 0; });
  restricted_ = true;
  std::vector<uint32_t> order(runs_.size());
  for (uint32_t r = 0; r < order.size(); ++r) order[r] = r;
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return std::pair(runs_[a].num_items, a) < std::pair(runs_[b].num_items, b);
  });
  uint64_t num_chosen = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    run_state& run = runs_[order[i]];
    // Two at least: a run alone would be merged into itself, and there would be as many as before.
    run.chosen = i < 2 || 2 * i < order.size() || run.num_items <= num_chosen;
    if (run.chosen) num_chosen += run.num_items;
  }
}

template <class Item>
void queue_runs<Item>::choose_all() {
  restricted_ = false;
  for (run_state& run : runs_) run.chosen = true;
}

template <class Item>
const typename queue_runs<Item>::segment* queue_runs<Item>::first_not_loaded(const run_state& run) const {
  for (const segment& s : run.segments)
    if (!s.loaded) return &s;
  return nullptr;
}

template <class Item>
void queue_runs<Item>::begin(run_state& run) {
  segment s;
  s.block = static_cast<uint32_t>(run.next++);
  s.num_items = run.blocks.blocks[s.block].num_rows;
  s.buffer = reader_->begin({run.blocks.blocks[s.block].id, run.blocks.stream, s.block, 0});
  run.segments.push_back(s);
}

template <class Item>
void queue_runs<Item>::read_ahead() {
  if (!reader_ || reader_->num_free() == 0) return;
  // Runs without a buffer come before reading ahead: of all runs, also of those that take no part now.
  size_t num_without = 0;
  for (const run_state& run : runs_)
    if (run.segments.empty() && run.next < run.firsts.size()) ++num_without;
  while (reader_->num_free() > 0) {
    run_state* best = nullptr;
    for (run_state& run : runs_) {
      if (!run.chosen || run.next == run.firsts.size()) continue;
      if (!run.segments.empty() && reader_->num_free() <= num_without) continue;
      if (best == nullptr || run.firsts[run.next] < best->firsts[best->next]) best = &run;
    }
    if (best == nullptr) break;
    if (best->segments.empty()) --num_without;
    begin(*best);
  }
  reader_->submit();
}

template <class Item>
std::optional<Item> queue_runs<Item>::bound() {
  std::erase_if(runs_, [](const run_state& run) { return run.num_items == 0; });
  std::optional<Item> least;
  for (size_t r = 0; r < runs_.size(); ++r) {
    run_state& run = runs_[r];
    if (!run.chosen) continue;
    std::optional<Item> first;
    for (segment& s : run.segments) {
      s.loaded = s.loaded || reader_->ready(s.buffer, nullptr).is_ready();
      if (s.loaded) continue;
      first = run.firsts[s.block];
      break;
    }
    if (!first && run.next < run.firsts.size()) first = run.firsts[run.next];
    if (!first || (least && !(*first < *least))) continue;
    least = first;
    run_at_bound_ = r;
  }
  return least;
}

// Gives up what is furthest ahead. Blocks that are being read can't be given up: then the furthest one is waited for.
template <class Item>
outcome queue_runs<Item>::free_a_buffer(waker& w) {
  run_state* furthest = nullptr;
  bool is_ready = false;
  for (run_state& run : runs_) {
    if (run.segments.size() < 2) continue;
    const segment& last = run.segments.back();
    const bool ready = last.loaded || reader_->ready(last.buffer, nullptr).is_ready();
    if (furthest != nullptr && is_ready && !ready) continue;
    if (furthest == nullptr || (ready && !is_ready) ||
        furthest->firsts[furthest->segments.back().block] < run.firsts[last.block]) {
      furthest = &run;
      is_ready = ready;
    }
  }
  FLOWRUN_CHECK(furthest != nullptr);
  const segment& last = furthest->segments.back();
  if (const outcome o = reader_->ready(last.buffer, &w); o.is_blocked()) return o;
  reader_->release(last.buffer);
  furthest->next = last.block;
  furthest->segments.pop_back();
  return outcome::ready();
}

template <class Item>
outcome queue_runs<Item>::load_bound(waker& w) {
  run_state& run = runs_[run_at_bound_];
  if (first_not_loaded(run) == nullptr) {
    if (reader_->num_free() == 0)
      if (const outcome o = free_a_buffer(w); o.is_blocked()) return o;
    begin(run);
    reader_->submit();
  }
  return reader_->ready(first_not_loaded(run)->buffer, &w);
}

template <class Item>
void queue_runs<Item>::take(size_t r, size_t count, Item* to) {
  if (count == 0) return;
  run_state& run = runs_[r];
  segment& s = run.segments.front();
  packer_.unpack(reader_->payload(s.buffer) + size_t{s.first} * packer_.row_bytes(), count, to);
  s.first += static_cast<uint32_t>(count);
  s.num_items -= static_cast<uint32_t>(count);
  run.num_items -= count;
  if (s.num_items > 0) return;
  reader_->release(s.buffer);
  blocks_.free(run.blocks.blocks[s.block].id);
  run.segments.pop_front();
}

template class queue_runs<uint32_t>;
template class queue_runs<uint64_t>;
template class queue_runs<word128>;
template class queue_runs<item256>;
template class queue_runs<item512>;

}  // namespace flowrun::container
