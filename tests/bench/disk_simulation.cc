// The figures of Asynchronous sorting, section 5, and the questions of ViC*, on simulated disks: the real run creators,
// prefetcher, mergers and writer under a discrete-event clock (tests/simulation). Prints CSV: figure,series,x,y.
//
//   disk_simulation [FIGURE...]       figure6 … figure14, overlap, orders, sweeps; all without arguments
//
// What is simulated: D disks IBM 120GXP (engine/io/disk_model.h) and one processor. Lengths are divided by
// B / 4096, so that a block of 4 KiB takes the time of one of B bytes, and every row stands for that many; nothing else
// is scaled. Computation costs what the text of the paper implies for its machine (see `costs`).
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/sizes/buffer_split.h"
#include "tests/simulation/merge_simulation.h"
#include "tests/simulation/run_formation.h"

namespace flowrun::simulation {
namespace {

constexpr uint32_t small_block = 4096;

// Nanoseconds per element. Asynchronous sorting, section 5: with eight disks (375 MB/s) merging starts to wait for I/O
// at 64 bytes (2 * 64 / 375e6 = 340 ns) and run formation at about 128 (680 ns); a copied byte costs 1.7 ns (1,200 MB/s
// of main memory read and written), run formation moves it twice.
struct costs {
  static double merging(uint32_t element_bytes) { return 230 + 1.7 * element_bytes; }
  static double forming(uint32_t element_bytes) { return 250 + 3.4 * element_bytes; }
};

struct sort_config {
  unsigned num_disks = 8;
  uint64_t input_bytes = 16 * GiB;
  uint64_t memory_bytes = 512 * MiB;
  uint64_t block_bytes = 2 * MiB;
  uint32_t element_bytes = 128;

