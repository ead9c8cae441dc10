// The block manager; see block_manager.h.
#include "engine/block/block_manager.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <mutex>
#include <optional>

#include "engine/base/buffer.h"
#include "engine/base/error.h"
#include "engine/block/extent_list.h"
#include "engine/block/scratch_directory.h"
#include "engine/io/file.h"

namespace flowrun::block {

struct block_manager::disk {
  explicit disk(disk_config config) : path(std::move(config.path)), limit(config.limit), statistics(path) {}

  const std::string path;
  const uint64_t limit;
  io::disk_statistics statistics;  // thread-safe by itself

  mutable std::mutex mutex;           // guards everything below, except that…
  std::unique_ptr<io::file> scratch;  // …it is made before the first block id is given out, and stays
  bool can_reserve = true;            // false: the file system can't, so the file grows block by block
  bool full = false;                  // a write found no room (condemn)
  uint64_t end = 0;                   // the file's length; [0, end) is free, used or condemned
  uint64_t used = 0;
  uint64_t peak_used = 0;
  extent_list free_space;

  void open(const manager_options& options);
  std::optional<uint64_t> take(uint64_t num_bytes, const manager_options& options);
  bool grow(uint64_t num_bytes, uint64_t reserve_step);
  bool reserve(uint64_t num_bytes);
};

void block_manager::disk::open(const manager_options& options) {
  if (options.in_memory) {
    scratch = io::file::in_memory(path);
    can_reserve = false;
    return;
  }
  prepare_scratch_directory(path);
  scratch = io::file::open(path, io::open_mode::scratch, {.direct = options.direct});
}

// Takes space for a block, growing the file when need be; nullopt when there is no room.
std::optional<uint64_t> block_manager::disk::take(uint64_t num_bytes, const manager_options& options) {
  std::lock_guard lock(mutex);
  if (scratch == nullptr) open(options);
  std::optional<uint64_t> offset = free_space.take(num_bytes);
  // New space joins a free extent at the end of the file, so a last short step may do.
  while (!offset && grow(num_bytes, options.reserve_step)) offset = free_space.take(num_bytes);
  if (offset) {
    used += num_bytes;
    peak_used = std::max(peak_used, used);
  }
  return offset;
}

// Makes the file longer, by at least a step or the block where the limit lets it. False when it can't grow at all.
bool block_manager::disk::grow(uint64_t num_bytes, uint64_t reserve_step) {
  const uint64_t longest = limit == 0 ? UINT64_MAX : round_down(limit, io_alignment);
  if (full || end >= longest) return false;
  const uint64_t room = longest - end;
  if (can_reserve) {
    const uint64_t step = std::min(std::max(reserve_step, num_bytes), room);
    if (reserve(step)) return true;
    if (step > num_bytes && can_reserve && reserve(num_bytes)) return true;
    if (can_reserve) return false;
  }
  const uint64_t step = std::min(num_bytes, room);
  free_space.give(end, step);
  end += step;
  return true;
}

bool block_manager::disk::reserve(uint64_t num_bytes) {
  try {
    can_reserve = scratch->reserve(end, num_bytes);
  } catch (const error& e) {
    if (e.kind() == error_kind::resources) return false;  // the disk is full
    throw;
  }
  if (!can_reserve) return false;
  free_space.give(end, num_bytes);
  end += num_bytes;
  return true;
}

block_manager::block_manager(manager_options options) : options_(std::move(options)) {
  FLOWRUN_CHECK(options_.backend != nullptr);
  FLOWRUN_CHECK(options_.reserve_step > 0 && options_.reserve_step % io_alignment == 0);
  for (const disk_config& config : options_.disks) disks_.push_back(std::make_unique<disk>(config));
  if (disks_.empty() && options_.in_memory) disks_.push_back(std::make_unique<disk>(disk_config{"memory", 0}));
  FLOWRUN_CHECK(!disks_.empty());
}

block_manager::~block_manager() = default;

const std::string& block_manager::disk_path(unsigned disk) const { return disks_.at(disk)->path; }

io::disk_statistics& block_manager::statistics(unsigned disk) const { return disks_.at(disk)->statistics; }

block_id block_manager::allocate(unsigned preferred_disk, uint32_t num_bytes) {
  FLOWRUN_CHECK(num_bytes > 0 && num_bytes % io_alignment == 0);
  for (unsigned i = 0; i < num_disks(); ++i) {
    const unsigned at = (preferred_disk % num_disks() + i) % num_disks();
    if (const auto offset = disks_[at]->take(num_bytes, options_)) {
      add_used(num_bytes);
      return {at, num_bytes, *offset};
    }
  }
  throw error(error_kind::resources, full_message(num_bytes),
              "free space there, raise the limits, or add a scratch directory on another disk (-T DIR[:LIMIT])");
}

void block_manager::free(block_id id) noexcept {
  if (id.num_bytes == 0) return;
  disk& owner = *disks_.at(id.disk);
  std::lock_guard lock(owner.mutex);
  FLOWRUN_CHECK(id.offset + id.num_bytes <= owner.end && owner.used >= id.num_bytes);
  owner.free_space.give(id.offset, id.num_bytes);
  owner.used -= id.num_bytes;
  used_bytes_.fetch_sub(id.num_bytes, std::memory_order_relaxed);
}

void block_manager::condemn(block_id id) noexcept {
  if (id.num_bytes == 0) return;
  disk& owner = *disks_.at(id.disk);
  std::lock_guard lock(owner.mutex);
  owner.full = true;
  owner.used -= id.num_bytes;
  used_bytes_.fetch_sub(id.num_bytes, std::memory_order_relaxed);
}

void block_manager::prepare(io::request& transfer, block_id id, io::direction way, std::byte* data) const {
  disk& owner = *disks_.at(id.disk);
  FLOWRUN_CHECK(id.num_bytes > 0 && reinterpret_cast<uintptr_t>(data) % io_alignment == 0);
  transfer.target = owner.scratch.get();
  transfer.way = way;
  transfer.offset = id.offset;
  transfer.data = data;
  transfer.num_bytes = id.num_bytes;
  transfer.statistics = &owner.statistics;
}

std::vector<disk_usage> block_manager::usage() const {
  std::vector<disk_usage> result;
  for (const auto& one : disks_) {
    disk_usage now;
    now.path = one->path;
    now.limit = one->limit;
    now.transfers = one->statistics.snapshot();
    std::lock_guard lock(one->mutex);
    now.used = one->used;
    now.peak_used = one->peak_used;
    now.reserved = one->end;
    result.push_back(std::move(now));
  }
  return result;
}

void block_manager::add_used(uint64_t num_bytes) {
  const uint64_t now = used_bytes_.fetch_add(num_bytes, std::memory_order_relaxed) + num_bytes;
  uint64_t peak = peak_used_bytes_.load(std::memory_order_relaxed);
  while (now > peak && !peak_used_bytes_.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
  }
}

std::string block_manager::full_message(uint32_t num_bytes) const {
  std::string text = fmt::format("out of scratch space for a block of {}:", format_bytes(num_bytes));
  const char* separator = " ";
  for (const disk_usage& now : usage()) {
    text += fmt::format("{}{}: {} used", separator, now.path, format_bytes(now.used));
    if (now.limit != 0) text += fmt::format(" of a limit of {}", format_bytes(now.limit));
    struct statvfs system {};
    if (!options_.in_memory && statvfs(now.path.c_str(), &system) == 0) {
      text += fmt::format(", {} free on its file system", format_bytes(uint64_t{system.f_bavail} * system.f_frsize));
    }
    separator = "; ";
  }
  return text;
}

}  // namespace flowrun::block
