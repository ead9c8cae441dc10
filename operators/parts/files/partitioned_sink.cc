#include "operators/parts/files/partitioned_sink.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/io/encoder.h"
#include "engine/io/output_set.h"
#include "engine/io/output_set_writer.h"
#include "engine/io/piece_arena.h"
#include "operators/parts/files/encoded_output.h"

namespace flowrun::operators {

namespace {

constexpr uint64_t least_memory = 1 * MiB;
constexpr uint64_t most_memory = 64 * MiB;
constexpr uint64_t most_in_order = 8 * MiB;  // where files come one after another, more doesn't help
constexpr uint64_t name_bytes = 2 * KiB;     // that a file's name takes at most, unless its path is very long
constexpr uint64_t most_pieces = 16;

// Below these the job is told that it writes in small pieces, if it writes so much.
constexpr uint64_t small_write = 4 * KiB;
constexpr uint64_t much = 64 * MiB;

// Half of a node's memory is for the names of the files, but for what compressing takes.
struct memory_division {
  uint64_t names = 0, collected = 0, written = 0, encoding = 0;
};
memory_division divide(uint64_t memory, io::encoding content) {
  memory_division out;
  if (content != io::encoding::plain) {
    const uint64_t piece = encoding_bytes(content);
    out.encoding = std::max(memory / 2, std::min(memory, piece));
    memory -= out.encoding;
  }
  out.names = memory / 2;
  out.written = memory - out.names;
  if (content == io::encoding::plain) return out;
  out.collected = out.written / 2;
  out.written -= out.collected;
  return out;
}

struct text_hash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

class partitioned_sink final : public exec::ordered_stage, encoded_taker {
 public:
  partitioned_sink(exec::build_context& context, const std::string& path, const file_partitions& to,
                   io::encoding content, std::string prologue)
      : job_(context.job),
        node_(context.node.id),
        counters_(context.counters),
        to_(to),
        prologue_(std::move(prologue)),
        memory_(divide(context.memory_bytes, content)),
        collected_(memory_.collected),
        set_(std::make_unique<io::output_set>(path, to.path.directory(), to.path.rest(), job_.options().sync_outputs)),
        writer_(std::make_unique<io::output_set_writer>(*set_, memory_.written)) {
    if (content != io::encoding::plain) encoded_.emplace(job_, counters_, content, memory_.encoding);
  }

  outcome push(record::batch& in, exec::output&, waker& w) override {
    const partitioned_text& rows = exec::open_parcel<partitioned_text>(in);
    for (; group_ < rows.groups.size(); ++group_) {
      const partitioned_text::group& group = rows.groups[group_];
      if (!file_) {
        file_ = file_of(group.key);
        set_->count_rows(*file_, group.num_rows);
      }
      if (const outcome o = put(std::as_bytes(std::span(prologue_)), prologue_taken_, w); o.is_blocked()) return o;
      if (const outcome o = put(rows.text.bytes().subspan(offset_, group.num_bytes), taken_, w); o.is_blocked())
        return o;
      offset_ += group.num_bytes;
      taken_ = 0;
      file_.reset();
    }
    group_ = offset_ = 0;
    return outcome::ready();
  }

  outcome finish(exec::output&, waker& w) override {
    if (set_ == nullptr) return outcome::done();
    if (encoded_) {
      if (const outcome o = encode_collected(w); o.is_blocked()) return o;
      if (const outcome o = encoded_->finish(false, *this, w); o.is_blocked()) return o;
    }
    if (const outcome o = writer_->finish(&w); o.is_blocked()) return o;
    writer_.reset();
    advise();
    job_.commit_at_end(std::move(set_));
    return outcome::done();
  }

 private:
  // Writes what is left behind `taken` bytes.
  outcome put(std::span<const std::byte> bytes, size_t& taken, waker& w) {
    while (taken < bytes.size()) {
      if (encoded_) {
        if (is_encoding_)
          if (const outcome o = encode_collected(w); o.is_blocked()) return o;
        taken += collected_.add(*file_, bytes.subspan(taken));
        if (taken == bytes.size()) break;
        if (const outcome o = encode_collected(w); o.is_blocked()) return o;
        continue;
      }
      size_t consumed = 0;
      const outcome o = writer_->write(*file_, bytes.subspan(taken), consumed, &w);
      taken += consumed;
      counters_.file_written_bytes += consumed;
      if (o.is_blocked()) return o;
    }
    return outcome::ready();
  }

  // File by file, so that what is compressed at once is as long as it can be.
  outcome encode_collected(waker& w) {
    if (!std::exchange(is_encoding_, true)) collected_.sort();
    for (; piece_ < collected_.num_pieces(); ++piece_) {
      const io::piece_arena::piece next = collected_.at(piece_);
      size_t consumed = 0;
      const outcome o = encoded_->write(next.file, next.bytes.subspan(piece_taken_), consumed, *this, w);
      piece_taken_ += consumed;
      if (o.is_blocked()) return o;
      piece_taken_ = 0;
    }
    collected_.clear();
    piece_ = 0;
    is_encoding_ = false;
    return outcome::ready();
  }
  outcome take_encoded(uint32_t file, std::span<const std::byte> bytes, size_t& consumed, waker& w) override {
    const outcome o = writer_->write(file, bytes, consumed, &w);
    counters_.file_written_bytes += consumed;
    return o;
  }

