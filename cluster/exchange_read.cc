// exchange.read: rows that earlier tasks have written.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <deque>
#include <utility>

#include "cluster/damaged_file.h"
#include "cluster/exchange_file.h"
#include "cluster/exchange_words.h"
#include "engine/base/error.h"
#include "engine/base/units.h"
#include "operators/parts/files/file_input.h"
#include "operators/parts/files/row_range.h"
#include "operators/parts/files/shared_chunks.h"
#include "operators/parts/order/declared_order.h"

namespace flowrun::cluster {

namespace {

constexpr size_t most_chunk_bytes = 1 * MiB;

struct settings {
  std::vector<std::string> paths;
  record::row_type type;
  operators::row_range range;  // of the rows of a single file
  plan::order sorted_by;
  operators::input_facts inputs;
};

settings check(plan::node_checker& node) {
  settings s;
  s.paths = node.paths("path");
  if (auto type = node.row_type("type")) s.type = *std::move(type);
  s.range = operators::row_range_parameter(node, "range");
  s.sorted_by = operators::read_declared_order(node, s.type);
  if ((s.range.from > 0 || s.range.to < UINT64_MAX) && s.paths.size() > 1)
    node.fault_at_parameter("range", "a range needs a single file", "one path");
  if (!node.ok()) return s;
  s.inputs = operators::look_at_inputs(node, s.paths, false);
  s.inputs.beginning.clear();
  plan::row_estimate estimate;
  if (s.inputs.num_bytes) {
    estimate.known = true;
    estimate.rows = *s.inputs.num_bytes / std::max<uint32_t>(s.type.row_bytes(), 1);
    estimate.num_bytes = *s.inputs.num_bytes;
    if (const uint64_t most = s.range.to - s.range.from; most < estimate.rows) {
      estimate.num_bytes = s.type.has_strings() ? estimate.num_bytes / estimate.rows * most : most * s.type.row_bytes();
      estimate.rows = most;
    }
    estimate.most_rows = estimate.rows;
    estimate.most_bytes = s.type.has_strings() ? *s.inputs.num_bytes : estimate.num_bytes;
  }
  node.set_output(0, s.type, s.sorted_by, estimate);
  return s;
}

// A task that merges reads many runs at once. Where there is little memory for each, it is better used in few large
// chunks than in many small ones.
io::file_reader_options reading_options(const exec::services& job, uint64_t memory_bytes) {
  constexpr unsigned least_ahead = 2, least_held = 4;
  io::file_reader_options out = operators::reading_options(job, memory_bytes, 1);
  const size_t all_bytes = (out.depth + out.max_held) * out.chunk_bytes;
  const size_t larger = std::bit_floor(all_bytes / (least_ahead + least_held));
  if (larger > most_chunk_bytes) return out;
  out.chunk_bytes = larger;
  out.depth = least_ahead;
  out.max_held = least_held;
  return out;
}

class exchange_source final : public exec::source {
 public:
  exchange_source(exec::build_context& c, const settings& s)
      : row_bytes_(s.type.row_bytes()),
        most_rows_(most_rows(s.type, c.batches.target_bytes)),
        range_(s.range),
        pool_(c.job.pool()),
        options_(reading_options(c.job, c.memory_bytes)),
        chunks_(options_.max_held),
        input_(c.job, c.counters, parts_of(s), options_) {}

  outcome pull(exec::output& out, waker& w) override {
    while (batches_.empty()) {
      io::chunk chunk;
      if (const outcome o = input_.next(chunk, w); !o.is_ready()) return o;
      take(chunk);
    }
    out.emit(std::move(batches_.front()));
    batches_.pop_front();
    return outcome::ready();
  }

 private:
  // The frames that the range touches.
  struct part {
    std::string path;
    std::vector<exchange_frame> frames;
  };

  // Rows of a batch. The task that wrote a frame may have had more memory than this one. Parts of a frame with strings
  // would each count its whole heap, so such a frame stays one batch.
  static size_t most_rows(const record::row_type& type, size_t target_bytes) {
    return type.has_strings() ? SIZE_MAX : record::shape_for(type, target_bytes).max_rows;
  }

