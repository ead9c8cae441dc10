#include "engine/exec/vector_stages.h"

#include <utility>

#include "engine/base/error.h"

namespace flowrun::exec {

namespace {

class vector_sink final : public ordered_stage {
 public:
  explicit vector_sink(std::shared_ptr<container::external_vector> rows) : rows_(std::move(rows)) {}
  outcome push(record::batch& in, output&, waker& w) override { return rows_->push(in, w); }
  outcome finish(output&, waker& w) override { return rows_->finish(w); }

 private:
  std::shared_ptr<container::external_vector> rows_;
};

class count_sink final : public ordered_stage {
 public:
  explicit count_sink(uint64_t& count) : count_(count) {}
  outcome push(record::batch& in, output&, waker&) override {
    count_ += in.num_rows;
    return outcome::ready();
  }

 private:
  uint64_t& count_;
};

class vector_source final : public source {
 public:
  vector_source(std::vector<vector_output> outputs, uint64_t memory_bytes, size_t batch_bytes)
      : outputs_(std::move(outputs)), memory_bytes_(memory_bytes), batch_bytes_(batch_bytes) {}

  outcome pull(output& out, waker& w) override {
    if (reader_ == nullptr && !open_next()) return outcome::done();
    const record::batch* front = nullptr;
    const outcome o = reader_->front(front, w);
    if (o.is_blocked()) return o;
    if (o.is_done()) {
      reader_.reset();
      return outcome::ready();
    }
    record::batch rows = *front;
    rows.first_row = num_rows_;
    num_rows_ += rows.num_rows;
    reader_->pop();
    out.emit(std::move(rows), outputs_[next_ - 1].port);
    return outcome::ready();
  }

 private:
  bool open_next() {
    if (next_ == outputs_.size()) return false;
    const shared_rows rows = std::move(outputs_[next_++].rows);
    reader_ = rows->read(memory_bytes_, container::external_vector::direction::forward, batch_bytes_);
    num_rows_ = 0;
    return true;
  }

  std::vector<vector_output> outputs_;
  const uint64_t memory_bytes_;
  const size_t batch_bytes_;
  size_t next_ = 0;
  uint64_t num_rows_ = 0;  // given from the current one
  std::unique_ptr<container::external_vector::reader> reader_;
};

record::key index_of(const record::row_type& type, const plan::order& sorted_by) {
  record::key out;
  for (const plan::order_term& term : sorted_by) {
    const auto column = type.index_of(term.column);
    FLOWRUN_CHECK(column.has_value());
    out.push_back({*column, term.descending, term.from, term.length});
  }
  return out;
}

}  // namespace

std::shared_ptr<container::external_vector> make_vector(const record::row_type& type, const plan::order& sorted_by,
                                                        services& job, const vector_memory& memory) {
  container::external_vector::settings how;
  how.memory_bytes = job.options().force_spill ? 0 : memory.filling_bytes;
  how.kept_bytes = memory.kept_bytes;
  how.block_bytes = job.options().block_bytes;
  how.index_by = index_of(type, sorted_by);
  how.keep_read = memory.keep_read;
  return std::make_shared<container::external_vector>(type, job.blocks(), job.pool(), std::move(how));
}

std::unique_ptr<ordered_stage> make_vector_sink(std::shared_ptr<container::external_vector> rows) {
  return std::make_unique<vector_sink>(std::move(rows));
}
std::unique_ptr<ordered_stage> make_count_sink(uint64_t& count) { return std::make_unique<count_sink>(count); }
std::unique_ptr<source> make_vector_source(std::vector<vector_output> outputs, uint64_t memory_bytes,
                                           size_t batch_bytes) {
  return std::make_unique<vector_source>(std::move(outputs), memory_bytes, batch_bytes);
}

}  // namespace flowrun::exec
