#include "runner/resource_words.h"

#include "runner/option_values.h"
#include "runner/resources.h"
#include "specs/value.h"

namespace flowrun::runner {

namespace {

const choices<block::allocation_strategy>& allocations() {
  using block::allocation_strategy;
  static const choices<allocation_strategy> all = {{"striping", allocation_strategy::striping},
                                                   {"simple_randomised", allocation_strategy::simple_randomised},
                                                   {"fully_randomised", allocation_strategy::fully_randomised},
                                                   {"randomised_cycling", allocation_strategy::randomised_cycling}};
  return all;
}

const choices<io::service_order>& io_orders() {
  static const choices<io::service_order> all = {{"alternating", io::service_order::alternating},
                                                 {"writes_first", io::service_order::writes_first},
                                                 {"arrival", io::service_order::arrival}};
  return all;
}

}  // namespace

void resource_words::declare(declared_command& of) {
  of.word("-m,--memory", memory, "BYTES",
          "Memory budget: 8GiB, or 50%. Default: the job's, else half of what there is.");
  of.word("-j,--threads", threads, "N", "Threads. Default: the job's, else all usable cores.");
  of.words("-T,--scratch", scratch, "DIR[:LIMIT]",
           "Where to spill, used in parallel; repeatable. Default: the job's, else ~/.cache/flowrun.");
  of.word("--scratch-limit", scratch_limit, "BYTES", "The most that all scratch directories take together.");
  of.word("--block-size", block, "BYTES", "Size of scratch blocks.").for_experts();
  of.word("--batch-size", batch, "BYTES", "Bytes of a batch of rows between operators.").for_experts();
  of.word("--depth", depth, "N", "Transfers in flight per scratch disk.").for_experts();
  of.word("--allocation", allocation, "NAME",
          "Which disk takes a block: randomised_cycling, fully_randomised, simple_randomised, striping.")
      .one_of(names_of(allocations()))
      .for_experts();
  of.word("--io-order", io_order, "NAME",
          "What a disk does when reads and writes wait for it: alternating, writes_first, arrival.")
      .one_of(names_of(io_orders()))
      .for_experts();
}

resource_arguments values_of(const resource_words& given) {
  resource_arguments out;
  if (given.memory.ends_with('%')) {
    const std::string number = given.memory.substr(0, given.memory.size() - 1);
    const std::optional<double> percent = specs::to_double(number);
    if (!percent || !(*percent > 0 && *percent <= 100))
      throw error(error_kind::usage, "--memory '" + given.memory + "' is no share of the memory",
                  "above 0% to 100%, or bytes: -m 1GiB");
    out.memory_percent = *percent;
  } else if (!given.memory.empty()) {
    out.memory_bytes = bytes_of("--memory", given.memory);
  }
  if (!given.threads.empty()) {
    out.threads = static_cast<unsigned>(number_of("--threads", given.threads, 1, 4096));
  }
  for (const std::string& text : given.scratch) {
    out.scratch.push_back(parse_scratch(text));
    if (out.scratch.back().path.empty())
      throw error(error_kind::usage, "-T names no directory", "-T DIR or -T DIR:500GiB");
  }
  if (!given.block.empty()) out.block_bytes = block_size_of("--block-size", given.block);
  if (!given.batch.empty()) out.batch_bytes = bytes_of("--batch-size", given.batch);
  if (!given.scratch_limit.empty()) out.scratch_limit = bytes_of("--scratch-limit", given.scratch_limit);
  if (!given.depth.empty()) out.disk_depth = depth_of("--depth", given.depth);
  if (!given.allocation.empty()) out.allocation = choice_of("--allocation", given.allocation, allocations());
  if (!given.io_order.empty()) out.io_order = choice_of("--io-order", given.io_order, io_orders());
  return out;
}

}  // namespace flowrun::runner
