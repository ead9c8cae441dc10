#include "operators/parts/text/text_source.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "engine/exec/parcel.h"
#include "operators/parts/rules/estimates.h"

namespace flowrun::operators {

namespace {

constexpr uint64_t min_record_bytes = 1 * MiB;
constexpr uint64_t max_record_bytes = 32 * MiB;
constexpr uint64_t lone_record_bytes = 16 * MiB;

class text_source final : public exec::source {
 public:
  text_source(exec::build_context& context, const std::vector<std::string>& paths, cutter_options options,
              std::shared_ptr<rejection_tally> tally, const byte_range& range)
      : pool_(context.job.pool()),
        from_(range.from),
        input_(context.job, context.counters, parts(paths, range),
               reading_options(context.job, context.memory_bytes, 1, true), beginning_at(context.begin_at)),
        cutter_(std::move(options), pool_),
        tally_(std::move(tally)) {
    if (context.begin_at == nullptr) return;
    const resume::source_position& at = *context.begin_at;
    file_begun_ = input_.file() + 1;
    cutter_.begin_within(input_.path(), from_ + at.at(1), at.at(2), input_.file());
    lines_before_ = at.at(3);
  }

  // File, byte in the part of it that is read, line ends before that byte, line ends in the files before. What was
  // rejected is counted from the beginning, so where such rows may be the source can't begin anywhere else.
  resume::source_position position() const override {
    if (tally_ && tally_->tolerates()) return {};
    if (pieces_.empty()) return {input_.file(), cutter_.offset() - from_, cutter_.num_lines(), lines_before_};
    const numbered_text& next = pieces_.front();
    return {next.file, next.piece.offset - from_, next.piece.first_line, next.first_row - next.piece.first_line};
  }

  outcome pull(exec::output& out, waker& w) override {
    if (tally_ && tally_->failed()) return settle(w);
    while (pieces_.empty()) {
      if (ended_) return settle(w);
      io::chunk chunk;
      const outcome o = input_.next(chunk, w);
      if (o.is_blocked()) return o;
      ended_ = o.is_done();
      if (ended_) continue;
      begin_file();  // it may be empty
      if (chunk.num_bytes > 0)
        cutter_.feed(chunk.owner, {reinterpret_cast<const char*>(chunk.data), chunk.num_bytes}, cut_);
      else
        cutter_.finish(cut_);
      queue_pieces();
      if (chunk.num_bytes == 0) end_file();
    }
    if (tally_) tally_->piece_left();
    const size_t num_bytes = pieces_.front().piece.text.size();
    out.emit(exec::make_parcel(std::move(pieces_.front()), 1, num_bytes));
    pieces_.pop_front();
    return outcome::ready();
  }

 private:
  static std::vector<file_input::part> parts(const std::vector<std::string>& paths, const byte_range& range) {
    std::vector<file_input::part> all;
    for (const std::string& path : paths) all.push_back({path, range.from, range.to});
    return all;
  }

  void begin_file() {
    if (file_begun_ == input_.file() + 1) return;
    file_begun_ = input_.file() + 1;
    cutter_.begin_within(input_.path(), from_, 0, input_.file());
  }

  // Its lines are of those before from here on, also in position().
  void end_file() {
    lines_before_ += cutter_.num_lines();
    cutter_.begin_within(input_.path(), cutter_.offset(), 0);
  }

  outcome settle(waker& w) {
    pieces_.clear();
    return tally_ ? tally_->settled(w) : outcome::done();
  }

  void queue_pieces() {
    for (text_piece& piece : cut_) {
      const uint64_t first_row = lines_before_ + piece.first_line;
      pieces_.push_back({std::move(piece), first_row, input_.file()});
    }
    cut_.clear();
  }

  record::batch_pool& pool_;
  const uint64_t from_;  // the byte of each file where it begins
  file_input input_;
  text_cutter cutter_;
  std::shared_ptr<rejection_tally> tally_;
  std::vector<text_piece> cut_;
  std::deque<numbered_text> pieces_;
  uint64_t lines_before_ = 0;
  size_t file_begun_ = 0;  // its index plus 1; 0: none
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<exec::source> make_text_source(exec::build_context& context, const std::vector<std::string>& paths,
                                               cutter_options options, std::shared_ptr<rejection_tally> tally,
                                               const byte_range& range) {
  for (const std::string& path : paths) look_at_range(path, range, options.line_end);
  return std::make_unique<text_source>(context, paths, std::move(options), std::move(tally), range);
}

plan::row_estimate rows_of_text(input_facts& inputs, char line_end, uint64_t least_record_bytes,
                                const record::row_type& type) {
  const std::string beginning = std::exchange(inputs.beginning, {});
  if (!inputs.num_bytes) return {};
  plan::row_estimate out = of_text(*inputs.num_bytes, beginning, line_end, least_record_bytes, type);
  if (inputs.estimated) out.most_rows = out.most_bytes = plan::row_estimate::unbounded;
  return out;
}

plan::memory_wish text_reading_memory(const input_facts& inputs, uint64_t copies_of_a_record) {
  plan::memory_wish wish = reading_memory(inputs);
  wish.maximum = std::max(wish.maximum, copies_of_a_record * max_record_bytes + inputs.decoder_bytes);
  return wish;
}

size_t longest_line(const exec::build_context& context, const cutter_options& options) {
  return std::max<uint64_t>(options.max_record_bytes, std::min(2 * context.batches.row_bytes, lone_record_bytes));
}

cutter_options default_cutting(const exec::build_context& context, const input_facts& inputs,
                               uint64_t copies_of_a_record) {
  const uint64_t memory_bytes = context.memory_bytes - std::min(context.memory_bytes, inputs.decoder_bytes);
  cutter_options options;
  options.node = context.node.id;
  options.piece_bytes = context.batches.target_bytes;
  options.max_record_bytes = std::clamp(memory_bytes / copies_of_a_record, min_record_bytes, max_record_bytes);
  // A row may be so long in any node, and what becomes of one that is read goes on alone.
  options.max_record_bytes =
      std::max<uint64_t>(options.max_record_bytes, std::min(context.batches.row_bytes, lone_record_bytes));
  options.more_memory_helps = options.max_record_bytes < max_record_bytes;
  return options;
}

}  // namespace flowrun::operators
