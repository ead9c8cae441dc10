#include "engine/resume/manifest_content.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace flowrun::resume {

namespace {

constexpr uint32_t format = 2;

std::string difference_of(const Identity::Input& then, const Identity::Input& now) {
  if (then.num_bytes() != now.num_bytes())
    return fmt::format("{} had {} bytes and has {}", now.path(), then.num_bytes(), now.num_bytes());
  if (then.content() != now.content()) return fmt::format("the content of {} has changed", now.path());
  if (then.modified_ns() != now.modified_ns()) return fmt::format("{} was written meanwhile", now.path());
  if (then.inode() != now.inode()) return fmt::format("{} is another file than it was", now.path());
  if (then.changed_ns() != now.changed_ns()) return fmt::format("{} was changed or moved meanwhile", now.path());
  return {};
}

// In words; empty: it is the same job on the same inputs.
std::vector<std::string> differences(const Identity& then, const Identity& now) {
  if (then.format() != now.format()) return {"another version of flowrun wrote it"};
  std::vector<std::string> out;
  for (const Identity::Fact& f : now.facts()) {
    const auto before = std::find_if(then.facts().begin(), then.facts().end(),
                                     [&](const Identity::Fact& one) { return one.name() == f.name(); });
    if (before != then.facts().end() && before->value() == f.value()) continue;
    out.push_back(f.is_hash() || before == then.facts().end()
                      ? fmt::format("{} has changed", f.name())
                      : fmt::format("{} was {} and is {}", f.name(), before->value(), f.value()));
  }
  for (const Identity::Input& in : now.inputs()) {
    const auto before = std::find_if(then.inputs().begin(), then.inputs().end(),
                                     [&](const Identity::Input& one) { return one.path() == in.path(); });
    std::string what = before == then.inputs().end() ? in.path() + " was no input" : difference_of(*before, in);
    if (!what.empty()) out.push_back(std::move(what));
  }
  return out;
}

// Behind the blocks of the same stream, or as a new run. False for what no process has written.
bool read(const RunPart& from, std::vector<runs::run>& to) {
  if (to.empty() || to.back().stream != from.stream()) {
    to.emplace_back();
    to.back().stream = from.stream();
    to.back().block_bytes = from.block_bytes();
  }
  runs::run& run = to.back();
  if (run.block_bytes != from.block_bytes()) return false;
  const uint64_t rows_before = run.first_rows.size();
  const auto* const rows = reinterpret_cast<const std::byte*>(from.first_rows().data());
  run.first_rows.insert(run.first_rows.end(), rows, rows + from.first_rows().size());
  for (const Block& b : from.blocks()) {
    if (b.first_row_at() > from.first_rows().size()) return false;
    runs::run_block block;
    block.id = {b.disk(), b.num_bytes(), b.offset()};
    block.first = (record::word128{b.first_high()} << 64U) | b.first_low();
    block.first_row_at = rows_before + b.first_row_at();
    block.num_rows = b.num_rows();
    if (!runs::run_blocks::can_hold(block.id)) return false;
    run.num_rows += b.num_rows();
    run.blocks.push_back(block);
  }
  if (from.forgets_first_rows()) run.forget_first_rows();
  return true;
}

bool read(const google::protobuf::RepeatedPtrField<RunPart>& from, std::vector<runs::run>& to) {
  return std::all_of(from.begin(), from.end(), [&](const RunPart& part) { return read(part, to); });
}

pipeline_position position_of(const Position& from) {
  return {{from.source().begin(), from.source().end()}, {from.states().begin(), from.states().end()}};
}

record::row_tally tally_of(const Tally& from) { return {from.num_rows(), from.sum()}; }

}  // namespace

Tally message_of(const record::row_tally& from) {
  Tally to;
  to.set_num_rows(from.num_rows);
  to.set_sum(from.sum);
  return to;
}

Position message_of(const pipeline_position& from) {
  Position to;
  to.mutable_source()->Assign(from.source.begin(), from.source.end());
  for (const std::string& state : from.states) to.add_states(state);
  return to;
}

Identity message_of(const job_identity& identity) {
  Identity out;
  out.set_format(format);
  out.set_job(identity.job);
  for (const job_identity::fact& f : identity.facts) {
    Identity::Fact& to = *out.add_facts();
    to.set_name(f.name);
    to.set_value(f.value);
    to.set_is_hash(f.is_hash);
  }
  out.mutable_scratch()->Assign(identity.scratch.begin(), identity.scratch.end());
  for (const input_contents& in : identity.inputs) {
    Identity::Input& to = *out.add_inputs();
    to.set_path(in.path);
    to.set_num_bytes(in.num_bytes);
    to.set_modified_ns(in.modified_ns);
    to.set_content(in.content);
    to.set_inode(in.inode);
    to.set_changed_ns(in.changed_ns);
  }
  return out;
}

