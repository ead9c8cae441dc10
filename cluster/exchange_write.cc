// exchange.write: rows into a file for later tasks.
#include <algorithm>
#include <bit>
#include <utility>

#include "cluster/exchange_file.h"
#include "cluster/exchange_words.h"
#include "engine/base/units.h"
#include "engine/io/output_file.h"

namespace flowrun::cluster {

namespace {

constexpr size_t least_frame_bytes = 4 * KiB;
constexpr size_t most_frame_bytes = 256 * KiB;
// The fewer writes there are, the less is told from thread to thread.
constexpr size_t least_buffer_bytes = 256 * KiB;
constexpr size_t most_buffer_bytes = 1 * MiB;
constexpr unsigned num_buffers = 4;
constexpr uint64_t bytes_beside_buffers = 2 * most_frame_bytes + exchange_encoder::bytes_of_samples;

size_t bytes_of_a_buffer(uint64_t memory_bytes) {
  const uint64_t share = (memory_bytes - std::min(memory_bytes, bytes_beside_buffers)) / num_buffers;
  return std::bit_floor(std::clamp<uint64_t>(share, least_buffer_bytes, most_buffer_bytes));
}

struct settings {
  std::string path;
};

settings check(plan::node_checker& node) { return {node.text("path")}; }

class exchange_sink final : public exec::ordered_stage {
 public:
  exchange_sink(exec::build_context& c, const settings& s)
      : path_(s.path),
        job_(c.job),
        counters_(c.counters),
        encoder_(c.input_type(), std::clamp(c.batches.target_bytes, least_frame_bytes, most_frame_bytes)) {
    io::output_file_options options;
    options.chunk_bytes = bytes_of_a_buffer(c.memory_bytes);
    options.depth = num_buffers;
    options.direct = job_.options().direct;
    options.durable = false;  // a machine that fails takes its tasks with it
    file_ = std::make_unique<io::output_file>(job_.backend(), s.path, options);
  }

  outcome push(record::batch& in, exec::output&, waker& w) override {
    if (!std::exchange(is_encoded_, true)) encoder_.add(in);
    if (const outcome o = write(w); o.is_blocked()) return o;
    is_encoded_ = false;
    return outcome::ready();
  }

  outcome finish(exec::output&, waker& w) override {
    if (file_ == nullptr) return outcome::done();
    if (!std::exchange(is_finished_, true)) encoder_.finish(path_);
    if (const outcome o = write(w); o.is_blocked()) return o;
    if (const outcome o = file_->finish(&w); o.is_blocked()) return o;
    job_.commit_at_end(std::move(file_));
    return outcome::done();
  }

 private:
  outcome write(waker& w) {
    while (!encoder_.pending().empty()) {
      size_t consumed = 0;
      const outcome o = file_->write(encoder_.pending(), consumed, &w);
      encoder_.forget(consumed);
      counters_.file_written_bytes += consumed;
      if (o.is_blocked()) return o;
    }
    return outcome::ready();
  }

  const std::string path_;
  exec::services& job_;
  exec::node_counters& counters_;
  exchange_encoder encoder_;
  std::unique_ptr<io::output_file> file_;
  bool is_encoded_ = false;  // the batch at hand
  bool is_finished_ = false;
};

exec::assembly build(exec::build_context& c, const settings& s) {
  exec::assembly out;
  out.stages.push_back(std::make_unique<exchange_sink>(c, s));
  return out;
}

}  // namespace

const exec::operator_definition& exchange_write() {
  static const exec::operator_definition word = [] {
    plan::operator_declaration d;
    d.name = "exchange.write";
    d.summary = "Writes rows for other tasks of a job on a cluster.";
    d.role = plan::operator_role::sink;
    d.inputs = {{"in", "the rows"}};
    d.parameters = {{.name = "path", .kind = plan::parameter_kind::path, .required = true, .help = "The file."}};
    d.memory = [](const plan::node&, plan::node_part) {
      return plan::memory_wish{num_buffers * least_buffer_bytes + bytes_beside_buffers,
                               num_buffers * most_buffer_bytes + bytes_beside_buffers, 0.1};
    };
    return exec::define<settings>(std::move(d), check, build);
  }();
  return word;
}

}  // namespace flowrun::cluster
