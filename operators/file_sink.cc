#include "operators/file_sink.h"

#include <algorithm>
#include <bit>
#include <span>
#include <utility>

#include "engine/io/output_file.h"

namespace flowrun::operators {

namespace {

constexpr unsigned num_buffers = 4;
constexpr size_t min_buffer_bytes = 64 * KiB;
constexpr size_t max_buffer_bytes = 2 * MiB;

io::output_file_options writing_options(const exec::build_context& context) {
  const uint64_t share = context.memory_bytes == 0 ? 1 * MiB : context.memory_bytes / num_buffers;
  io::output_file_options options;
  options.chunk_bytes = std::bit_floor(std::clamp<uint64_t>(share, min_buffer_bytes, max_buffer_bytes));
  options.depth = num_buffers;
  options.direct = context.job.options().direct;
  options.durable = context.job.options().sync_outputs;
  return options;
}

class file_sink final : public exec::ordered_stage {
 public:
  file_sink(exec::build_context& context, const std::string& path, sink_content content, std::string prologue)
      : job_(context.job),
        counters_(context.counters),
        content_(content),
        prologue_(std::move(prologue)),
        file_(std::make_unique<io::output_file>(context.job.backend(), path == "-" ? "/dev/stdout" : path,
                                                writing_options(context))) {}

  exec::outcome push(record::batch& in, exec::output&, waker& w) override {
    if (!write_prologue(w)) return exec::outcome::blocked(exec::blocked_on::io);
    const std::span<const std::byte> bytes = content_ == sink_content::text
                                                 ? std::span(in.heap, in.heap_bytes)
                                                 : std::span(in.rows, in.num_rows * in.row_bytes);
    if (!write(bytes, taken_, w)) return exec::outcome::blocked(exec::blocked_on::io);
    taken_ = 0;
    return exec::outcome::ready();
  }

  exec::outcome finish(exec::output&, waker& w) override {
    if (file_ == nullptr) return exec::outcome::done();
    if (!write_prologue(w) || file_->finish(&w) == io::step::blocked)
      return exec::outcome::blocked(exec::blocked_on::io);
    job_.commit_at_end(std::move(file_));
    return exec::outcome::done();
  }

 private:
  // Writes what is left behind `taken` bytes. False: blocked.
  bool write(std::span<const std::byte> bytes, size_t& taken, waker& w) {
    if (taken == bytes.size()) return true;
    size_t consumed = 0;
    const io::step step = file_->write(bytes.subspan(taken), consumed, &w);
    taken += consumed;
    counters_.file_written_bytes += consumed;
    return step != io::step::blocked;
  }
  bool write_prologue(waker& w) { return write(std::as_bytes(std::span(prologue_)), prologue_taken_, w); }

  exec::services& job_;
  exec::node_counters& counters_;
  const sink_content content_;
  const std::string prologue_;
  size_t prologue_taken_ = 0;
  size_t taken_ = 0;  // bytes of the batch at hand that are written
  std::unique_ptr<io::output_file> file_;
};

}  // namespace

plan::memory_wish writing_memory() { return {num_buffers * min_buffer_bytes, num_buffers * max_buffer_bytes, 0.1}; }

std::unique_ptr<exec::ordered_stage> make_file_sink(exec::build_context& context, const std::string& path,
                                                    sink_content content, std::string prologue) {
  return std::make_unique<file_sink>(context, path, content, std::move(prologue));
}

}  // namespace flowrun::operators
