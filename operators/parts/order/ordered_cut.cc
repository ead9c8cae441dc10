#include "operators/parts/order/ordered_cut.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "operators/parts/order/stage_state.h"

namespace flowrun::operators {

namespace {

constexpr size_t long_stretch = 128;  // rows, on average

class ordered_cut final : public exec::ordered_stage {
 public:
  ordered_cut(const record::row_type& type, repeats where, const record::key& key, uint64_t limit,
              record::batch_pool& pool)
      : type_(type), where_(where), comparator_(type, key), limit_(limit), pool_(pool) {}

  bool has_state() const override { return true; }
  std::string state(const resume::source_position&) const override {
    state_writer out;
    out.number(passed_);
    out.row(type_, last_);
    return out.take();
  }
  void begin_with(const std::string& state) override {
    state_reader in(state);
    passed_ = in.number();
    last_ = in.row(type_);
  }

  outcome push(record::batch& in, exec::output& out, waker&) override {
    if (where_ == repeats::none) {
      emit(std::move(in), out);
      return outcome::ready();
    }
    stretches_.clear();
    size_t from = 0;
    const size_t last = where_ == repeats::anywhere ? in.num_rows : std::min<size_t>(in.num_rows, 1);
    for (size_t i = 0; i < last; ++i) {
      const bool repeats = i > 0 ? equal(in, i - 1, in, i) : last_.num_rows > 0 && equal(last_, 0, in, 0);
      if (!repeats) continue;
      if (i > from) stretches_.push_back({from, i - from});
      from = i + 1;
    }
    if (in.num_rows > from) stretches_.push_back({from, in.num_rows - from});
    emit_stretches(in, out);
    if (in.num_rows > 0) last_ = in.slice(in.num_rows - 1, 1);
    return outcome::ready();
  }

 private:
  // Rows without a repetition among them.
  struct stretch {
    size_t from, count;
  };

  // Long ones are handed on as slices. Of short ones a batch is made, since each batch costs whoever takes it.
  void emit_stretches(const record::batch& in, exec::output& out) {
    size_t num_rows = 0;
    for (const stretch& s : stretches_) num_rows += s.count;
    if (stretches_.size() < 2 || num_rows >= stretches_.size() * long_stretch) {
      for (const stretch& s : stretches_) emit(in.slice(s.from, s.count), out);
      return;
    }
    const std::shared_ptr<std::byte[]> rows = pool_.take(num_rows * in.row_bytes);
    std::byte* to = rows.get();
    for (const stretch& s : stretches_) {
      std::memcpy(to, in.row(s.from), s.count * in.row_bytes);
      to += s.count * in.row_bytes;
    }
    record::batch kept = in;
    kept.rows = rows.get();
    kept.num_rows = num_rows;
    kept.owner = std::make_shared<std::pair<std::shared_ptr<const void>, std::shared_ptr<const void>>>(rows, in.owner);
    emit(std::move(kept), out);
  }

  bool equal(const record::batch& a, size_t i, const record::batch& b, size_t j) const {
    return comparator_.equal(a.row(i), a.heap, b.row(j), b.heap);
  }
  void emit(record::batch b, exec::output& out) {
    if (limit_ > 0) {
      const size_t count = std::min<uint64_t>(b.num_rows, limit_ - passed_);
      passed_ += count;
      b = b.slice(0, count);
    }
    out.emit(std::move(b));
  }

  const record::row_type type_;
  const repeats where_;
  const record::row_comparator comparator_;
  const uint64_t limit_;
  record::batch_pool& pool_;
  std::vector<stretch> stretches_;  // of the batch at hand
  uint64_t passed_ = 0;
  record::batch last_;  // the last row seen
};

}  // namespace

exec::stage make_ordered_cut(const record::row_type& type, repeats where, const record::key& key, uint64_t limit,
                             record::batch_pool& pool) {
  return std::unique_ptr<exec::ordered_stage>(std::make_unique<ordered_cut>(type, where, key, limit, pool));
}

}  // namespace flowrun::operators
