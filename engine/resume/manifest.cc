#include "engine/resume/manifest.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <filesystem>
#include <optional>
#include <random>
#include <thread>

#include "engine/base/error.h"
#include "engine/base/mutex.h"
#include "engine/io/io_thread.h"
#include "engine/resume/manifest_content.h"
#include "engine/resume/record_file.h"
#include "engine/resume/resume.pb.h"
#include "engine/resume/resume_directory.h"

namespace flowrun::resume {

namespace {

uint64_t random_number() {
  std::random_device random;
  return (uint64_t{random()} << 32U | random()) | 1;
}
// Processes number their streams from a place of their own, so that no block of one is taken for that of another.
uint64_t random_stream() { return random_number() >> 2U; }

// Behind the last of the blocks of one disk. Nothing, where they can't be blocks, or share a place.
std::optional<uint64_t> end_of(std::vector<block::block_id>& blocks) {
  std::sort(blocks.begin(), blocks.end(),
            [](const block::block_id& a, const block::block_id& b) { return a.offset < b.offset; });
  uint64_t end = 0;
  for (const block::block_id& b : blocks) {
    if (b.num_bytes == 0 || b.num_bytes % io_alignment != 0 || b.offset % io_alignment != 0 || b.offset < end)
      return std::nullopt;
    if (__builtin_add_overflow(b.offset, uint64_t{b.num_bytes}, &end)) return std::nullopt;
  }
  return end;
}

struct file_facts {
  uint64_t inode, num_bytes;
  int64_t born_ns;
};
// Of a regular file, by its descriptor and an empty name, or by its name.
std::optional<file_facts> facts_of(int descriptor, const char* name) {
  struct statx found {};
  constexpr unsigned wanted = STATX_TYPE | STATX_INO | STATX_SIZE | STATX_BTIME;
  if (statx(descriptor, name, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW, wanted, &found) != 0 || !S_ISREG(found.stx_mode))
    return std::nullopt;
  const bool has_birth = (found.stx_mask & STATX_BTIME) != 0;
  return file_facts{found.stx_ino, found.stx_size,
                    has_birth ? found.stx_btime.tv_sec * 1'000'000'000 + found.stx_btime.tv_nsec : 0};
}

// Whether the file still has the bytes that it is told to have.
bool is_there(const output_progress& kept) {
  const std::optional<file_facts> found = facts_of(AT_FDCWD, kept.path.c_str());
  return kept.num_bytes > 0 && found && found->inode == kept.inode && found->born_ns == kept.born_ns &&
         found->num_bytes >= kept.num_bytes;
}

manifest_summary summary_from(manifest_content all, std::vector<std::string> reasons) {
  return {all.identity ? all.identity->job() : std::string(),
          std::move(all.sorts),
          std::move(all.outputs),
          std::move(all.loops),
          std::move(reasons),
          all.cut_bytes};
}

// What a run with this key left in these scratch directories. A manifest lies in the first one of its own list: where
// that is another one here, what it tells of can't be gone on with, and `elsewhere` is set.
manifest_content left_in(const std::vector<std::string>& scratch, uint64_t key, bool& elsewhere) {
  for (const std::string& one : scratch) {
    manifest_content found = content_of(records_of(manifest_in(one, key)));
    elsewhere = found.identity && &one != &scratch.front();
    if (found.identity) return found;
  }
  for (const std::string& one : scratch) elsewhere = elsewhere || owner_in(one, key) != 0;
  return {};
}

std::vector<std::string> reasons_to_leave(const manifest_content& left, bool elsewhere, const Identity& identity) {
  std::vector<std::string> out = reasons_against(left, identity);
  if (elsewhere && out.empty())
    out.emplace_back(left.identity
                         ? "the list of scratch directories was another one"
                         : "the list of scratch directories was another one, or the manifest is lost or damaged");
  return out;
}

// Files that don't have what the manifest tells of; empty: all do.
std::vector<std::string> missing_blocks(const manifest_content& told, const std::vector<std::string>& scratch,
                                        uint64_t key) {
  std::vector<std::vector<block::block_id>> of_disks(scratch.size());
  bool are_known = true;
  const auto look = [&](const std::vector<runs::run>& rows) {
    for (const runs::run& r : rows)
      for (const runs::run_block& b : r.blocks) {
        are_known &= b.id.disk < of_disks.size();
        if (b.id.disk < of_disks.size()) of_disks[b.id.disk].push_back(b.id);
      }
  };
  for (const auto& [node, sort] : told.sorts) look(sort.runs);
  for (const auto& [node, loop] : told.loops) {
    for (const auto& [stream, rows] : loop.carried) look(rows);
    for (const stream_runs& rows : loop.collected) look(rows);
  }
  if (!are_known) return {damaged};
  std::vector<uint64_t> ends;
  for (std::vector<block::block_id>& blocks : of_disks) {
    const std::optional<uint64_t> end = end_of(blocks);
    if (!end) return {damaged};
    ends.push_back(*end);
  }
  std::vector<std::string> out;
  for (size_t i = 0; i < scratch.size(); ++i) {
    std::error_code problem;
    const uint64_t length = std::filesystem::file_size(blocks_in(scratch[i], key), problem);
    if (ends[i] > 0 && (problem || length < ends[i]))
      out.push_back(fmt::format("{} is not there, or too short", blocks_in(scratch[i], key)));
    else if (ends[i] > 0 && owner_in(scratch[i], key) != told.identity->number())
      out.push_back(fmt::format("{} is of another run", blocks_in(scratch[i], key)));
  }
  return out;
}

// Whether output_suffix() made its name.
bool is_part_of_output(const std::string& path) noexcept { return path.find(".flowrun-resume-") != std::string::npos; }

void remove_output(const std::string& path) noexcept {
  if (is_part_of_output(path)) unlink(path.c_str());
}

}  // namespace

class manifest::core {
 public:
  core(const std::vector<std::string>& scratch, const job_identity& identity, std::vector<std::string>& reasons)
      : identity_(message_of(identity)),
        bytes_between_marks_(identity.bytes_between_marks),
        output_suffix_(fmt::format("flowrun-resume-{:016x}", identity.key)),
        directories_(make_directories(scratch, identity.key)),
        file_(directories_.front().manifest()) {
    told_ = content_of(file_.read());
    bool elsewhere = false;
    if (!told_.identity) told_ = left_in(scratch, identity.key, elsewhere);
    reasons = reasons_to_leave(told_, elsewhere, identity_);
    if (told_.identity && reasons.empty()) reasons = missing_blocks(told_, scratch, identity.key);
    if (!told_.identity || !reasons.empty()) begin_anew(identity.key);
    forget_lost_outputs();
  }
  ~core() { end(); }

