#include "operators/parts/order/group_stages.h"

#include <algorithm>

#include "operators/parts/order/row_groups.h"
#include "operators/parts/order/stage_state.h"
#include "operators/parts/rules/column_copy.h"

namespace flowrun::operators {

namespace {

class group_stage final : public exec::ordered_stage {
 public:
  group_stage(const aggregation_plan& p, const record::row_type& output, record::batch_pool& pool,
              const record::batch_limits& limits)
      : rows_(p.rows),
        groups_(row_groups(p.rows, p.keys)),
        keys_(p.rows, output, key_columns(p.keys)),
        aggregation_(p.aggregates, output, p.keys.size(), pool, limits.row_bytes),
        builder_(output, pool, limits),
        row_bytes_(output.row_bytes()),
        has_strings_(output.has_strings()),
        one_group_(p.keys.empty()) {}

  bool has_state() const override { return aggregation_.has_state(); }
  void keep_state() override { gives_all_ = true; }
  std::string state(const resume::source_position&) const override {
    state_writer out;
    out.row(rows_, groups_.last());
    aggregation_.write_state(out);
    return out.take();
  }
  void begin_with(const std::string& state) override {
    state_reader in(state);
    groups_.begin_with(in.row(rows_));
    aggregation_.begin_with(in);
  }

  outcome push(record::batch& in, exec::output& out, waker&) override {
    // When a batch comes again, so many of its groups are done already.
    size_t from = out.within();
    if (from == 0) {
      was_open_ = groups_.open();
      before_ = groups_.last();
      starts_ = &groups_.add(in);
      aggregation_.add(in, *starts_, was_open_);
    }
    const std::vector<uint32_t>& starts = *starts_;
    // All groups but the last are complete.
    const size_t complete = starts.size() - 2;
    while (from < complete) {
      if (out.full()) {
        out.leave(0, from);
        return outcome::ready();
      }
      size_t count = aggregation_.make(from, std::min(complete - from, num_rows_at_once()));
      // Where texts are long, one group after the other.
      if (has_strings_ && text_bytes(in, from, count) > builder_.text_room()) count = 1;
      std::byte* to = builder_.append(count);
      if (has_strings_ && count == 1) builder_.expect_texts(text_bytes(in, from, 1));
      for (size_t g = from; g < from + count; ++g)
        keys_.copy(first_row(in, g), g == 0 && was_open_ ? before_.heap : in.heap, to + (g - from) * row_bytes_,
                   builder_);
      aggregation_.store(from, count, to, builder_);
      from += count;
      if (builder_.full()) out.emit(builder_.take());
    }
    before_ = {};
    if (gives_all_) out.emit(builder_.take());
    return outcome::ready();
  }

  outcome finish(exec::output& out, waker&) override {
    if (groups_.open() || one_group_) {
      std::byte* to = builder_.append();
      if (groups_.open()) keys_.copy(groups_.last().row(0), groups_.last().heap, to, builder_);
      aggregation_.store_open(to, builder_);
    }
    out.emit(builder_.take());
    return outcome::done();
  }

 private:
  static std::vector<std::pair<size_t, size_t>> key_columns(const std::vector<size_t>& keys) {
    std::vector<std::pair<size_t, size_t>> out;
    for (size_t k : keys) out.emplace_back(k, out.size());
    return out;
  }
  // The first row of group `g` of the batch at hand, which may lie in the batch before.
  const std::byte* first_row(const record::batch& in, size_t g) const {
    return g == 0 && was_open_ ? before_.row(0) : in.row((*starts_)[g]);
  }
  size_t text_bytes(const record::batch& in, size_t from, size_t count) const {
    size_t total = aggregation_.text_bytes(from, count);
    if (keys_.has_strings())
      for (size_t g = from; g < from + count; ++g) total += keys_.text_bytes(first_row(in, g));
    return total;
  }
  // With strings a builder may be full before its rows are.
  size_t num_rows_at_once() const { return std::min<size_t>(builder_.room(), has_strings_ ? 16 : 256); }

  const record::row_type rows_;
  group_tracker groups_;
  column_copy keys_;
  aggregation aggregation_;
  record::batch_builder builder_;
  uint32_t row_bytes_;
  bool has_strings_;
  bool one_group_;
  bool gives_all_ = false;  // of a batch, at once
  // Of the batch at hand.
  bool was_open_ = false;
  record::batch before_;  // the first row of the group that was open
  const std::vector<uint32_t>* starts_ = nullptr;
};

}  // namespace

record::row_type group_type(std::vector<record::column> keys, const named_aggregates& aggregates) {
  for (const auto& [name, aggregate] : aggregates) keys.push_back({name, aggregate.result});
  return record::row_type(std::move(keys));
}

void add_group_stages(exec::assembly& to, const record::row_type& input, const std::vector<std::string>& keys,
                      const named_aggregates& aggregates, const record::row_type& output, record::batch_pool& pool,
                      const record::batch_limits& limits) {
  const aggregation_plan p = plan_aggregation(input, keys, aggregates, false);
  if (!p.projection.empty()) to.stages.push_back(make_program(input, {program_step::map(p.projection)}, pool));
  to.stages.emplace_back(std::make_unique<group_stage>(p, output, pool, limits));
}

void add_total_stage(exec::assembly& to, const record::row_type& partial, size_t num_keys,
                     const std::vector<column_aggregate>& totals, const record::row_type& output,
                     record::batch_pool& pool, const record::batch_limits& limits) {
  aggregation_plan p;
  p.rows = partial;
  for (size_t k = 0; k < num_keys; ++k) p.keys.push_back(k);
  p.aggregates = totals;
  to.stages.emplace_back(std::make_unique<group_stage>(p, output, pool, limits));
}

}  // namespace flowrun::operators
