#include "operators/parts/files/npy_source.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "operators/parts/files/row_cutter.h"
#include "operators/parts/files/settling_source.h"

namespace flowrun::operators {

namespace {

class npy_source final : public settling_source<npy_piece> {
 public:
  npy_source(exec::build_context& context, const std::vector<std::string>& paths, npy_columns columns, size_t most_rows,
             const io::file_reader_options& options, std::shared_ptr<rejection_tally> tally)
      : settling_source(context, paths, options, std::move(tally)),
        node_(context.node.id),
        columns_(std::move(columns)),
        most_rows_(most_rows),
        longest_row_(std::max<uint64_t>(context.batches.row_bytes, context.batches.target_bytes)),
        max_held_(options.max_held),
        pool_(context.job.pool()) {
    if (context.begin_at == nullptr) return;
    const resume::source_position& at = *context.begin_at;
    rows_before_ = at.at(2);
    if (at.at(1) == 0) return;
    file_ = at.at(0);
    std::optional<npy_layout> layout = npy_layout_of_file(paths[at.at(0)], columns_);
    if (!layout || at.at(1) < layout->begin)
      throw error(error_kind::bad_data, fmt::format("{}: the header that was there is gone", paths[at.at(0)]),
                  "run the job without --resume");
    const uint64_t num_done = (at.at(1) - layout->begin) / layout->row_bytes;
    begin_rows(*std::move(layout), num_done);
    rows_before_ -= num_done;
  }

  // File, byte in it, rows before in all files.
  resume::source_position position() const override {
    if (!may_begin_anywhere()) return {};
    if (const npy_piece* const p = next())
      return {p->file, p->layout->begin + p->row_in_file * p->layout->row_bytes, p->first_row};
    if (layout_ == nullptr) return {input().file(), 0, rows_before_};
    return {file_, layout_->begin + rows_cut_ * layout_->row_bytes, rows_before_ + rows_cut_};
  }

 private:
  void take(io::chunk chunk) override {
    begin_file();
    if (layout_ == nullptr) take_header(chunk);
    if (layout_ != nullptr && chunk.num_bytes > 0) cut(std::move(chunk));
  }

  // What is known of the file before stays until then, so that position() can say that it was read.
  void begin_file() {
    if (file_ == input().file()) return;
    file_ = input().file();
    rows_before_ += rows_cut_;
    rows_cut_ = bytes_taken_ = 0;
    layout_ = nullptr;
    cutter_.reset();
    header_.clear();
  }

  // Takes what belongs to the header from the front of the chunk.
  void take_header(io::chunk& chunk) {
    for (;;) {
      if (std::optional<npy_layout> layout = npy_layout_of(input().path(), header_, columns_))
        return begin_rows(*std::move(layout), 0);
      if (chunk.num_bytes == 0) return;
      const size_t missing = std::min<size_t>(npy_bytes_needed(header_) - header_.size(), chunk.num_bytes);
      header_.append(reinterpret_cast<const char*>(chunk.data), missing);
      chunk.data += missing;
      chunk.num_bytes -= missing;
    }
  }

  void begin_rows(npy_layout layout, uint64_t num_done) {
    if (layout.row_bytes > longest_row_)
      throw error(error_kind::resources,
                  fmt::format("node '{}': {}: its rows take {}, and the memory budget leaves {} for a row", node_,
                              input().path(), format_bytes(layout.row_bytes), format_bytes(longest_row_)),
                  "raise the memory budget (-m), or save the fields that are needed in an array of their own");
    layout_ = std::make_shared<const npy_layout>(std::move(layout));
    rows_cut_ = num_done;
    bytes_taken_ = num_done * layout_->row_bytes;
    cutter_.emplace(layout_->row_bytes, most_rows_, max_held_, pool_);
  }

  void cut(io::chunk chunk) {
    const uint64_t left = layout_->num_bytes() - bytes_taken_;
    const bool goes_on = chunk.num_bytes > left;
    chunk.num_bytes = std::min<uint64_t>(chunk.num_bytes, left);
    bytes_taken_ += chunk.num_bytes;
    std::vector<row_cutter::piece> cut;
    cutter_->feed(chunk, cut);
    for (row_cutter::piece& p : cut) {
      const size_t num_rows = p.num_rows;
      queue({p.rows, num_rows, std::move(p.owner), layout_, rows_cut_, rows_before_ + rows_cut_, input().file()});
      rows_cut_ += num_rows;
    }
    if (goes_on) npy_goes_on(input().path(), *layout_);
  }

  void end_file() override {
    begin_file();  // it may be empty
    if (layout_ == nullptr) npy_without_header(input().path(), header_.size());
    if (bytes_taken_ < layout_->num_bytes()) npy_cut_short(input().path(), *layout_, bytes_taken_);
  }

  const std::string node_;
  const npy_columns columns_;
  const size_t most_rows_;
  const uint64_t longest_row_;
  const unsigned max_held_;
  record::batch_pool& pool_;

  // Of the current file, which is `file_`:
  size_t file_ = SIZE_MAX;                    // its index; SIZE_MAX: none has begun
  std::string header_;                        // as far as it has come; done with once there is a layout
  std::shared_ptr<const npy_layout> layout_;  // null: not known yet
  std::optional<row_cutter> cutter_;
  uint64_t bytes_taken_ = 0;  // of rows
  uint64_t rows_cut_ = 0;

  uint64_t rows_before_ = 0;  // in the files before
};

}  // namespace

std::unique_ptr<exec::source> make_npy_source(exec::build_context& context, const std::vector<std::string>& paths,
                                              npy_columns columns, size_t most_rows,
                                              std::shared_ptr<rejection_tally> tally) {
  const io::file_reader_options options =
      reading_options(context.job, context.memory_bytes, columns.type.row_bytes(), true);
  return std::make_unique<npy_source>(context, paths, std::move(columns), most_rows, options, std::move(tally));
}

}  // namespace flowrun::operators
