#include "operators/parts/files/file_sink.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <span>
#include <utility>

#include "engine/base/error.h"
#include "engine/io/encoder.h"
#include "engine/io/output_file.h"
#include "engine/resume/manifest.h"
#include "operators/parts/files/encoded_output.h"
#include "operators/parts/files/partitioned_sink.h"

namespace flowrun::operators {

namespace {

// While some buffers are filled, others must keep the disk busy, beside the readers of the same disk.
constexpr unsigned min_buffers = 4;
constexpr unsigned max_buffers = 16;
constexpr size_t min_buffer_bytes = 64 * KiB;
constexpr size_t max_buffer_bytes = 1 * MiB;
constexpr unsigned num_index_buffers = 2;
constexpr uint64_t index_memory = num_index_buffers * min_buffer_bytes;

// What is left for compressing.
uint64_t memory_to_encode(const exec::build_context& context) {
  constexpr uint64_t least = min_buffers * min_buffer_bytes;
  return context.memory_bytes - std::min(context.memory_bytes, least);
}

io::output_file_options writing_options(const exec::build_context& context, bool indexed, io::encoding content) {
  uint64_t memory = context.memory_bytes - std::min(context.memory_bytes, indexed ? index_memory : 0);
  // What is compressed is shorter, and slower, than what it stands for.
  if (content != io::encoding::plain) memory = min_buffers * min_buffer_bytes;
  io::output_file_options options;
  options.chunk_bytes = std::bit_floor(std::clamp<uint64_t>(memory / 8, min_buffer_bytes, max_buffer_bytes));
  options.depth = static_cast<unsigned>(std::clamp<uint64_t>(memory / options.chunk_bytes, min_buffers, max_buffers));
  options.direct = context.job.options().direct;
  options.durable = context.job.options().sync_outputs;
  options.hashed = context.job.options().hash_outputs;
  return options;
}

// Writes the index of rows that are written, behind them.
class index_sink {
 public:
  index_sink(exec::build_context& context, const std::string& rows_path, std::unique_ptr<row_index_builder> index)
      : counters_(context.counters), index_(std::move(index)) {
    io::output_file_options options = writing_options(context, true, io::encoding::plain);
    options.chunk_bytes = min_buffer_bytes;
    options.depth = num_index_buffers;
    file_ = std::make_unique<io::output_file>(context.job.backend(), index_path(rows_path), options);
  }

  // Once for each batch.
  void add(const record::batch& rows) { index_->add(rows.rows, rows.num_rows); }
  outcome write(waker& w) {
    while (!index_->pending().empty()) {
      size_t consumed = 0;
      const outcome o = file_->write(index_->pending(), consumed, &w);
      index_->forget(consumed);
      counters_.file_written_bytes += consumed;
      if (o.is_blocked()) return o;
    }
    return outcome::ready();
  }
  outcome finish(waker& w) {
    if (!finished_) index_->finish();
    finished_ = true;
    if (const outcome o = write(w); o.is_blocked()) return o;
    return file_->finish(&w);
  }
  std::unique_ptr<io::output_file> take_file() { return std::move(file_); }

 private:
  exec::node_counters& counters_;
  const std::unique_ptr<row_index_builder> index_;
  std::unique_ptr<io::output_file> file_;
  bool finished_ = false;
};

// Of a job that can be resumed: marks how far the output has come, so that a later process goes on from there.
class output_marks {
 public:
  output_marks(resume::kept_output& kept, io::output_file& file) : kept_(kept), file_(file), last_(file.num_bytes()) {
    if (kept_.before().num_bytes == 0) kept_.begin(file_.clear_kept(kept_.suffix()));
  }

  // What is written from here on came from there.
  void note_position(const resume::pipeline_position& from) {
    if (next_ || file_.num_bytes() - last_ < kept_.bytes_between_marks()) return;
    next_ = {file_.num_bytes(), from};
  }
  // Saves a mark once what comes before it is written.
  void look() {
    if (!next_ || !kept_.has_begun() || file_.num_bytes_written() < next_->num_bytes) return;
    const std::string path = file_.keep(kept_.suffix());
    last_ = next_->num_bytes;
    if (content_ == nullptr) content_ = file_.content();
    kept_.written(content_, path, last_, std::move(next_->position));
    next_.reset();
  }

