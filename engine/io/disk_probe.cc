#include "engine/io/disk_probe.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/base/buffer.h"
#include "engine/base/error.h"
#include "engine/base/mutex.h"
#include "engine/base/units.h"
#include "engine/io/file.h"

namespace flowrun::io {

namespace {

constexpr uint64_t golden = 0x9e3779b97f4a7c15;

// The finaliser of splitmix64: neighbouring numbers become unrelated words.
uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

void put_word(std::byte* to, uint64_t word) { std::memcpy(to, &word, sizeof word); }

struct slot;

// Where transfers that ended wait for the thread that measures. The list goes through the slots.
class ended_slots {
 public:
  void put(slot& s) noexcept;
  // Waits for at least one; takes all of them.
  slot* take();

 private:
  mutex mutex_;
  condition changed_;
  slot* first_ FLOWRUN_GUARDED_BY(mutex_) = nullptr;
};

// One transfer in flight, with its piece of memory.
struct slot final : waker {
  request transfer;
  size_t disk = 0;  // the index among those measured
  ended_slots* ended = nullptr;
  slot* next = nullptr;

  void wake() noexcept override { ended->put(*this); }
};

// Notified under the lock: the list may be destroyed as soon as the last slot was taken.
void ended_slots::put(slot& s) noexcept {
  mutex_lock lock(mutex_);
  s.next = std::exchange(first_, &s);
  changed_.notify_one();
}

slot* ended_slots::take() {
  mutex_lock lock(mutex_);
  changed_.wait(lock, [&]() FLOWRUN_REQUIRES(mutex_) { return first_ != nullptr; });
  return std::exchange(first_, nullptr);
}

}  // namespace

struct disk_probe::disk {
  file* target = nullptr;
  uint64_t num_bytes = 0;  // filled
  // Where the last transfers ended, of the whole file.
  uint64_t read_end = 0;
  uint64_t write_end = 0;
  aligned_buffer memory;
};

// Slots that are kept busy.
class disk_probe::transfers {
 public:
  // What ended on one disk since the last look.
  struct tally {
    uint64_t num_transfers = 0;
    uint64_t read_bytes = 0;
    uint64_t written_bytes = 0;
  };

  transfers(disk_probe& probe, std::span<const size_t> which, size_t block_bytes, unsigned depth)
      : probe_(probe), slots_(which.size() * depth), tallies_(which.size()) {
    starting_.reserve(slots_.size());
    for (size_t i = 0; i < slots_.size(); ++i) {
      slot& s = slots_[i];
      s.disk = i / depth;
      s.ended = &ended_;
      disk& d = probe_.disks_[which[s.disk]];
      // In one piece, as a sort's block buffers are: huge pages make some disks half as fast again.
      if (i % depth == 0) provide(d, depth * block_bytes);
      s.transfer.target = d.target;
      s.transfer.data = d.memory.data() + i % depth * block_bytes;
      s.transfer.num_bytes = block_bytes;
      s.transfer.on_done = &s;
    }
  }

  ~transfers() { drain(); }
  transfers(const transfers&) = delete;
  transfers& operator=(const transfers&) = delete;

  // `place(disk, transfer)` sets direction and offset of a disk's next transfer, or says false: there is none.
  // `landed(disk, now, tally)` hears what ended, and says whether to go on. Disks by their index among those measured.
  // Ends when `landed` says so, or when nothing is in flight any more.
  template <class Place, class Landed>
  void run(Place place, Landed landed) {
    for (slot& s : slots_) prepare(s, place);
    submit();
    while (in_flight_ > 0) {
      slot* ended = ended_.take();
      const uint64_t now = probe_.clock_();
      for (slot* s = ended; s != nullptr; s = s->next) --in_flight_;
      for (slot* s = ended; s != nullptr; s = s->next) count(*s);
      bool going_on = true;
      for (size_t d = 0; d < tallies_.size(); ++d)
        if (tallies_[d].num_transfers > 0) going_on &= landed(d, now, std::exchange(tallies_[d], {}));
      if (!going_on) return drain();
      if (probe_.stop_.load(std::memory_order_relaxed)) throw error(error_kind::cancelled, "stopped");
      for (slot* s = ended; s != nullptr;) {
        slot* const next = s->next;  // put() may write to it once the transfer is submitted
        prepare(*s, place);
        s = next;
      }
      submit();
    }
  }

 private:
  static void provide(disk& d, size_t num_bytes) {
    if (d.memory.num_bytes() >= num_bytes) return;
    d.memory = aligned_buffer(num_bytes);
    for (size_t at = 0; at < num_bytes; at += sizeof(uint64_t)) put_word(d.memory.data() + at, mix(at * golden));
  }

