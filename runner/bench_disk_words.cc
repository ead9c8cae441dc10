#include "runner/bench_disk_words.h"

#include <algorithm>

#include "engine/base/buffer.h"
#include "engine/base/units.h"
#include "runner/option_values.h"

namespace flowrun::runner {

namespace {

const choices<std::string>& formats() {
  static const choices<std::string> all = plain_choices({"text", "json"});
  return all;
}

// Those that leave the disk out are not worth measuring.
const choices<io::backend_kind>& backends() {
  static const choices<io::backend_kind> all = {{"auto", io::backend_kind::automatic},
                                                {"io_uring", io::backend_kind::io_uring},
                                                {"threads", io::backend_kind::threads}};
  return all;
}

template <class Value>
void sort_out(std::vector<Value>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

std::vector<uint64_t> block_sizes_of(const std::string& text) {
  if (text.empty()) return {128 * KiB, 512 * KiB, 1 * MiB, 2 * MiB, 4 * MiB};
  std::vector<uint64_t> out;
  for (const std::string& item : list_of("--block-sizes", text)) {
    out.push_back(bytes_of("--block-sizes", item));
    if (out.back() % io_alignment != 0 || out.back() > GiB)
      throw error(error_kind::usage, "--block-sizes '" + item + "' is no size of blocks",
                  "a multiple of 4KiB, at most 1GiB");
  }
  sort_out(out);
  return out;
}

std::vector<unsigned> depths_of(const std::string& text) {
  if (text.empty()) return {1, 2, 4, 8, 16};
  std::vector<unsigned> out;
  for (const std::string& item : list_of("--depths", text)) out.push_back(depth_of("--depths", item));
  sort_out(out);
  return out;
}

}  // namespace

void bench_disk_words::declare(declared_command& of) {
  of.argument("DIR", plain.directories, "The directories.");
  of.flag("--save", plain.save, "Writes the directories and what is suggested into the machine's configuration.");
  of.word("--config", plain.configuration, "FILE", "The configuration to write; ~/.config/flowrun/config.yaml.");
  of.word("-f,--format", format, "FORMAT", "text, json.").one_of(names_of(formats()));
  of.flag("--quick", plain.quick, "A quarter of the time, and smaller files: less reliable.");
  of.word("--time", time, "SECONDS", "Time of a measurement; 1.2. The last ones take three times that.");
  of.word("--file-size", file_size, "BYTES", "Size of the file in each directory; 1GiB, or a quarter of the room.");
  of.word("--block-sizes", block_sizes, "LIST", "Block sizes to try; 128KiB,512KiB,1MiB,2MiB,4MiB.").for_experts();
  of.word("--depths", depths, "LIST", "Transfers in flight per disk to try; 1,2,4,8,16.").for_experts();
  of.word("--backend", backend, "NAME", "auto, io_uring, threads.").one_of(names_of(backends())).for_experts();
}

bench_disk_arguments values_of(const bench_disk_words& given) {
  bench_disk_arguments out = given.plain;
  if (out.directories.empty()) throw error(error_kind::usage, "bench-disk needs a DIR", "flowrun bench-disk --help");
  if (!out.configuration.empty() && !out.save)
    throw error(error_kind::usage, "--config without --save: nothing would be written", "add --save");
  out.format = choice_of("--format", given.format, formats());
  out.backend = choice_of("--backend", given.backend, backends());
  if (!given.time.empty()) out.seconds = seconds_of("--time", given.time);
  if (!given.file_size.empty()) out.file_bytes = bytes_of("--file-size", given.file_size);
  out.block_sizes = block_sizes_of(given.block_sizes);
  out.depths = depths_of(given.depths);
  return out;
}

}  // namespace flowrun::runner