  const manifest_content& before() const { return told_; }
  std::string kept_file(size_t disk) const { return directories_.at(disk).blocks(); }

  void attach(block::block_manager& blocks, std::function<void(const std::string&)> warn, manifest& owner) {
    blocks_ = &blocks;
    warn_ = std::move(warn);
    owner_ = &owner;
    blocks.number_streams_from(random_stream());
    for (auto& [node, progress] : told_.sorts) {
      kept_sort& kept = sort(node);
      mutex_lock lock(kept.mutex_);
      for (const runs::run& r : progress.runs) restore(r, kept.blocks_[r.stream]);
      kept.before_ = std::move(progress);
    }
    told_.sorts.clear();
    for (auto& [node, progress] : told_.outputs) output(node).before_ = std::move(progress);
    told_.outputs.clear();
    for (auto& [node, progress] : told_.loops) {
      kept_loop& kept = loop(node);
      std::vector<block::block_id> collected;  // which stay
      for (const auto& [stream, rows] : progress.carried)
        for (const runs::run& r : rows) restore(r, kept.blocks_[stream]);
      for (const stream_runs& rows : progress.collected)
        for (const runs::run& r : rows) restore(r, collected);
      kept.before_ = std::move(progress);
    }
    told_.loops.clear();
    thread_ = io::start_io_thread("flowrun-resume", [this] { save_all(); });
  }

  kept_sort& sort(const std::string& node) {
    mutex_lock lock(mutex_);
    std::unique_ptr<kept_sort>& one = sorts_[node];
    if (one == nullptr) one = std::make_unique<kept_sort>(*owner_, node);
    return *one;
  }

  // The blocks of the run are taken over, and added to `blocks`.
  void restore(const runs::run& r, std::vector<block::block_id>& blocks) {
    for (const runs::run_block& b : r.blocks) {
      if (!blocks_->restore(b.id))
        throw error(error_kind::io,
                    fmt::format("the scratch file {} doesn't have what its manifest says", kept_file(b.id.disk)),
                    fmt::format("flowrun clean {} removes it; then run the job again",
                                std::filesystem::path(kept_file(b.id.disk)).parent_path().parent_path().string()));
      blocks.push_back(b.id);
    }
  }

  kept_loop& loop(const std::string& node) {
    mutex_lock lock(mutex_);
    std::unique_ptr<kept_loop>& one = loops_[node];
    if (one == nullptr) one = std::make_unique<kept_loop>(*owner_, node);
    return *one;
  }
  kept_output& output(const std::string& node) {
    mutex_lock lock(mutex_);
    std::unique_ptr<kept_output>& one = outputs_[node];
    if (one == nullptr) one = std::make_unique<kept_output>(*owner_, node);
    return *one;
  }
  uint64_t bytes_between_marks() const { return bytes_between_marks_; }
  const std::string& output_suffix() const { return output_suffix_; }

