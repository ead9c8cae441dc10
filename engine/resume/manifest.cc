#include "engine/resume/manifest.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <optional>
#include <random>
#include <thread>

#include "engine/base/error.h"
#include "engine/base/mutex.h"
#include "engine/io/io_thread.h"
#include "engine/resume/record_file.h"
#include "engine/resume/resume.pb.h"
#include "engine/resume/resume_directory.h"

namespace flowrun::resume {

namespace {

constexpr uint32_t format = 1;

uint64_t random_number() {
  std::random_device random;
  return (uint64_t{random()} << 32U | random()) | 1;
}
// Processes number their streams from a place of their own, so that no block of one is taken for that of another.
uint64_t random_stream() { return random_number() >> 2U; }

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

void write(const runs::run& from, RunPart& to) {
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
}

// Behind the blocks of the same stream, or as a new run.
void read(const RunPart& from, std::vector<runs::run>& to) {
  if (to.empty() || to.back().stream != from.stream()) {
    to.emplace_back();
    to.back().stream = from.stream();
    to.back().block_bytes = from.block_bytes();
  }
  runs::run& run = to.back();
  const uint64_t rows_before = run.first_rows.size();
  const auto* const rows = reinterpret_cast<const std::byte*>(from.first_rows().data());
  run.first_rows.insert(run.first_rows.end(), rows, rows + from.first_rows().size());
  for (const Block& b : from.blocks()) {
    runs::run_block block;
    block.id = {b.disk(), b.num_bytes(), b.offset()};
    block.first = (record::word128{b.first_high()} << 64U) | b.first_low();
    block.first_row_at = rows_before + b.first_row_at();
    block.num_rows = b.num_rows();
    run.num_rows += b.num_rows();
    run.blocks.push_back(block);
  }
  if (from.forgets_first_rows()) run.forget_first_rows();
}

// What all records together say.
struct told {
  std::optional<Identity> identity;
  std::map<std::string, sort_progress> sorts;
  std::string spoiled;

  void add(const Record& record) {
    switch (record.what_case()) {
      case Record::kIdentity: identity = record.identity(); break;
      case Record::kWritten: {
        const SortWritten& w = record.written();
        sort_progress& to = sorts[w.node()];
        to.rows_taken = w.rows_taken();
        for (const RunPart& part : w.runs()) read(part, to.runs);
        to.position.assign(w.position().begin(), w.position().end());
        to.rows_to_skip = w.rows_to_skip();
        break;
      }
      case Record::kComplete: sorts[record.complete().node()].is_complete = true; break;
      case Record::kReleased:
        sorts[record.released().node()].is_released = true;
        sorts[record.released().node()].runs.clear();
        break;
      case Record::kSpoiled: spoiled = record.spoiled().why(); break;
      case Record::WHAT_NOT_SET: break;
    }
  }
};

told read_all(const std::vector<std::string>& records) {
  told out;
  for (const std::string& bytes : records) {
    Record record;
    if (!record.ParseFromString(bytes)) break;
    out.add(record);
  }
  return out;
}

// Why what they tell can't be used for this job; empty: it can, or they tell nothing.
std::vector<std::string> reasons_against(const told& all, const Identity& identity) {
  if (!all.identity) return {};
  std::vector<std::string> out = differences(*all.identity, identity);
  if (!all.spoiled.empty()) out.push_back(all.spoiled);
  return out;
}

}  // namespace

class manifest::core {
 public:
  core(const std::vector<std::string>& scratch, const job_identity& identity, std::vector<std::string>& reasons)
      : identity_(message_of(identity)),
        directories_(make_directories(scratch, identity.key)),
        file_(directories_.front().manifest()) {
    told_ = read_all(file_.read());
    reasons = reasons_against(told_, identity_);
    if (told_.identity && reasons.empty()) reasons = missing_blocks();
    if (!told_.identity || !reasons.empty()) begin_anew();
  }
  ~core() { end(); }