  std::vector<operators::file_input::part> parts_of(const settings& s) {
    std::vector<operators::file_input::part> out;
    for (const std::string& path : s.paths) {
      const exchange_index index = exchange_index::load(path, s.type);
      part& p = parts_.emplace_back(part{path, {}});
      for (const exchange_frame& f : index.frames())
        if (f.first_row < range_.to && f.first_row + f.num_rows > range_.from) p.frames.push_back(f);
      const uint64_t begin = p.frames.empty() ? 0 : p.frames.front().offset;
      const uint64_t end = p.frames.empty() ? 0 : p.frames.back().offset + p.frames.back().num_bytes;
      out.push_back({path, begin, end});
    }
    return out;
  }

  void take(const io::chunk& chunk) {
    if (chunk.num_bytes == 0) {  // the end of a file
      if (frame_ < parts_[file_].frames.size())
        throw damaged_file(fmt::format("{} ends too early", parts_[file_].path));
      ++file_;
      frame_ = 0;
      return;
    }
    std::shared_ptr<const void> owner = chunks_.lend(chunk);
    for (size_t done = 0; done < chunk.num_bytes;) {
      const part& p = parts_[file_];
      FLOWRUN_CHECK(frame_ < p.frames.size());
      const exchange_frame& frame = p.frames[frame_];
      if (owner != nullptr && filled_ == 0 && frame.num_bytes <= chunk.num_bytes - done) {
        add(rows_of_frame(p.path, frame, row_bytes_, chunk.data + done, owner));
        done += frame.num_bytes;
        ++frame_;
        continue;
      }
      if (bytes_ == nullptr) bytes_ = pool_.take(frame.num_bytes);
      const size_t n = std::min<size_t>(chunk.num_bytes - done, frame.num_bytes - filled_);
      std::memcpy(bytes_.get() + filled_, chunk.data + done, n);
      filled_ += n;
      done += n;
      if (filled_ < frame.num_bytes) break;
      add(rows_of_frame(p.path, frame, row_bytes_, bytes_.get(), bytes_));
      bytes_ = nullptr;
      filled_ = 0;
      ++frame_;
    }
  }

  void add(record::batch rows) {
    const uint64_t from = std::max(range_.from, rows.first_row) - rows.first_row;
    const uint64_t to = std::min(range_.to, rows.first_row + rows.num_rows) - rows.first_row;
    for (uint64_t at = from; at < to;) {
      const uint64_t count = std::min<uint64_t>(most_rows_, to - at);
      batches_.push_back(rows.slice(at, count));
      at += count;
    }
  }

  const uint32_t row_bytes_;
  const size_t most_rows_;
  const operators::row_range range_;
  record::batch_pool& pool_;
  const io::file_reader_options options_;
  const operators::shared_chunks chunks_;
  std::vector<part> parts_;
  operators::file_input input_;
  size_t file_ = 0, frame_ = 0;
  std::shared_ptr<std::byte[]> bytes_;  // of a frame that lies in two chunks, as far as it is there
  size_t filled_ = 0;
  std::deque<record::batch> batches_;
};

exec::assembly build(exec::build_context& c, const settings& s) {
  exec::assembly out;
  out.head = std::make_unique<exchange_source>(c, s);
  if (!s.sorted_by.empty()) out.stages.push_back(operators::make_order_check(s.type, s.sorted_by, s.paths));
  return out;
}

}  // namespace

const exec::operator_definition& exchange_read() {
  static const exec::operator_definition word = [] {
    using plan::parameter_kind;
    plan::operator_declaration d;
    d.name = "exchange.read";
    d.summary = "Reads rows that other tasks of a job on a cluster have written.";
    d.role = plan::operator_role::source;
    d.outputs = {{"out", "the rows"}};
    d.parameters = {{.name = "path", .kind = parameter_kind::paths, .required = true, .help = "The files."},
                    {.name = "range", .kind = parameter_kind::text, .help = "FROM:TO, the rows of a single file."},
                    {.name = "type", .kind = parameter_kind::row_type, .required = true, .help = "The columns."},
                    operators::declared_order_parameter()};
    d.memory = [](const plan::node& n, plan::node_part) {
      return operators::reading_memory(n.settings.as<settings>().inputs);
    };
    return exec::define<settings>(std::move(d), check, build);
  }();
  return word;
}

std::vector<const exec::operator_definition*> exchange_words() {
  return {&exchange_read(),  &exchange_write(),   &exchange_ends(),    &exchange_reduce(),
          &exchange_total(), &exchange_combine(), &exchange_combined()};
}

}  // namespace flowrun::cluster