 private:
  struct mark {
    uint64_t num_bytes;
    resume::pipeline_position position;
  };
  resume::kept_output& kept_;
  io::output_file& file_;
  std::shared_ptr<io::file> content_;  // of the file, for those who sync it
  uint64_t last_;                      // bytes before the last mark
  std::optional<mark> next_;
};

class file_sink final : public exec::ordered_stage, encoded_taker {
 public:
  file_sink(exec::build_context& context, const written_file& to, sink_content content, std::string prologue,
            std::unique_ptr<row_index_builder> index, final_prologue at_end)
      : job_(context.job),
        counters_(context.counters),
        content_(content),
        prologue_(std::move(prologue)),
        at_end_(std::move(at_end)) {
    const std::string& path = to.path;
    io::output_file_options options = writing_options(context, index != nullptr, to.content);
    // (Members of compressed content end where the text says, which is not where a mark would be.)
    const bool is_plain = to.content == io::encoding::plain;
    resume::kept_output* const kept = index || !is_plain ? nullptr : kept_output_of(context);
    if (kept != nullptr && kept->before().num_bytes > 0) {
      options.kept_path = kept->before().path;
      options.kept_bytes = kept->before().num_bytes;
      prologue_taken_ = prologue_.size();
    }
    if (at_end_) options.rewritten_bytes = prologue_.size();
    file_ = std::make_unique<io::output_file>(job_.backend(), path == "-" ? "/dev/stdout" : path, options);
    if (at_end_ && file_->is_stream())
      throw error(error_kind::output,
                  fmt::format("can't write {}: the beginning of the file says how many rows there are, which is known "
                              "only at the end, and a pipe or device can't be written again",
                              path),
                  "write to a file");
    if (kept != nullptr && !file_->is_stream()) marks_.emplace(*kept, *file_);
    if (index) index_.emplace(context, path, std::move(index));
    if (!is_plain) encoded_.emplace(job_, counters_, to.content, memory_to_encode(context));
  }

  void note_position(const resume::pipeline_position& from) override {
    if (marks_) marks_->note_position(from);
  }

  outcome push(record::batch& in, exec::output&, waker& w) override {
    if (const outcome o = write_prologue(w); o.is_blocked()) return o;
    const std::span<const std::byte> bytes = content_ == sink_content::text
                                                 ? exec::open_parcel<text_block>(in).bytes()
                                                 : std::span(in.rows, in.num_rows * in.row_bytes);
    if (const outcome o = write(bytes, taken_, w); o.is_blocked()) return o;
    if (marks_) marks_->look();
    if (index_ && !std::exchange(is_indexed_, true)) index_->add(in);
    if (index_)
      if (const outcome o = index_->write(w); o.is_blocked()) return o;
    taken_ = 0;
    is_indexed_ = false;
    return outcome::ready();
  }

  outcome finish(exec::output&, waker& w) override {
    if (file_ == nullptr) return outcome::done();
    if (const outcome o = write_prologue(w); o.is_blocked()) return o;
    if (encoded_)
      if (const outcome o = encoded_->finish(true, *this, w); o.is_blocked()) return o;
    if (at_end_) {
      const std::string beginning = std::exchange(at_end_, nullptr)(file_->num_bytes() - prologue_.size());
      FLOWRUN_CHECK(beginning.size() == prologue_.size());
      file_->rewrite_beginning(std::as_bytes(std::span(beginning)));
    }
    if (const outcome o = file_->finish(&w); o.is_blocked()) return o;
    // Only now, since an index must not be older than its rows.
    if (index_)
      if (const outcome o = index_->finish(w); o.is_blocked()) return o;
    marks_.reset();
    job_.commit_at_end(std::move(file_));
    if (index_) job_.commit_at_end(index_->take_file());
    return outcome::done();
  }

 private:
  // Null: nothing of it can be gone on with.
  static resume::kept_output* kept_output_of(exec::build_context& context) {
    return context.notes_positions ? &context.job.manifest()->output(context.node.id) : nullptr;
  }

  // Writes what is left behind `taken` bytes.
  outcome write(std::span<const std::byte> bytes, size_t& taken, waker& w) {
    if (taken == bytes.size()) return outcome::ready();
    size_t consumed = 0;
    if (encoded_) {
      const outcome o = encoded_->write(0, bytes.subspan(taken), consumed, *this, w);
      taken += consumed;
      return o;
    }
    const outcome o = take_encoded(0, bytes.subspan(taken), consumed, w);
    taken += consumed;
    return o;
  }
  // And all else that goes into the one file.
  outcome take_encoded(uint32_t, std::span<const std::byte> bytes, size_t& consumed, waker& w) override {
    const outcome o = file_->write(bytes, consumed, &w);
    counters_.file_written_bytes += consumed;
    return o;
  }
  outcome write_prologue(waker& w) { return write(std::as_bytes(std::span(prologue_)), prologue_taken_, w); }