  const told& before() const { return told_; }
  std::string kept_file(size_t disk) const { return directories_.at(disk).blocks(); }

  void attach(block::block_manager& blocks, std::function<void(const std::string&)> warn, manifest& owner) {
    blocks_ = &blocks;
    warn_ = std::move(warn);
    owner_ = &owner;
    blocks.number_streams_from(random_stream());
    for (auto& [node, progress] : told_.sorts) {
      kept_sort& kept = sort(node);
      for (const runs::run& r : progress.runs)
        for (const runs::run_block& b : r.blocks) {
          if (!blocks.restore(b.id))
            throw error(error_kind::io,
                        fmt::format("the scratch file {} doesn't have what its manifest says", kept_file(b.id.disk)),
                        fmt::format("flowrun clean {} removes it; then run the job again",
                                    std::filesystem::path(kept_file(b.id.disk)).parent_path().parent_path().string()));
          mutex_lock lock(kept.mutex_);
          kept.blocks_.push_back(b.id);
        }
      kept.before_ = std::move(progress);
    }
    told_.sorts.clear();
    thread_ = io::start_io_thread("flowrun-resume", [this] { save_all(); });
  }

  kept_sort& sort(const std::string& node) {
    mutex_lock lock(mutex_);
    std::unique_ptr<kept_sort>& one = sorts_[node];
    if (one == nullptr) one = std::make_unique<kept_sort>(*owner_, node);
    return *one;
  }

  // `free`: blocks that are let go once the record is written.
  void save(const Record& record, bool syncs_blocks, std::vector<block::block_id> free = {}) {
    mutex_lock lock(mutex_);
    if (ended_) return;
    waiting_.push_back({record.SerializeAsString(), syncs_blocks, std::move(free)});
    changed_.notify_all();
  }

  block::block_manager* blocks() { return blocks_; }

  void end() noexcept {
    {
      mutex_lock lock(mutex_);
      if (ended_) return;
      ended_ = true;
      changed_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
  }

  void remove() noexcept {
    end();
    for (resume_directory& d : directories_) d.remove();
  }

 private:
  struct to_save {
    std::string record;
    bool syncs_blocks = false;
    std::vector<block::block_id> free;
  };

  // Files that don't have what the manifest tells of; empty: all do.
  std::vector<std::string> missing_blocks() const {
    std::vector<uint64_t> ends(directories_.size(), 0);
    for (const auto& [node, sort] : told_.sorts)
      for (const runs::run& r : sort.runs)
        for (const runs::run_block& b : r.blocks)
          if (b.id.disk < ends.size()) ends[b.id.disk] = std::max(ends[b.id.disk], b.id.offset + b.id.num_bytes);
    std::vector<std::string> out;
    for (size_t i = 0; i < directories_.size(); ++i) {
      std::error_code problem;
      const uint64_t length = std::filesystem::file_size(directories_[i].blocks(), problem);
      if (ends[i] > 0 && (problem || length < ends[i]))
        out.push_back(fmt::format("{} is not there, or too short", directories_[i].blocks()));
      else if (ends[i] > 0 && directories_[i].owner() != told_.identity->number())
        out.push_back(fmt::format("{} is of another run", directories_[i].blocks()));
    }
    return out;
  }

  static std::vector<resume_directory> make_directories(const std::vector<std::string>& scratch, uint64_t key) {
    std::vector<resume_directory> out;
    for (const std::string& one : scratch) out.emplace_back(one, key);
    return out;
  }

  void begin_anew() {
    told_ = {};
    file_.clear();
    Record record;
    *record.mutable_identity() = identity_;
    record.mutable_identity()->set_number(random_number());
    for (resume_directory& d : directories_) d.begin(record.identity().number());
    file_.append(record.SerializeAsString());
  }

  void save_all() {
    mutex_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&]() FLOWRUN_REQUIRES(mutex_) { return ended_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      std::deque<to_save> now;
      now.swap(waiting_);
      lock.unlock();
      const bool goes_on = save_these(now);
      lock.lock();
      if (!goes_on) {
        ended_ = true;
        return;
      }
    }
  }