  void count(slot& s) {
    const size_t moved = s.transfer.take_result();
    if (moved < s.transfer.num_bytes)
      throw error(error_kind::io,
                  fmt::format("a transfer of {} at offset {} of {} ended after {}", format_bytes(s.transfer.num_bytes),
                              s.transfer.offset, s.transfer.target->path(), format_bytes(moved)));
    tally& t = tallies_[s.disk];
    ++t.num_transfers;
    (s.transfer.way == direction::read ? t.read_bytes : t.written_bytes) += moved;
  }

  template <class Place>
  void prepare(slot& s, Place& place) {
    if (!place(s.disk, s.transfer)) return;
    if (s.transfer.way == direction::write)
      for (size_t at = 0; at < s.transfer.num_bytes; at += io_alignment)
        put_word(s.transfer.data + at, mix(++probe_.pages_written_ * golden));
    starting_.push_back(&s.transfer);
  }

  void submit() {
    in_flight_ += starting_.size();
    probe_.carrier_.submit(std::span<request* const>(starting_));
    starting_.clear();
  }

  // Waits for the transfers in flight. Their results, also failures, no longer matter.
  void drain() noexcept {
    while (in_flight_ > 0)
      for (slot* s = ended_.take(); s != nullptr; s = s->next) --in_flight_;
  }

  disk_probe& probe_;
  ended_slots ended_;
  std::vector<slot> slots_;
  std::vector<tally> tallies_;
  std::vector<request*> starting_;
  size_t in_flight_ = 0;
};

disk_probe::disk_probe(backend& carrier, std::vector<file*> disks, const std::atomic<bool>& stop,
                       std::function<uint64_t()> clock)
    : carrier_(carrier), stop_(stop), clock_(std::move(clock)), disks_(disks.size()) {
  for (size_t i = 0; i < disks.size(); ++i) disks_[i].target = disks[i];
}

disk_probe::~disk_probe() = default;

uint64_t disk_probe::fill(size_t which, uint64_t num_bytes, uint64_t least_bytes, uint64_t deadline_ns) {
  constexpr size_t most_at_once = 1 * MiB;
  constexpr unsigned depth = 8;
  disk& d = disks_[which];
  d.target->reserve(0, num_bytes);
  uint64_t started = 0, filled = 0;
  bool late = false;
  // Whole blocks first, then the rest in pages.
  for (const size_t block_bytes : {most_at_once, io_alignment}) {
    const size_t one[] = {which};
    transfers(*this, one, block_bytes, depth)
        .run(
            [&](size_t, request& r) {
              if (late || num_bytes - started < block_bytes) return false;
              r.way = direction::write;
              r.offset = started;
              started += block_bytes;
              return true;
            },
            [&](size_t, uint64_t now, const transfers::tally& t) {
              filled += t.written_bytes;
              late = now >= deadline_ns && started >= least_bytes;
              return true;
            });
  }
  if (filled < d.target->num_bytes()) d.target->truncate(filled);
  d.num_bytes = filled;
  d.read_end = d.write_end = 0;
  return filled;
}

probe_result disk_probe::measure(std::span<const size_t> which, const probe_settings& settings) {
  const size_t block = settings.block_bytes;
  FLOWRUN_CHECK(block > 0 && block % io_alignment == 0 && settings.depth > 0 && settings.num_windows > 0);
  const bool mixed = settings.pattern == probe_pattern::mixed;
  const uint64_t ramp_end = clock_() + settings.ramp_ns;
  std::vector<bandwidth_windows> windows(
      which.size(), bandwidth_windows(ramp_end, {settings.window_ns, settings.num_windows, settings.depth}));
  std::vector<int64_t> more_reads(which.size(), 0);
  transfers(*this, which, block, settings.depth)
      .run(
          [&](size_t i, request& r) {
            disk& d = disks_[which[i]];
            const uint64_t num_blocks = d.num_bytes / block;
            FLOWRUN_CHECK(num_blocks >= 2);
            const bool reading = mixed ? more_reads[i] <= 0 : settings.pattern == probe_pattern::read;
            more_reads[i] += reading ? 1 : -1;
            const uint64_t half = num_blocks / 2;
            const uint64_t first = mixed && !reading ? half : 0;
            const uint64_t end = mixed && reading ? half : num_blocks;
            uint64_t& last_end = reading ? d.read_end : d.write_end;
            uint64_t at = (last_end + block - 1) / block;
            if (at < first || at >= end) at = first;
            last_end = (at + 1) * block;
            r.way = reading ? direction::read : direction::write;
            r.offset = at * block;
            return true;
          },
          [&](size_t i, uint64_t now, const transfers::tally& t) {
            windows[i].add(now, t.num_transfers, t.read_bytes, t.written_bytes);
            return !std::all_of(windows.begin(), windows.end(),
                                [](const bandwidth_windows& w) { return w.finished(); });
          });
  probe_result out;
  for (const bandwidth_windows& w : windows) {
    const bandwidth median = w.median();
    out.disks.push_back(median);
    out.together.read += median.read;
    out.together.write += median.write;
  }
  return out;
}

}  // namespace flowrun::io
