#include "engine/exec/row_tap.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "engine/base/error.h"
#include "engine/plan/body_ports.h"
#include "specs/source_text.h"

namespace flowrun::exec {

namespace {

constexpr std::string_view ellipsis = "…";

}  // namespace

void row_tap::copy(const record::row_type& type, const std::byte* row, const std::byte* heap) {
  const size_t at = kept_.rows.size();
  kept_.rows.insert(kept_.rows.end(), row, row + type.row_bytes());
  ++kept_.num_rows;
  if (!type.has_strings()) return;
  for (const record::column& c : type.columns()) {
    if (!c.type.is_string()) continue;
    const std::string_view whole = record::load_string(row + c.offset, heap);
    record::string_ref ref = record::load_ref(row + c.offset);
    const std::string_view kept = specs::front_of(whole, most_text_bytes);
    ref.offset = static_cast<decltype(ref.offset)>(kept_.heap.size());
    kept_.heap += kept;
    if (kept.size() < whole.size()) kept_.heap += ellipsis;
    ref.length = static_cast<decltype(ref.length)>(kept_.heap.size() - ref.offset);
    std::memcpy(kept_.rows.data() + at + c.offset, &ref, sizeof ref);
  }
}

void row_tap::show(const record::batch& b, unsigned port) {
  const mutex_lock lock(mutex_);
  if (!asked_ || port != asked_port_ || full()) return;
  const record::row_type& type = ports_[port].type;
  if (b.row_bytes != type.row_bytes()) return;  // a look at a job must not end it
  for (size_t i = 0; i < b.num_rows && !full(); ++i) copy(type, b.row(i), b.heap);
  if (!full()) return;
  wanted_.store(false, std::memory_order_relaxed);
  changed_.notify_all();
}

row_tap::outcome row_tap::ask(unsigned port, size_t num_rows, std::chrono::milliseconds patience, tapped_rows& to) {
  FLOWRUN_CHECK(port < ports_.size());
  mutex_lock lock(mutex_);
  if (closed_) return outcome::over;
  if (asked_) return outcome::taken;
  asked_ = true;
  asked_port_ = port;
  asked_rows_ = std::clamp<size_t>(num_rows, 1, most_rows);
  kept_ = {};
  wanted_.store(true, std::memory_order_relaxed);
  changed_.wait_until(lock, std::chrono::steady_clock::now() + patience,
                      [&]() FLOWRUN_REQUIRES(mutex_) { return full() || closed_; });
  wanted_.store(false, std::memory_order_relaxed);
  asked_ = false;
  to = std::exchange(kept_, {});
  if (to.num_rows > 0) return outcome::rows;
  return closed_ ? outcome::over : outcome::nothing_came;
}

void row_tap::close() {
  const mutex_lock lock(mutex_);
  closed_ = true;
  wanted_.store(false, std::memory_order_relaxed);
  changed_.notify_all();
}

std::vector<std::shared_ptr<row_tap>> make_taps(const plan::graph& g) {
  std::vector<std::shared_ptr<row_tap>> out;
  for (const plan::node& n : g.nodes) {
    std::vector<row_tap::port> ports;
    for (const plan::output_port& p : n.outputs) ports.push_back({p.name, p.type});
    const bool sink = n.outputs.empty();
    if (sink && !n.inputs.empty()) ports.push_back({n.inputs[0].name, g.input_of(n, 0).type});
    const bool shown = !plan::is_internal(n) && !ports.empty();
    out.push_back(shown ? std::make_shared<row_tap>(plan::full_name(g, n), std::move(ports), sink) : nullptr);
  }
  return out;
}

}  // namespace flowrun::exec