  bool save_these(const std::deque<to_save>& records) {
    try {
      if (std::any_of(records.begin(), records.end(), [](const to_save& r) { return r.syncs_blocks; })) blocks_->sync();
      for (const to_save& r : records) {
        file_.append(r.record);
        for (const block::block_id id : r.free) blocks_->let_go(id);
      }
      return true;
    } catch (const std::exception& problem) {
      warn_(fmt::format("{}; from here on a run with --resume would have to do it again", problem.what()));
      return false;
    }
  }

  const Identity identity_;
  std::vector<resume_directory> directories_;
  record_file file_;
  told told_;
  manifest* owner_ = nullptr;
  block::block_manager* blocks_ = nullptr;
  std::function<void(const std::string&)> warn_;
  std::thread thread_;

  mutex mutex_;
  condition changed_;
  bool ended_ FLOWRUN_GUARDED_BY(mutex_) = false;
  std::deque<to_save> waiting_ FLOWRUN_GUARDED_BY(mutex_);
  std::map<std::string, std::unique_ptr<kept_sort>> sorts_ FLOWRUN_GUARDED_BY(mutex_);
};

manifest::manifest(const std::vector<std::string>& scratch, const job_identity& identity)
    : core_(std::make_unique<core>(scratch, identity, reasons_)) {}
manifest::~manifest() = default;

std::map<std::string, sort_progress> manifest::progress() const { return core_->before().sorts; }
std::string manifest::kept_file(size_t disk) const { return core_->kept_file(disk); }
void manifest::attach(block::block_manager& blocks, std::function<void(const std::string&)> warn) {
  core_->attach(blocks, std::move(warn), *this);
}
kept_sort& manifest::sort(const std::string& node) { return core_->sort(node); }
void manifest::end() noexcept { core_->end(); }
void manifest::remove() noexcept { core_->remove(); }

void manifest::spoil(const std::string& why) {
  Record record;
  record.mutable_spoiled()->set_why(why);
  core_->save(record, false);
}

void manifest::save_written(kept_sort& sort, uint64_t rows_taken, const std::vector<runs::run>& blocks,
                            const source_position& position, uint64_t rows_to_skip) {
  // At once: freed or not, they stay as they are from here on.
  for (const runs::run& r : blocks)
    for (const runs::run_block& b : r.blocks) core_->blocks()->keep(b.id);
  Record record;
  SortWritten& to = *record.mutable_written();
  to.set_node(sort.node());
  to.set_rows_taken(rows_taken);
  for (const runs::run& r : blocks) write(r, *to.add_runs());
  to.mutable_position()->Assign(position.begin(), position.end());
  to.set_rows_to_skip(rows_to_skip);
  core_->save(record, true);
}

void manifest::save_complete(kept_sort& sort) {
  Record record;
  record.mutable_complete()->set_node(sort.node());
  core_->save(record, false);
}

void manifest::save_released(kept_sort& sort, std::vector<block::block_id> blocks) {
  Record record;
  record.mutable_released()->set_node(sort.node());
  core_->save(record, false, std::move(blocks));
}

manifest_summary summary_of(const std::string& path) {
  told all = read_all(records_of(path));
  return {all.identity ? all.identity->job() : std::string(), std::move(all.sorts), {}};
}

manifest_summary summary_for(const std::vector<std::string>& scratch, const job_identity& identity) {
  told all = read_all(records_of(manifest_in(scratch.front(), identity.key)));
  std::vector<std::string> reasons = reasons_against(all, message_of(identity));
  return {all.identity ? all.identity->job() : std::string(), std::move(all.sorts), std::move(reasons)};
}

uint64_t hash_of(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }

}  // namespace flowrun::resume
