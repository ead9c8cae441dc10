// The block manager; see block_manager.h.
#include "engine/block/block_manager.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "engine/base/buffer.h"
#include "engine/base/error.h"
#include "engine/base/mutex.h"
#include "engine/block/disk_weights.h"
#include "engine/block/extent_list.h"
#include "engine/block/scratch_directory.h"
#include "engine/io/file.h"

namespace flowrun::block {

struct block_manager::disk {
  disk(const disk_config& config, const manager_options& options)
      : path(config.path),
        kept_file(config.kept_file),
        limit(config.limit),
        weight(config.weight),
        queue(options.depth > 0 ? options.depth : default_disk_depth, options.order, true),
        statistics(path, options.backend->time()) {}

  const std::string path;
  const std::string kept_file;
  const uint64_t limit;
  const double weight;             // 0: measured
  io::disk_queue queue;            // thread-safe by itself
  io::disk_statistics statistics;  // thread-safe by itself

  // Made under the mutex before the first block id is given out, and stays: the owner of an id may read it without.
  std::unique_ptr<io::file> scratch;

  mutable flowrun::mutex mutex;
  bool can_reserve FLOWRUN_GUARDED_BY(mutex) = true;  // false: the file system can't, so the file grows block by block
  bool full FLOWRUN_GUARDED_BY(mutex) = false;        // a write found no room (condemn)
  std::string refusal FLOWRUN_GUARDED_BY(mutex);      // why it has no more room; empty: it may have
  bool refusal_told FLOWRUN_GUARDED_BY(mutex) = false;  // to the user
  bool failed FLOWRUN_GUARDED_BY(mutex) = false;        // a write or a reservation failed
  uint64_t end FLOWRUN_GUARDED_BY(mutex) = 0;           // the file's length; [0, end) is free, used or condemned
  uint64_t used FLOWRUN_GUARDED_BY(mutex) = 0;
  uint64_t peak_used FLOWRUN_GUARDED_BY(mutex) = 0;
  extent_list free_space FLOWRUN_GUARDED_BY(mutex);
  // By offset: blocks that are kept, and whether they were freed meanwhile.
  std::unordered_map<uint64_t, bool> kept FLOWRUN_GUARDED_BY(mutex);