  exec::services& job_;
  exec::node_counters& counters_;
  const sink_content content_;
  const std::string prologue_;
  final_prologue at_end_;  // null: there is none, or it has been asked
  size_t prologue_taken_ = 0;
  size_t taken_ = 0;         // bytes of the batch at hand that are written
  bool is_indexed_ = false;  // the batch at hand
  std::unique_ptr<io::output_file> file_;
  std::optional<encoded_output> encoded_;  // in front of file_, where it is compressed
  std::optional<output_marks> marks_;      // of file_
  std::optional<index_sink> index_;
};

// Makes text of rows, for one file.
class text_stage final : public exec::stateless_stage {
 public:
  text_stage(row_formatter format, record::batch_pool& pool) : format_(std::move(format)), pool_(pool) {}

  void apply(const record::batch& in, exec::output& out) const override {
    text_block text = format_(in, pool_, out.room(), nullptr);
    if (text.num_rows < in.num_rows) out.leave(text.num_rows);
    out.emit(parcel_of_text(std::move(text)));
  }

 private:
  const row_formatter format_;
  record::batch_pool& pool_;
};

// For several.
class partitioned_text_stage final : public exec::stateless_stage {
 public:
  partitioned_text_stage(row_formatter format, row_distribution distribution, record::batch_pool& pool)
      : format_(std::move(format)), distribution_(std::move(distribution)), pool_(pool) {}

  void apply(const record::batch& in, exec::output& out) const override {
    std::vector<size_t> ends;
    ends.reserve(in.num_rows);
    text_block text = format_(in, pool_, out.room(), &ends);
    const size_t num_rows = text.num_rows, num_bytes = text.num_bytes;
    if (num_rows < in.num_rows) out.leave(num_rows);
    out.emit(exec::make_parcel(distribution_.distribute(in, std::move(text), ends, pool_), num_rows, num_bytes));
  }

 private:
  const row_formatter format_;
  const row_distribution distribution_;
  record::batch_pool& pool_;
};

}  // namespace

std::vector<plan::parameter_declaration> written_file_parameters() {
  std::vector<plan::parameter_declaration> out(2);
  out[0].names_columns = true;
  out[0].name = "path";
  out[0].kind = plan::parameter_kind::path;
  out[0].required = true;
  out[0].help =
      "The file; - is standard output. Missing directories are made. {column} in it stands for the row's value: rows "
      "go to a file for each value. {{ and }} are braces.";
  out[1].name = "compression";
  out[1].kind = plan::parameter_kind::choice;
  out[1].default_text = "auto";
  out[1].choices = {"auto", "none", "gzip", "zstd", "bzip2", "xz"};
  out[1].help =
      "How the file is compressed. auto: as its name says, which ends with .gz, .zst, .bz2 or .xz, or not at all.";
  out.push_back(max_files_parameter());
  return out;
}

written_file read_written_file(plan::node_checker& node) {
  using io::encoding;
  written_file out;
  out.path = node.text("path");
  const std::string how = node.text("compression");
  out.partitions = read_partitions(node, out.path);
  if (how == "auto") out.content = io::encoding_of_name(out.partitions ? out.partitions->path.tail() : out.path);
  for (const encoding e : {encoding::gzip, encoding::zstd, encoding::bzip2, encoding::xz})
    if (how == io::name_of(e)) out.content = e;
  return out;
}

plan::memory_wish writing_memory(const plan::node& n, const written_file& to) {
  if (n.facts.partitions) return partitions_memory(to.content, *n.facts.partitions);
  if (to.content != io::encoding::plain) {
    constexpr uint64_t buffers = min_buffers * min_buffer_bytes, most_pieces = 16;
    const uint64_t piece = encoding_bytes(to.content);
    return {buffers + piece, buffers + most_pieces * piece, 0.1};
  }
  const uint64_t more = n.facts.index ? index_memory : 0;
  return {min_buffers * min_buffer_bytes + more, max_buffers * max_buffer_bytes + more, 0.1};
}

std::unique_ptr<exec::ordered_stage> make_file_sink(exec::build_context& context, const written_file& to,
                                                    sink_content content, std::string prologue,
                                                    std::unique_ptr<row_index_builder> index, final_prologue at_end) {
  return std::make_unique<file_sink>(context, to, content, std::move(prologue), std::move(index), std::move(at_end));
}

std::vector<exec::stage> write_text(exec::build_context& context, const written_file& to, row_formatter format,
                                    std::string prologue) {
  std::vector<exec::stage> out;
  if (to.partitions) {
    out.push_back(std::make_unique<partitioned_text_stage>(
        std::move(format), row_distribution(context.input_type(), *to.partitions), context.job.pool()));
    out.push_back(make_partitioned_sink(context, to.path, *to.partitions, to.content, std::move(prologue)));
  } else {
    out.push_back(std::make_unique<text_stage>(std::move(format), context.job.pool()));
    out.push_back(make_file_sink(context, to, sink_content::text, std::move(prologue)));
  }
  return out;
}

}  // namespace flowrun::operators
