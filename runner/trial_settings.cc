#include "runner/trial_settings.h"

#include <fmt/format.h>

namespace flowrun::runner {

namespace {

using ending = plugins::disturbance::ending;

constexpr uint64_t one_row = 1;  // batches never have less
constexpr uint64_t few_rows = 512;

const std::string chance = "it depends on something besides its input: time, addresses, memory that was never written";
const std::string threads =
    "threads share something that changes: what a stateless operator or a function keeps from one call to the next, a "
    "static variable";
const std::string cuts =
    "it depends on where batches are cut: a stateless operator keeps something from one batch to the next, an ordered "
    "one forgets it, or leave() loses rows or repeats them";
const std::string memory = "it depends on how much memory there is, or on where rows lie while they wait";
const std::string waiting = "it depends on when it is called: what it did before it was blocked is done again, or lost";
const std::string ended =
    "an operator whose job ends early hands on what the host says, lets go of what it has, and leaves no files";

void add_endings(std::vector<trial_setting>& out) {
  for (const double at : {0.0, 0.3, 0.6, 0.95})
    out.push_back({.name = fmt::format("cancelled after {:.0f} % of the steps", 100 * at),
                   .meaning = ended,
                   .batch_bytes = one_row,
                   .ends = ending::cancelled,
                   .ends_at = at});
  for (const double at : {0.0, 0.4, 0.95})
    out.push_back({.name = fmt::format("where the job fails after {:.0f} % of the steps", 100 * at),
                   .meaning = ended,
                   .batch_bytes = one_row,
                   .ends = ending::failed,
                   .ends_at = at});
  for (const unsigned ms : {0U, 2U})
    out.push_back({.name = fmt::format("cancelled after {} ms", ms),
                   .meaning = ended,
                   .threads = 4,
                   .delays = true,
                   .ends = ending::cancelled,
                   .ends_after_ms = ms});
}

std::vector<trial_setting> all_settings() {
  std::vector<trial_setting> out = {
      {.name = "as usual", .meaning = chance},
      {.name = "as usual, again", .meaning = chance},
      {.name = "with 1 thread", .meaning = threads, .threads = 1},
      {.name = "with 4 threads", .meaning = threads, .threads = 4},
      {.name = "with 4 threads and late steps", .meaning = threads, .threads = 4, .delays = true},
      {.name = "with batches of one row", .meaning = cuts, .batch_bytes = one_row, .counts_steps = true},
      {.name = "with batches of one row, 1 thread", .meaning = cuts, .threads = 1, .batch_bytes = one_row},
      {.name = "with batches of one row, 4 threads and late steps",
       .meaning = cuts,
       .threads = 4,
       .batch_bytes = one_row,
       .delays = true},
      {.name = "with batches of few rows", .meaning = cuts, .threads = 3, .batch_bytes = few_rows},
      {.name = "with the plain executor", .meaning = threads, .plain_executor = true},
      {.name = "with the plain executor and batches of one row",
       .meaning = cuts,
       .batch_bytes = one_row,
       .plain_executor = true},
      {.name = "with tiny blocks, spilling", .meaning = memory, .batch_bytes = few_rows, .tiny_blocks = true},
      {.name = "with the least memory", .meaning = memory, .least_memory = true},
      {.name = "blocked at any step", .meaning = waiting, .blocks = true},
      {.name = "blocked at any step, batches of one row",
       .meaning = waiting,
       .threads = 4,
       .batch_bytes = one_row,
       .blocks = true,
       .delays = true},
      {.name = "with its orders looked at",
       .meaning = "its check says of an output that it is sorted (set_output), and it isn't",
       .checks_orders = true},
  };
  add_endings(out);
  return out;
}

}  // namespace

const std::vector<trial_setting>& trial_settings() {
  static const std::vector<trial_setting> all = all_settings();
  return all;
}

}  // namespace flowrun::runner
