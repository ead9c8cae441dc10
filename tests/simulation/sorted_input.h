// Rows and runs for simulated merges: the rows that are really merged are small, and stand for large ones.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/runs/sorted_runs.h"
#include "engine/sort/settings.h"
#include "tests/simulation/simulated_machine.h"

namespace flowrun::simulation {

enum class merger_kind {
  automatic,  // by the row's length
  wide,       // rows by index, also short ones
};

// Rows of `row_bytes` (4, 8, or more) that begin with an unsigned key, little endian.
sort::sort_settings keyed_rows(uint32_t row_bytes, merger_kind kind = merger_kind::automatic);
// Rows that a block has room for.
uint64_t rows_per_block(uint32_t block_bytes, uint32_t row_bytes);
// Writes the key (as much of it as the rows have room for) and zeros behind it.
void put_key(std::byte* row, uint32_t row_bytes, uint64_t key);
uint64_t key_of(const std::byte* row, uint32_t row_bytes);

// `num_rows` random keys, ascending.
std::vector<uint64_t> random_run(uint64_t num_rows, uint64_t seed);
// The run of Asynchronous sorting, section 2.3, of which k identical ones are the hardest to merge: in blocks of B
// rows, 1^(B-1) 2 | 3^(B-1) 4 | 5^(B-1) 6 | …
std::vector<uint64_t> adversarial_run(uint64_t num_blocks, uint64_t rows_per_block);
// Harder for a merger that loads a block as late as it can (row_merger.h): 1 2^(B-2) 3 | 4 5^(B-2) 6 | … While k
// identical runs are merged, all k blocks are held for k(B-2) rows. Then all are let go at once, and the next k are
// wanted immediately.
std::vector<uint64_t> late_adversarial_run(uint64_t num_blocks, uint64_t rows_per_block);

// Writes one run per list of ascending keys to the machine's disks, by the real run_writer.
runs::sorted_runs write_runs(simulated_machine& machine, const sort::sort_settings& settings, uint32_t block_bytes,
                             std::span<const std::vector<uint64_t>> runs);

}  // namespace flowrun::simulation