  void open(const manager_options& options) FLOWRUN_REQUIRES(mutex);
  void open_now(const manager_options& options);
  // Space for up to `most_blocks` neighbouring blocks; none: no room.
  std::optional<std::pair<uint64_t, unsigned>> take(uint64_t num_bytes, unsigned most_blocks,
                                                    const manager_options& options);
  bool takes_blocks(uint64_t num_bytes) const FLOWRUN_REQUIRES(mutex);
  bool grow(uint64_t num_bytes, uint64_t wanted_bytes, uint64_t reserve_step) FLOWRUN_REQUIRES(mutex);
  std::optional<uint64_t> free_bytes() const;
  bool reserve(uint64_t num_bytes) FLOWRUN_REQUIRES(mutex);
  std::string warning();
};

void block_manager::disk::open(const manager_options& options) {
  if (options.in_memory) {
    scratch = io::file::in_memory(path);
    can_reserve = false;
    return;
  }
  prepare_scratch_directory(path);
  if (kept_file.empty()) {
    scratch = io::file::open(path, io::open_mode::scratch, {.direct = options.direct});
    return;
  }
  scratch = io::file::open(kept_file, io::open_mode::kept, {.direct = options.direct});
  end = round_down(scratch->num_bytes(), io_alignment);
  free_space.give(0, end);
}

void block_manager::disk::open_now(const manager_options& options) {
  mutex_lock lock(mutex);
  if (scratch == nullptr) open(options);
}

// Takes space, growing the file when need be.
std::optional<std::pair<uint64_t, unsigned>> block_manager::disk::take(uint64_t num_bytes, unsigned most_blocks,
                                                                       const manager_options& options) {
  mutex_lock lock(mutex);
  if (failed) return std::nullopt;
  if (scratch == nullptr) open(options);
  auto taken = free_space.take(num_bytes, most_blocks);
  // New space joins a free extent at the end of the file, so a last short step may do.
  while (!taken && grow(num_bytes, most_blocks * num_bytes, options.reserve_step))
    taken = free_space.take(num_bytes, most_blocks);
  if (taken) {
    used += taken->second * num_bytes;
    peak_used = std::max(peak_used, used);
  }
  return taken;
}

bool block_manager::disk::takes_blocks(uint64_t num_bytes) const {
  if (failed) return false;
  if (free_space.free_bytes() >= num_bytes) return true;
  return refusal.empty() && !full && (limit == 0 || end + num_bytes <= limit);
}

// Makes the file longer, by at least a step or what is wanted where the limit lets it, by less where the file system
// has no more. False when it can't grow at all. Transfers under way end first and new ones wait meanwhile (ext4: 6 ms),
// so long files grow by larger steps, which leave others nearly all that is free.
bool block_manager::disk::grow(uint64_t num_bytes, uint64_t wanted_bytes, uint64_t reserve_step) {
  const uint64_t longest = limit == 0 ? UINT64_MAX : round_down(limit, io_alignment);
  if (full || end >= longest) return false;
  const uint64_t room = longest - end;
  if (can_reserve) {
    const uint64_t num_steps = std::min({end / 2, free_bytes().value_or(0) / 64, 16 * reserve_step}) / reserve_step;
    const uint64_t ahead = std::max<uint64_t>(num_steps, 1) * reserve_step;
    for (uint64_t step = std::min(std::max(ahead, wanted_bytes), room); can_reserve;) {
      if (reserve(step)) return true;
      if (failed || step <= num_bytes) break;
      step = std::max(round_down(step / 4, io_alignment), num_bytes);
    }
    if (can_reserve) return false;
  }
  const uint64_t step = std::min(wanted_bytes, room);
  free_space.give(end, step);
  end += step;
  return true;
}

// On its file system, for us.
std::optional<uint64_t> block_manager::disk::free_bytes() const {
  struct statvfs system {};
  if (statvfs(path.c_str(), &system) != 0) return std::nullopt;
  return uint64_t{system.f_bavail} * system.f_frsize;
}

bool block_manager::disk::reserve(uint64_t num_bytes) {
  try {
    can_reserve = scratch->reserve(end, num_bytes);
  } catch (const error& e) {
    failed = e.kind() != error_kind::resources;
    refusal = e.what();
    return false;
  }
  if (!can_reserve) return false;
  refusal.clear();
  free_space.give(end, num_bytes);
  end += num_bytes;
  return true;
}

// What to tell the user when others have taken over: why it has no more room, once.
std::string block_manager::disk::warning() {
  mutex_lock lock(mutex);
  if (refusal.empty() || std::exchange(refusal_told, true)) return {};
  if (!failed) return fmt::format("the scratch directory {} is full: {}; the others take over", path, refusal);
  return fmt::format("{}; nothing more is written to the scratch directory {}, the others take over", refusal, path);
}

block_manager::block_manager(manager_options options) : options_(std::move(options)) {
  FLOWRUN_CHECK(options_.backend != nullptr);
  FLOWRUN_CHECK(options_.reserve_step > 0 && options_.reserve_step % io_alignment == 0);
  for (const disk_config& config : options_.disks) disks_.push_back(std::make_unique<disk>(config, options_));
  if (disks_.empty() && options_.in_memory) disks_.push_back(std::make_unique<disk>(disk_config{"memory"}, options_));
  FLOWRUN_CHECK(!disks_.empty());
}

block_manager::~block_manager() = default;

const std::string& block_manager::disk_path(unsigned disk) const { return disks_.at(disk)->path; }

io::disk_statistics& block_manager::statistics(unsigned disk) const { return disks_.at(disk)->statistics; }

void block_manager::open_all() {
  for (const auto& one : disks_) one->open_now(options_);
}

block_manager::bunch block_manager::allocate(unsigned preferred_disk, uint32_t num_bytes, unsigned most_blocks) {
  FLOWRUN_CHECK(num_bytes > 0 && num_bytes % io_alignment == 0 && most_blocks > 0);
  const unsigned num_claimed = claim(num_bytes, most_blocks);
  if (num_claimed == 0)
    throw error(
        error_kind::resources,
        fmt::format(
            "out of scratch space for a block of {}: {} of the limit of {} for all scratch directories are used",
            format_bytes(num_bytes), format_bytes(used_bytes()), format_bytes(options_.limit)),
        "raise the limit (--scratch-limit, or resources: scratch_limit)");
  bunch found;
  try {
    for (unsigned i = 0; i < num_disks() && found.num_blocks == 0; ++i) {
      const unsigned at = (preferred_disk % num_disks() + i) % num_disks();
      if (const auto taken = disks_[at]->take(num_bytes, num_claimed, options_))
        found = {{at, num_bytes, taken->first}, taken->second};
      else
        refusal_untold_.store(true, std::memory_order_relaxed);
    }
  } catch (...) {
    used_bytes_.fetch_sub(uint64_t{num_claimed} * num_bytes, std::memory_order_relaxed);
    throw;
  }
  used_bytes_.fetch_sub(uint64_t{num_claimed - found.num_blocks} * num_bytes, std::memory_order_relaxed);
  if (found.num_blocks > 0) {
    if (refusal_untold_.load(std::memory_order_relaxed)) warn_of_refusals();
    return found;
  }
  const bool any_failed = std::any_of(disks_.begin(), disks_.end(), [](const auto& one) {
    mutex_lock lock(one->mutex);
    return one->failed;
  });
  if (any_failed)
    throw error(error_kind::io, full_message(num_bytes),
                "check the disks and the system log (dmesg), or name other scratch directories (-T DIR)");
  throw error(error_kind::resources, full_message(num_bytes),
              "free space there, raise the limits (of files: ulimit -f), or add a scratch directory on another disk "
              "(-T DIR)");
}

void block_manager::free(block_id id) noexcept {
  if (id.num_bytes == 0) return;
  disk& owner = *disks_.at(id.disk);
  mutex_lock lock(owner.mutex);
  FLOWRUN_CHECK(id.offset + id.num_bytes <= owner.end && owner.used >= id.num_bytes);
  FLOWRUN_CHECK(!owner.queue.in_flight(id.offset));
  if (const auto kept = owner.kept.find(id.offset); kept != owner.kept.end()) {
    FLOWRUN_CHECK(!kept->second);
    kept->second = true;
    return;
  }
  owner.free_space.give(id.offset, id.num_bytes);
  owner.used -= id.num_bytes;
  used_bytes_.fetch_sub(id.num_bytes, std::memory_order_relaxed);
}

void block_manager::keep(block_id id) {
  if (id.num_bytes == 0) return;
  disk& owner = *disks_.at(id.disk);
  mutex_lock lock(owner.mutex);
  owner.kept.emplace(id.offset, false);
}

void block_manager::let_go(block_id id) noexcept {
  if (id.num_bytes == 0) return;
  bool was_freed = false;
  {
    disk& owner = *disks_.at(id.disk);
    mutex_lock lock(owner.mutex);
    const auto kept = owner.kept.find(id.offset);
    if (kept == owner.kept.end()) return;
    was_freed = kept->second;
    owner.kept.erase(kept);
  }
  if (was_freed) free(id);
}

bool block_manager::restore(block_id id) {
  if (id.disk >= num_disks() || id.num_bytes == 0 || id.num_bytes % io_alignment != 0) return false;
  disk& owner = *disks_[id.disk];
  mutex_lock lock(owner.mutex);
  if (owner.scratch == nullptr || !owner.free_space.take_at(id.offset, id.num_bytes)) return false;
  owner.kept.emplace(id.offset, false);
  owner.used += id.num_bytes;
  owner.peak_used = std::max(owner.peak_used, owner.used);
  const uint64_t now = used_bytes_.fetch_add(id.num_bytes, std::memory_order_relaxed) + id.num_bytes;
  if (now > peak_used_bytes_.load(std::memory_order_relaxed)) peak_used_bytes_ = now;
  return true;
}

void block_manager::sync() {
  for (const auto& one : disks_) {
    io::file* scratch = nullptr;
    {
      mutex_lock lock(one->mutex);
      scratch = one->scratch.get();
    }
    if (scratch != nullptr && !scratch->is_memory()) scratch->sync();
  }
}

void block_manager::condemn(block_id id, const std::string& cause) {
  if (id.num_bytes == 0) return;
  disk& owner = *disks_.at(id.disk);
  mutex_lock lock(owner.mutex);
  owner.full = true;
  owner.refusal = cause;
  refusal_untold_.store(true, std::memory_order_relaxed);
  owner.used -= id.num_bytes;
  used_bytes_.fetch_sub(id.num_bytes, std::memory_order_relaxed);
}

bool block_manager::retire(block_id id, const std::string& cause) {
  disk& owner = *disks_.at(id.disk);
  {
    mutex_lock lock(owner.mutex);
    owner.failed = true;
    owner.refusal = cause;
    owner.used -= id.num_bytes;
  }
  used_bytes_.fetch_sub(id.num_bytes, std::memory_order_relaxed);
  bool others = false;
  for (const auto& one : disks_) {
    mutex_lock lock(one->mutex);
    others |= one->takes_blocks(id.num_bytes);
  }
  if (others) warn_of_refusals();
  return others;
}

std::vector<double> block_manager::weights() const {
  std::vector<double> given;
  std::vector<disk_speed> measured;
  std::vector<bool> takes;
  for (const auto& one : disks_) {
    const io::disk_snapshot s = one->statistics.snapshot();
    given.push_back(one->weight);
    measured.push_back({s.reads.num_bytes + s.writes.num_bytes, s.busy_ns});
    mutex_lock lock(one->mutex);
    takes.push_back(one->takes_blocks(1));
  }
  return disk_weights(given, measured, takes);
}

void block_manager::prepare(io::request& transfer, block_id id, io::direction way, std::byte* data) const {
  disk& owner = *disks_.at(id.disk);
  FLOWRUN_CHECK(id.num_bytes > 0 && reinterpret_cast<uintptr_t>(data) % io_alignment == 0);
  transfer.target = owner.scratch.get();
  transfer.way = way;
  transfer.offset = id.offset;
  transfer.data = data;
  transfer.num_bytes = id.num_bytes;
  transfer.disk = &owner.queue;
  transfer.statistics = &owner.statistics;
}

std::vector<disk_usage> block_manager::usage() const {
  std::vector<disk_usage> result;
  const std::vector<double> shares = weights();
  for (const auto& one : disks_) {
    disk_usage now;
    now.weight = shares[result.size()];
    now.path = one->path;
    now.limit = one->limit;
    now.transfers = one->statistics.snapshot();
    mutex_lock lock(one->mutex);
    now.used = one->used;
    now.peak_used = one->peak_used;
    now.reserved = one->end;
    result.push_back(std::move(now));
  }
  return result;
}

unsigned block_manager::claim(uint32_t num_bytes, unsigned most_blocks) {
  uint64_t before = used_bytes_.load(std::memory_order_relaxed);
  uint64_t now = 0;
  unsigned num_blocks = 0;
  do {
    const uint64_t room = options_.limit == 0 ? UINT64_MAX : options_.limit - std::min(options_.limit, before);
    num_blocks = static_cast<unsigned>(std::min<uint64_t>(most_blocks, room / num_bytes));
    if (num_blocks == 0) return 0;
    now = before + uint64_t{num_blocks} * num_bytes;
  } while (!used_bytes_.compare_exchange_weak(before, now, std::memory_order_relaxed));
  uint64_t peak = peak_used_bytes_.load(std::memory_order_relaxed);
  while (now > peak && !peak_used_bytes_.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
  }
  return num_blocks;
}

// Only when another disk has taken over: else the error says it.
void block_manager::warn_of_refusals() {
  refusal_untold_.store(false, std::memory_order_relaxed);
  for (const auto& one : disks_) {
    const std::string text = one->warning();
    if (!text.empty() && options_.warn) options_.warn(text);
  }
}

std::string block_manager::full_message(uint32_t num_bytes) const {
  std::string text = fmt::format("out of scratch space for a block of {}:", format_bytes(num_bytes));
  const char* separator = " ";
  size_t at = 0;
  for (const disk_usage& now : usage()) {
    text += fmt::format("{}{}: {} used", separator, now.path, format_bytes(now.used));
    if (now.limit != 0) text += fmt::format(" of a limit of {}", format_bytes(now.limit));
    const disk& one = *disks_[at++];
    if (const auto free = options_.in_memory ? std::nullopt : one.free_bytes())
      text += fmt::format(", {} free on its file system", format_bytes(*free));
    mutex_lock lock(one.mutex);
    if (!one.refusal.empty()) text += fmt::format(" ({})", one.refusal);
    separator = "; ";
  }
  return text;
}

}  // namespace flowrun::block