  // A record, and what comes before and after it.
  struct to_save {
    Record record;
    bool syncs_blocks = false;               // first
    std::shared_ptr<io::file> output = {};   // that is synced first; null: none
    std::atomic<bool>* is_saved = nullptr;   // set once it is written; null: nobody asks
    std::vector<block::block_id> free = {};  // that are let go once it is written
  };
  void save(to_save one) {
    mutex_lock lock(mutex_);
    if (ended_) return;
    waiting_.push_back(std::move(one));
    changed_.notify_all();
  }

  block::block_manager* blocks() { return blocks_; }

  void end() noexcept {
    {
      mutex_lock lock(mutex_);
      ended_ = true;
      changed_.notify_all();
    }
    if (thread_.joinable()) thread_.join();  // which may have ended itself, when it could write no more
  }

  void remove() noexcept {
    end();
    for (resume_directory& d : directories_) d.remove();
  }

 private:
  static std::vector<resume_directory> make_directories(const std::vector<std::string>& scratch, uint64_t key) {
    std::vector<resume_directory> out;
    for (const std::string& one : scratch) out.emplace_back(one, key);
    return out;
  }

  // Nothing tells whether a file that is not what it was has the first bytes of the output: the merge begins anew.
  void forget_lost_outputs() {
    std::erase_if(told_.outputs, [](const auto& one) {
      if (is_there(one.second)) return false;
      remove_output(one.second.path);
      return true;
    });
  }

  void begin_anew(uint64_t key) {
    for (const auto& [node, kept] : told_.outputs) remove_output(kept.path);
    if (told_.identity)  // which is the last that tells of directories that this run doesn't use
      for (const std::string& one : told_.identity->scratch())
        if (std::find(identity_.scratch().begin(), identity_.scratch().end(), one) == identity_.scratch().end())
          remove_blocks_of(told_.identity->number(), one, key);
    told_ = {};
    file_.clear();
    Record record;
    *record.mutable_identity() = identity_;
    record.mutable_identity()->set_number(random_number());
    for (resume_directory& d : directories_) d.begin(record.identity().number());
    for (size_t i = 1; i < directories_.size(); ++i) unlink(directories_[i].manifest().c_str());  // of another list
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
        if (r.output) r.output->sync();
        file_.append(r.record.SerializeAsString());
        if (r.is_saved != nullptr) *r.is_saved = true;
        for (const block::block_id id : r.free) blocks_->let_go(id);
      }
      return true;
    } catch (const std::exception& problem) {
      warn_(fmt::format("{}; from here on a run with --resume would have to do it again", problem.what()));
      return false;
    }
  }

  const Identity identity_;
  const uint64_t bytes_between_marks_;
  const std::string output_suffix_;
  std::vector<resume_directory> directories_;
  record_file file_;
  manifest_content told_;
  manifest* owner_ = nullptr;
  block::block_manager* blocks_ = nullptr;
  std::function<void(const std::string&)> warn_;
  std::thread thread_;

  mutex mutex_;
  condition changed_;
  bool ended_ FLOWRUN_GUARDED_BY(mutex_) = false;
  std::deque<to_save> waiting_ FLOWRUN_GUARDED_BY(mutex_);
  std::map<std::string, std::unique_ptr<kept_sort>> sorts_ FLOWRUN_GUARDED_BY(mutex_);
  std::map<std::string, std::unique_ptr<kept_output>> outputs_ FLOWRUN_GUARDED_BY(mutex_);
  std::map<std::string, std::unique_ptr<kept_loop>> loops_ FLOWRUN_GUARDED_BY(mutex_);
};

manifest::manifest(const std::vector<std::string>& scratch, const job_identity& identity)
    : core_(std::make_unique<core>(scratch, identity, reasons_)) {}
manifest::~manifest() = default;

manifest_summary manifest::found() const { return summary_from(core_->before(), reasons_); }
std::string manifest::kept_file(size_t disk) const { return core_->kept_file(disk); }
void manifest::attach(block::block_manager& blocks, std::function<void(const std::string&)> warn) {
  core_->attach(blocks, std::move(warn), *this);
}
kept_sort& manifest::sort(const std::string& node) { return core_->sort(node); }
kept_output& manifest::output(const std::string& node) { return core_->output(node); }
kept_loop& manifest::loop(const std::string& node) { return core_->loop(node); }
uint64_t manifest::bytes_between_marks() const { return core_->bytes_between_marks(); }
std::string manifest::output_suffix() const { return core_->output_suffix(); }
void manifest::end() noexcept { core_->end(); }
void manifest::remove() noexcept { core_->remove(); }

