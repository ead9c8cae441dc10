#include "operators/parts/order/row_limit.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "operators/parts/order/row_groups.h"
#include "operators/parts/order/stage_state.h"
#include "operators/parts/rules/column_copy.h"
#include "specs/value.h"

namespace flowrun::operators {

namespace {

class row_limit final : public exec::ordered_stage {
 public:
  row_limit(const record::row_type& type, const std::vector<size_t>& keys, uint64_t skip, uint64_t count,
            record::batch_pool& pool)
      : type_(type),
        one_group_(keys.empty()),
        groups_(row_groups(type, keys)),
        skip_(skip),
        end_(skip + std::min(count, UINT64_MAX - skip)),
        pool_(pool) {}

  bool has_state() const override { return true; }
  std::string state(const resume::source_position&) const override {
    state_writer out;
    out.number(in_group_);
    out.row(type_, groups_.last());
    return out.take();
  }
  void begin_with(const std::string& state) override {
    state_reader in(state);
    in_group_ = in.number();
    groups_.begin_with(in.row(type_));
  }

  outcome push(record::batch& in, exec::output& out, waker&) override {
    stretches_.clear();
    if (one_group_) {
      pass(0, in.num_rows);
    } else {
      const bool open = groups_.open();
      const std::vector<uint32_t>& starts = groups_.add(in);
      for (size_t g = 0; g + 1 < starts.size(); ++g) {
        if (g > 0 || !open) in_group_ = 0;
        pass(starts[g], starts[g + 1]);
      }
    }
    if (stretches_.size() == 1)
      out.emit(in.slice(stretches_[0].first, stretches_[0].second - stretches_[0].first));
    else if (!stretches_.empty())
      out.emit(gathered(in));
    return outcome::ready();
  }

 private:
  // Rows [from, to) of the batch are the next ones of the group.
  void pass(size_t from, size_t to) {
    const uint64_t before = in_group_, after = before + (to - from);
    in_group_ = after;
    if (from == to || after <= skip_ || before >= end_) return;
    const size_t begin = from + static_cast<size_t>(std::max(skip_, before) - before);
    const size_t end = from + static_cast<size_t>(std::min(end_, after) - before);
    if (!stretches_.empty() && stretches_.back().second == begin)
      stretches_.back().second = end;
    else
      stretches_.emplace_back(begin, end);
  }

  // One batch, however short the groups are: stages behind have work to do for each batch.
  record::batch gathered(const record::batch& in) const {
    size_t num_rows = 0;
    for (const auto& [begin, end] : stretches_) num_rows += end - begin;
    std::shared_ptr<std::byte[]> rows = pool_.take(num_rows * in.row_bytes);
    std::byte* to = rows.get();
    for (const auto& [begin, end] : stretches_) {
      std::memcpy(to, in.row(begin), (end - begin) * in.row_bytes);
      to += (end - begin) * in.row_bytes;
    }
    return sharing_heap(in, std::move(rows), num_rows, in.row_bytes);
  }

  const record::row_type type_;
  const bool one_group_;
  group_tracker groups_;
  const uint64_t skip_, end_;
  record::batch_pool& pool_;
  uint64_t in_group_ = 0;                             // rows of the open group so far
  std::vector<std::pair<size_t, size_t>> stretches_;  // of the batch at hand: what passes
};

}  // namespace

exec::stage make_row_limit(const record::row_type& type, const std::vector<size_t>& keys, uint64_t skip, uint64_t count,
                           record::batch_pool& pool) {
  return std::unique_ptr<exec::ordered_stage>(std::make_unique<row_limit>(type, keys, skip, count, pool));
}

std::optional<uint64_t> rows_that_matter(const plan::node& n) {
  if (n.declaration->name != "limit") return std::nullopt;
  const auto number = [&](const char* name) -> std::optional<uint64_t> {
    const specs::Value* const given = specs::find(n.spec->with(), name);
    return given == nullptr ? std::nullopt : specs::to_uint(specs::text(*given));
  };
  const std::optional<uint64_t> count = number("count");
  const uint64_t skip = number("skip").value_or(0);
  if (specs::find(n.spec->with(), "by") != nullptr || !count || *count > UINT64_MAX - skip) return std::nullopt;
  return skip + *count;
}

}  // namespace flowrun::operators