  // The file of rows with this key, which is made where there is none. Only a new one gets the prologue.
  uint32_t file_of(const std::string& key) {
    if (const auto known = files_.find(std::string_view(key)); known != files_.end()) {
      prologue_taken_ = prologue_.size();
      return known->second;
    }
    if (files_.size() >= to_.max_files)
      throw error(
          error_kind::resources,
          fmt::format("{}: the rows would go to more than {} files, since {} {} so many values", node_, to_.max_files,
                      fmt::join(to_.path.columns(), " and "), to_.columns.size() == 1 ? "has" : "have together"),
          "name a column with fewer values in the path, or allow more with max_files");
    const std::string path = to_.path_of(key);
    if (to_.is_ambiguous()) refuse_taken(path, key);
    names_bytes_ += key.size() + sizeof(decltype(files_)::value_type) + 2 * sizeof(void*);
    if (set_->memory_bytes() + io::output_set::memory_of(path.size()) + names_bytes_ > memory_.names)
      throw error(error_kind::resources,
                  fmt::format("{}: the names of {} files take more memory than {}, its part for them", node_,
                              files_.size() + 1, format_bytes(memory_.names)),
                  "give the job more memory, or name a column with fewer or shorter values in the path");
    const uint32_t file = set_->add(path);
    files_.emplace(key, file);
    counters_.named.add("files", 1);
    prologue_taken_ = 0;
    return file;
  }

  void refuse_taken(const std::string& path, const std::string& key) {
    const auto [other, is_new] = paths_.emplace(path, key);
    names_bytes_ += path.size() + key.size() + sizeof(decltype(paths_)::value_type) + 2 * sizeof(void*);
    if (is_new) return;
    const auto told = [](std::string names) {
      for (size_t at = 0; (at = names.find('/', at)) != std::string::npos; at += 5) names.replace(at, 1, " and ");
      return names;
    };
    throw error(error_kind::bad_data,
                fmt::format("{}: rows with different values would go to one file, {}: {}, and {}", node_, path,
                            told(other->second), told(key)),
                "put '/' between the columns in the path, or something that no value has");
  }

  // Many small pieces of many files, in no order, take longer than they need to.
  void advise() const {
    const uint64_t num_bytes = counters_.file_written_bytes;
    if (num_bytes < much || num_bytes / std::max<uint64_t>(set_->num_opened(), 1) >= small_write) return;
    job_.warn(
        fmt::format("'{}' wrote {} files in pieces of {} on average: sort by {} in front of it, or give it more "
                    "memory",
                    node_, format_count(files_.size()), format_bytes(num_bytes / set_->num_opened()),
                    fmt::join(to_.path.columns(), ", ")));
  }

  exec::services& job_;
  const std::string node_;
  exec::node_counters& counters_;
  const file_partitions to_;
  const std::string prologue_;
  const memory_division memory_;
  std::unordered_map<std::string, uint32_t, text_hash, std::equal_to<>> files_;
  std::unordered_map<std::string, std::string> paths_;  // of a path that is ambiguous: whose it is
  uint64_t names_bytes_ = 0;

  // How far the parcel at hand has come.
  size_t group_ = 0;
  size_t offset_ = 0;             // in its text, of the group
  std::optional<uint32_t> file_;  // of the group
  size_t prologue_taken_ = 0, taken_ = 0;

  io::piece_arena collected_;  // text that is to be compressed
  bool is_encoding_ = false;
  size_t piece_ = 0, piece_taken_ = 0;
  std::optional<encoded_output> encoded_;

  std::unique_ptr<io::output_set> set_;
  std::unique_ptr<io::output_set_writer> writer_;
};

}  // namespace

plan::memory_wish partitions_memory(io::encoding content, const plan::partition_facts& facts) {
  const uint64_t most = facts.one_after_another ? most_in_order : most_memory;
  // As many files as there may be must be possible where there is memory: divide() says what is left for their names.
  const uint64_t names = facts.max_files * name_bytes;
  if (content == io::encoding::plain) return {least_memory, std::max(most, 2 * names), 0.1};
  const uint64_t piece = encoding_bytes(content);
  return {least_memory + piece, std::max(most + most_pieces * piece, 4 * names), 0.1};
}

std::unique_ptr<exec::ordered_stage> make_partitioned_sink(exec::build_context& context, const std::string& path,
                                                           const file_partitions& to, io::encoding content,
                                                           std::string prologue) {
  return std::make_unique<partitioned_sink>(context, path, to, content, std::move(prologue));
}

}  // namespace flowrun::operators