void manifest::spoil(const std::string& why) {
  Record record;
  record.mutable_spoiled()->set_why(why);
  core_->save({.record = std::move(record)});
}

void manifest::save_written(kept_sort& sort, const sort_progress& written) {
  // At once: freed or not, they stay as they are from here on.
  for (const runs::run& r : written.runs)
    for (const runs::run_block& b : r.blocks) core_->blocks()->keep(b.id);
  Record record;
  SortWritten& to = *record.mutable_written();
  to.set_node(sort.node());
  to.set_rows_taken(written.rows_taken);
  for (const runs::run& r : written.runs) *to.add_runs() = message_of(r);
  *to.mutable_position() = message_of(written.position);
  to.set_rows_to_skip(written.rows_to_skip);
  if (written.before_position) *to.mutable_before_position() = message_of(*written.before_position);
  core_->save({.record = std::move(record), .syncs_blocks = true});
}

void manifest::save_merged(kept_sort& sort, const std::vector<uint64_t>& streams, const runs::run& made,
                           std::vector<block::block_id> merged) {
  for (const runs::run_block& b : made.blocks) core_->blocks()->keep(b.id);
  Record record;
  SortMerged& to = *record.mutable_merged();
  to.set_node(sort.node());
  to.mutable_streams()->Assign(streams.begin(), streams.end());
  *to.mutable_run() = message_of(made);
  core_->save({.record = std::move(record), .syncs_blocks = true, .free = std::move(merged)});
}

void manifest::save_complete(kept_sort& sort, const std::optional<record::row_tally>& all) {
  Record record;
  record.mutable_complete()->set_node(sort.node());
  if (all) *record.mutable_complete()->mutable_all() = message_of(*all);
  core_->save({.record = std::move(record)});
}

void manifest::save_released(kept_sort& sort, std::vector<block::block_id> blocks) {
  Record record;
  record.mutable_released()->set_node(sort.node());
  core_->save({.record = std::move(record), .free = std::move(blocks)});
}

void manifest::save_begun(kept_output& output, const std::string& path) {
  Record record;
  record.mutable_output()->set_node(output.node());
  record.mutable_output()->set_path(path);
  core_->save({.record = std::move(record), .is_saved = &output.is_begun_});
}

void manifest::save_output(kept_output& output, std::shared_ptr<io::file> content, const output_progress& written) {
  const std::optional<file_facts> found = facts_of(content->descriptor(), "");
  if (!found) return;
  Record record;
  OutputWritten& to = *record.mutable_output();
  to.set_node(output.node());
  to.set_path(written.path);
  to.set_inode(found->inode);
  to.set_born_ns(found->born_ns);
  to.set_num_bytes(written.num_bytes);
  *to.mutable_position() = message_of(written.position);
  core_->save({.record = std::move(record), .output = std::move(content)});
}

void manifest::save_loop(kept_loop& loop, const loop_step& step, std::vector<block::block_id> replaced) {
  const auto give_away = [&](const stream_runs& rows) {
    for (const runs::run& r : rows)
      for (const runs::run_block& b : r.blocks) {
        core_->blocks()->keep(b.id);
        core_->blocks()->free(b.id);
      }
  };
  for (const auto& [stream, rows] : step.carried) give_away(rows);
  for (const stream_runs& rows : step.collected) give_away(rows);
  Record record;
  *record.mutable_loop() = message_of(loop.node(), step);
  core_->save({.record = std::move(record), .syncs_blocks = true, .free = std::move(replaced)});
}

manifest_summary summary_of(const std::string& path) {
  manifest_content all = content_of(records_of(path));
  return summary_from(std::move(all), {});
}

manifest_summary summary_for(const std::vector<std::string>& scratch, const job_identity& identity) {
  bool elsewhere = false;
  manifest_content all = left_in(scratch, identity.key, elsewhere);
  std::vector<std::string> reasons = reasons_to_leave(all, elsewhere, message_of(identity));
  if (all.identity && reasons.empty()) reasons = missing_blocks(all, scratch, identity.key);
  std::erase_if(all.outputs, [](const auto& one) { return !is_there(one.second); });
  return summary_from(std::move(all), std::move(reasons));
}

std::vector<std::string> outputs_of(const std::string& path) noexcept {
  std::vector<std::string> out;
  try {
    for (const auto& [node, kept] : content_of(records_of(path)).outputs)
      if (is_part_of_output(kept.path) && facts_of(AT_FDCWD, kept.path.c_str())) out.push_back(kept.path);
  } catch (const std::exception&) {  // what can't be read tells of none
  }
  return out;
}

uint64_t hash_of(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }

}  // namespace flowrun::resume