  // Of the simulated rows: a block should hold many. The first keys that stay in memory for each block of long rows are
  // much beside blocks of 4 KiB, so where there are many blocks, they hold short ones.
  uint32_t row_bytes() const { return std::min(element_bytes, input_bytes / block_bytes > 32768 ? 16U : 64U); }
  uint64_t write_buffers = 0;  // of the merge; 0: max(t/4, 2D)
  uint64_t read_buffers = 0;   // of the merge, beyond one per run; 0: the rest
  block::prefetch_options prefetch;
  bool striped = false;  // one logical disk, D times as fast, with blocks D times as long
  bool write_output = true;
  double compute = 1;  // times the costs
  io::service_order order = io::service_order::alternating;
};

uint64_t num_runs_of(const sort_config& c) { return std::max<uint64_t>(2, (2 * c.input_bytes) / c.memory_bytes); }

// A machine whose blocks of 4 KiB stand for blocks of c.block_bytes.
machine_options machine_for(const sort_config& c) {
  io::disk_model model = io::ibm_120gxp();
  if (c.striped)
    for (io::disk_model::zone& z : model.zones) {
      z.bytes_per_second *= c.num_disks;
      z.until *= c.num_disks;
    }
  if (c.striped) model.capacity *= c.num_disks;
  machine_options options;
  options.disks.assign(c.striped ? 1 : c.num_disks, io::shrunk(model, c.block_bytes / small_block));
  options.queue_depth = 1;
  options.order = c.order;
  return options;
}

// Nanoseconds per simulated row: a block costs what block_bytes / element_bytes elements do.
double row_cost(const sort_config& c, double ns_per_element) {
  const double elements = static_cast<double>(c.block_bytes) / c.element_bytes;
  return c.compute * ns_per_element * elements / static_cast<double>(rows_per_block(small_block, c.row_bytes()));
}

double seconds(uint64_t ns) { return static_cast<double>(ns) / 1e9; }

// The merge of the runs that forming them in c.memory_bytes leaves: random keys, half the memory long.
merge_outcome merge(const sort_config& c) {
  simulated_machine machine(machine_for(c));
  const uint64_t num_runs = num_runs_of(c);
  const uint64_t num_blocks = c.input_bytes / c.block_bytes;
  const uint64_t rows_per_run = num_blocks * rows_per_block(small_block, c.row_bytes()) / num_runs;
  std::vector<std::vector<uint64_t>> runs;
  for (uint64_t r = 0; r < num_runs; ++r) runs.push_back(random_run(rows_per_run, r));
  merge_options options;
  options.settings = keyed_rows(c.row_bytes());
  options.block_bytes = small_block;
  const uint64_t memory_blocks = c.memory_bytes / c.block_bytes;
  const uint64_t spare = memory_blocks > num_runs ? memory_blocks - num_runs : 0;
  const unsigned disks = c.striped ? 1 : c.num_disks;
  const uint64_t write = c.write_buffers > 0 ? c.write_buffers : std::max<uint64_t>(spare / 4, 2 * disks);
  options.write_buffers = static_cast<unsigned>(std::max<uint64_t>(2, write));
  const uint64_t read = c.read_buffers > 0 ? c.read_buffers : spare - std::min(spare, write);
  // Where memory is too short for all runs at once, there are intermediate merges.
  options.read_blocks = std::max<uint64_t>(8, std::min(memory_blocks, num_runs) + read);
  options.ns_per_row = row_cost(c, costs::merging(c.element_bytes));
  options.prefetch = c.prefetch;
  options.write_output = c.write_output;
  const merge_outcome outcome =
      simulate_merge(machine, options, write_runs(machine, options.settings, small_block, runs));
  FLOWRUN_CHECK(outcome.sorted && outcome.num_rows == rows_per_run * num_runs);
  return outcome;
}

struct sort_times {
  double forming = 0, forming_wait = 0, merging = 0, merging_wait = 0;
  double total() const { return forming + merging; }
};

// A whole sort: the input is read from the disks, the output written to them.
sort_times sort(const sort_config& c) {
  simulated_machine machine(machine_for(c));
  const uint64_t memory_blocks = c.memory_bytes / c.block_bytes;
  const unsigned disks = c.striped ? 1 : c.num_disks;
  formation_options forming;
  forming.settings = keyed_rows(c.row_bytes());
  forming.block_bytes = small_block;
  forming.read_buffers = 4 * disks;
  forming.memory_blocks =
      std::max<uint64_t>(24, memory_blocks - std::min(memory_blocks, uint64_t{forming.read_buffers}));
  forming.ns_per_row = row_cost(c, costs::forming(c.element_bytes));
  std::mt19937_64 random(1);
  std::vector<uint64_t> keys(c.input_bytes / c.block_bytes * rows_per_block(small_block, c.row_bytes()));
  for (uint64_t& key : keys) key = random() & 0xffffffff;
  const disk_input input(machine, forming.settings, small_block, keys);
  formation_outcome formed = simulate_run_formation(machine, forming, input);

  merge_options merging;
  merging.settings = forming.settings;
  merging.block_bytes = small_block;
  const uint64_t num_runs = formed.runs.runs.size();
  const uint64_t spare = memory_blocks > num_runs ? memory_blocks - num_runs : 0;
  merging.write_buffers = static_cast<unsigned>(std::max<uint64_t>(spare / 4, 2 * disks));
  merging.read_blocks = std::max<uint64_t>(8, memory_blocks - std::min<uint64_t>(spare, merging.write_buffers));
  merging.ns_per_row = row_cost(c, costs::merging(c.element_bytes));
  const merge_outcome merged = simulate_merge(machine, merging, std::move(formed.runs));
  FLOWRUN_CHECK(merged.sorted && merged.num_rows == keys.size());
  return {seconds(formed.total_ns), seconds(formed.read_wait_ns + formed.write_wait_ns), seconds(merged.total_ns),
          seconds(merged.read_wait_ns + merged.write_wait_ns)};
}

void point(const char* figure, const std::string& series, double x, double y) {
  fmt::print("{},{},{},{:.6g}\n", figure, series, x, y);
}

constexpr uint32_t element_sizes[] = {4, 8, 16, 32, 64, 128, 256};

void time_by_element_size(const char* figure, unsigned num_disks) {
  sort_config c;
  c.num_disks = num_disks;
  c.input_bytes = 2 * GiB;
  for (const uint32_t element_bytes : element_sizes) {
    c.element_bytes = element_bytes;
    const sort_times t = sort(c);
    point(figure, "sort", element_bytes, t.total());
    // Each byte is read twice and written twice.
    const double io = 4 * static_cast<double>(c.input_bytes) / num_disks / 48e6;
    point(figure, "transfers at 48 MB/s per disk", element_bytes, io);
  }
}
void figure6() { time_by_element_size("figure6", 1); }
void figure7() { time_by_element_size("figure7", 8); }

void figure8() {
  sort_config c;
  for (const uint32_t element_bytes : element_sizes) {
    c.element_bytes = element_bytes;
    const sort_times t = sort(c);
    point("figure8", "run formation", element_bytes, t.forming);
    point("figure8", "merging", element_bytes, t.merging);
    point("figure8", "I/O wait in run formation", element_bytes, t.forming_wait);
    point("figure8", "I/O wait in merging", element_bytes, t.merging_wait);
  }
}

// Merging of 16 GiB with read buffers of r = 8D, 16D and 32D... blocks; write buffers 4D.
sort_config read_buffer_config(uint64_t read_buffers) {
  sort_config c;
  c.element_bytes = 64;  // about as much computation as I/O
  c.write_buffers = 4 * c.num_disks;
  c.read_buffers = read_buffers;
  return c;
}

void by_prefetch_share(const char* figure, bool only_input) {
  for (const uint64_t read_buffers : {16U, 48U, 96U}) {
    sort_config c = read_buffer_config(read_buffers);
    c.write_output = !only_input;
    if (only_input) c.compute = 0;
    for (unsigned percent = 10; percent <= 100; percent += 10) {
      c.prefetch.order = block::fetch_order::optimal;
      c.prefetch.scheduled_buffers = static_cast<unsigned>(std::max<uint64_t>(1, read_buffers * percent / 100));
      point(figure, fmt::format("optimal r = {}", read_buffers), percent, seconds(merge(c).total_ns));
    }
    c.prefetch.order = block::fetch_order::predicted;
    const double naive = seconds(merge(c).total_ns);
    for (const unsigned percent : {10, 100}) point(figure, fmt::format("naive r = {}", read_buffers), percent, naive);
  }
}
void figure9() { by_prefetch_share("figure9", true); }
void figure10() { by_prefetch_share("figure10", false); }

void figure11() {
  for (const uint64_t read_buffers : {8U, 12U, 16U, 24U, 32U, 48U, 64U, 96U, 128U, 172U}) {
    sort_config c = read_buffer_config(read_buffers);
    const auto x = static_cast<double>(read_buffers);
    c.prefetch.order = block::fetch_order::predicted;
    point("figure11", "naive", x, seconds(merge(c).total_ns));
    c.prefetch.order = block::fetch_order::optimal;
    c.prefetch.scheduled_buffers = static_cast<unsigned>(sizes::split_read_buffers(read_buffers, c.num_disks));
    point("figure11", "w = 2D + 0.3 (r - 2D)", x, seconds(merge(c).total_ns));
    c.prefetch.scheduled_buffers = static_cast<unsigned>(read_buffers);
    point("figure11", "w = r", x, seconds(merge(c).total_ns));
  }
}

void figure12() {
  constexpr uint64_t total = 188;
  for (const uint64_t write : {4U, 8U, 16U, 24U, 32U, 48U, 64U, 96U, 128U, 160U, 176U}) {
    sort_config c = read_buffer_config(total - write);
    c.write_buffers = write;
    point("figure12", "merge", static_cast<double>(write), seconds(merge(c).total_ns));
  }
}

void figure13() {
  for (const uint64_t gigabytes : {8U, 16U, 32U}) {
    for (uint64_t block_bytes = 256 * KiB; block_bytes <= 8 * MiB; block_bytes *= 2) {
      sort_config c;
      c.input_bytes = gigabytes * GiB;
      c.block_bytes = block_bytes;
      if (c.input_bytes / block_bytes > 65536) continue;
      point("figure13", fmt::format("{} GiB", gigabytes), static_cast<double>(block_bytes) / MiB,
            sort(c).total() * 1e9 / (static_cast<double>(c.input_bytes) / c.element_bytes));
    }
  }
}

// Half the largest power of two with which one block per run fits the memory (Asynchronous sorting, section 5).
uint64_t chosen_block_bytes(const sort_config& c) {
  uint64_t block_bytes = 2 * MiB;
  while (2 * block_bytes * num_runs_of(c) > c.memory_bytes) block_bytes /= 2;
  return block_bytes;
}

void figure14() {
  for (const uint64_t gigabytes : {2U, 4U, 8U, 16U, 32U, 64U}) {
    sort_config c;
    c.input_bytes = gigabytes * GiB;
    c.block_bytes = chosen_block_bytes(c);
    const sort_times t = sort(c);
    const double elements = static_cast<double>(c.input_bytes) / c.element_bytes;
    point("figure14", "run formation", static_cast<double>(gigabytes), t.forming * 1e9 / elements);
    point("figure14", "merging", static_cast<double>(gigabytes), t.merging * 1e9 / elements);
    point("figure14", "both", static_cast<double>(gigabytes), t.total() * 1e9 / elements);
  }
}

// ViC*: what asynchronous transfers are worth, by the ratio of computation to I/O. Synchronous: the same
// transfers, on all disks in parallel, while computation stands still.
void overlap() {
  sort_config c;
  c.input_bytes = 4 * GiB;
  c.compute = 0;
  const double transfers = seconds(merge(c).total_ns);
  for (const double compute : {0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0}) {
    c.compute = compute;
    const merge_outcome asynchronous = merge(c);
    const double x = seconds(asynchronous.compute_ns) / (seconds(asynchronous.disk_busy_ns) / c.num_disks);
    point("overlap", "asynchronous", x, seconds(asynchronous.total_ns));
    point("overlap", "synchronous", x, transfers + seconds(asynchronous.compute_ns));
    point("overlap", "max(I/O; computation)", x,
          std::max(seconds(asynchronous.compute_ns), seconds(asynchronous.disk_busy_ns) / c.num_disks));
  }
}

// ViC*: how the four parameters of the parallel disk model move the time, beside what the model counts.
void sweep(const char* figure, const std::vector<double>& values, const std::function<sort_config(double)>& config) {
  for (const double x : values) {
    sort_config c = config(x);
    const merge_outcome asynchronous = merge(c);
    point(figure, "independent disks and asynchronous", x, seconds(asynchronous.total_ns));
    c.compute = 0;
    point(figure, "independent disks and synchronous", x, seconds(merge(c).total_ns + asynchronous.compute_ns));
    c.compute = 1;
    c.striped = true;
    c.block_bytes *= c.num_disks;
    point(figure, "striped", x, seconds(merge(c).total_ns));
  }
}

sort_config sweep_config() {
  sort_config c;
  c.input_bytes = 8 * GiB;
  c.block_bytes = 1 * MiB;
  return c;
}

void sweeps() {
  sweep("sweep_n", {1, 2, 4, 8, 16}, [](double gigabytes) {
    sort_config c = sweep_config();
    c.input_bytes = static_cast<uint64_t>(gigabytes) * GiB;
    return c;
  });
  sweep("sweep_m", {128, 256, 512, 1024}, [](double megabytes) {
    sort_config c = sweep_config();
    c.memory_bytes = static_cast<uint64_t>(megabytes) * MiB;
    return c;
  });
  sweep("sweep_b", {256, 512, 1024, 2048, 4096}, [](double kilobytes) {
    sort_config c = sweep_config();
    c.block_bytes = static_cast<uint64_t>(kilobytes) * KiB;
    return c;
  });
  sweep("sweep_d", {1, 2, 4, 8, 16}, [](double num_disks) {
    sort_config c = sweep_config();
    c.num_disks = static_cast<unsigned>(num_disks);
    return c;
  });
}

// What a disk does first: reads and writes as they come, writes first, or in turn.
void orders() {
  const std::pair<const char*, io::service_order> all[] = {{"arrival", io::service_order::arrival},
                                                           {"writes first", io::service_order::writes_first},
                                                           {"in turn", io::service_order::alternating}};
  for (const auto& [name, order] : all) {
    for (const double compute : {0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0}) {
      sort_config c;
      c.order = order;
      c.num_disks = 2;
      c.input_bytes = 4 * GiB;
      c.compute = compute * 4;  // two disks instead of eight: as much longer is the I/O
      const sort_times t = sort(c);
      point("order_forming", name, compute, t.forming);
      point("order_merging", name, compute, t.merging);
    }
  }
}

const std::vector<std::pair<std::string, void (*)()>> figures = {
    {"figure6", figure6},   {"figure7", figure7},   {"figure8", figure8},   {"figure9", figure9},
    {"figure10", figure10}, {"figure11", figure11}, {"figure12", figure12}, {"figure13", figure13},
    {"figure14", figure14}, {"overlap", overlap},   {"orders", orders},     {"sweeps", sweeps}};

}  // namespace
}  // namespace flowrun::simulation

int main(int argc, char** argv) try {
  using flowrun::simulation::figures;
  std::vector<std::string> wanted(argv + 1, argv + argc);
  for (const std::string& name : wanted) {
    if (std::none_of(figures.begin(), figures.end(), [&](const auto& one) { return one.first == name; }))
      throw flowrun::error(flowrun::error_kind::usage, "no figure is called '" + name + "'");
  }
  fmt::print("figure,series,x,y\n");
  for (const auto& [name, draw] : figures)
    if (wanted.empty() || std::find(wanted.begin(), wanted.end(), name) != wanted.end()) draw();
  return 0;
} catch (const flowrun::error& failure) {
  fmt::print(stderr, "disk_simulation: {}\n", failure.what());
  return failure.exit_code();
}