RunPart message_of(const runs::run& from) {
  RunPart to;
  to.set_stream(from.stream);
  to.set_block_bytes(from.block_bytes);
  to.set_first_rows(from.first_rows.data(), from.first_rows.size());
  to.set_forgets_first_rows(!from.knows_first_rows);
  for (const runs::run_block& b : from.blocks) {
    Block& block = *to.add_blocks();
    block.set_disk(b.id.disk);
    block.set_num_bytes(b.id.num_bytes);
    block.set_offset(b.id.offset);
    block.set_first_high(static_cast<uint64_t>(b.first >> 64U));
    block.set_first_low(static_cast<uint64_t>(b.first));
    block.set_first_row_at(b.first_row_at);
    block.set_num_rows(b.num_rows);
  }
  return to;
}

LoopIteration message_of(const std::string& node, const loop_step& step) {
  LoopIteration to;
  to.set_node(node);
  to.set_iteration(step.iteration);
  to.mutable_scalars()->Assign(step.scalars.begin(), step.scalars.end());
  for (const auto& [stream, rows] : step.carried) {
    LoopIteration::Rows& one = (*to.mutable_carried())[stream];
    for (const runs::run& r : rows) *one.add_runs() = message_of(r);
  }
  for (const stream_runs& rows : step.collected) {
    LoopIteration::Rows& one = *to.add_collected();
    for (const runs::run& r : rows) *one.add_runs() = message_of(r);
  }
  return to;
}

void manifest_content::add(const Record& record) {
  switch (record.what_case()) {
    case Record::kIdentity:
      if (identity) spoil(damaged);
      identity = record.identity();
      break;
    case Record::kWritten: add(record.written()); break;
    case Record::kComplete: {
      sort_progress& to = sorts[record.complete().node()];
      to.is_complete = true;
      if (record.complete().has_all()) to.all = tally_of(record.complete().all());
      break;
    }
    case Record::kReleased:
      sorts[record.released().node()].is_released = true;
      sorts[record.released().node()].runs.clear();
      break;
    case Record::kMerged: add(record.merged()); break;
    case Record::kOutput: {
      const OutputWritten& o = record.output();
      outputs[o.node()] = {o.path(), o.inode(), o.num_bytes(), position_of(o.position()), o.born_ns()};
      break;
    }
    case Record::kLoop: add(record.loop()); break;
    case Record::kSpoiled: spoil(record.spoiled().why()); break;
    case Record::WHAT_NOT_SET: break;
  }
}

void manifest_content::spoil(const std::string& why) {
  if (spoiled.empty()) spoiled = why.empty() ? damaged : why;
}

void manifest_content::add(const SortWritten& written) {
  sort_progress& to = sorts[written.node()];
  to.rows_taken = written.rows_taken();
  if (!read(written.runs(), to.runs)) spoil(damaged);
  to.position = position_of(written.position());
  to.rows_to_skip = written.rows_to_skip();
  if (to.rows_to_skip > to.rows_taken) spoil(damaged);
  to.before_position.reset();
  if (written.has_before_position()) to.before_position = tally_of(written.before_position());
}

// The new run takes the place of those that it was made of.
void manifest_content::add(const SortMerged& merged) {
  std::vector<runs::run>& all = sorts[merged.node()].runs;
  const auto first = std::search(all.begin(), all.end(), merged.streams().begin(), merged.streams().end(),
                                 [](const runs::run& r, uint64_t stream) { return r.stream == stream; });
  std::vector<runs::run> made;
  if (first == all.end() || merged.streams().empty() || !read(merged.run(), made)) {
    spoil(damaged);
    return;
  }
  *first = std::move(made.front());
  all.erase(first + 1, first + merged.streams_size());
}

void manifest_content::add(const LoopIteration& loop) {
  loop_progress& to = loops[loop.node()];
  to.iteration = loop.iteration();
  to.scalars.assign(loop.scalars().begin(), loop.scalars().end());
  for (const auto& [stream, rows] : loop.carried()) {
    to.carried[stream].clear();
    if (!read(rows.runs(), to.carried[stream])) spoil(damaged);
  }
  to.collected.resize(std::max(to.collected.size(), static_cast<size_t>(loop.collected_size())));
  for (int i = 0; i < loop.collected_size(); ++i)
    if (!read(loop.collected(i).runs(), to.collected[static_cast<size_t>(i)])) spoil(damaged);
}

manifest_content content_of(const found_records& records) {
  manifest_content out;
  out.cut_bytes = records.cut_bytes;
  if (records.are_damaged) out.spoil(damaged);
  for (const std::string& bytes : records.whole) {
    Record record;
    if (!record.ParseFromString(bytes)) {
      out.spoil(damaged);
      break;
    }
    out.add(record);
  }
  return out;
}

// Why what they tell can't be used for this job; empty: it can, or they tell nothing.
std::vector<std::string> reasons_against(const manifest_content& all, const Identity& identity) {
  if (!all.identity) return {};
  std::vector<std::string> out = differences(*all.identity, identity);
  if (!all.spoiled.empty()) out.push_back(all.spoiled);
  return out;
}

}  // namespace flowrun::resume
