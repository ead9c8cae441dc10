// flowrun gen: test data, the same bytes for the same arguments on every machine.
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <vector>

#include "engine/expr/lane.h"
#include "operators/parts/algorithms/sort_benchmark.h"
#include "runner/commands.h"
#include "runner/document.h"

namespace flowrun::runner {

namespace {

struct row_maker {
  uint32_t row_bytes = 0;
  std::function<void(uint64_t first, size_t count, std::byte* to)> make;
};

row_maker maker_of(const gen_arguments& arguments) {
  using operators::record_style;
  if (arguments.kind == "u64") {
    // Row i is what rand(seed, i) gives in a job.
    return {8, [seed = expr::lane::mix(arguments.seed)](uint64_t first, size_t count, std::byte* to) {
              for (size_t i = 0; i < count; ++i) {
                const uint64_t word = expr::lane::mix(seed + (first + i) * expr::lane::golden);
                std::memcpy(to + 8 * i, &word, sizeof word);
              }
            }};
  }
  const record_style style = arguments.kind == "ascii" ? record_style::ascii : record_style::binary;
  return {operators::benchmark_record_bytes,
          [style, skewed = arguments.skewed](uint64_t first, size_t count, std::byte* to) {
            operators::generate_records(first, count, style, to);
            if (skewed) operators::skew_records(first, count, style, to);
          }};
}

}  // namespace

int generate(const gen_arguments& arguments, terminal&) {
  if (arguments.rows > UINT64_MAX - arguments.first)
    throw error(error_kind::usage, "--first and --rows together exceed 64 bits");
  if (arguments.skewed && arguments.kind == "u64") throw error(error_kind::usage, "--skew is for records and ascii");
  const row_maker maker = maker_of(arguments);
  if (arguments.out == "-" && arguments.kind != "ascii" && ::isatty(STDOUT_FILENO) == 1)
    throw error(error_kind::usage, "standard output is a terminal, and the rows are binary",
                "name a file with -o, or redirect");
  pending_document file(arguments.out);
  constexpr size_t rows_at_once = 16384;
  std::vector<std::byte> buffer(rows_at_once * maker.row_bytes);
  for (uint64_t done = 0; done < arguments.rows;) {
    const auto count = static_cast<size_t>(std::min<uint64_t>(rows_at_once, arguments.rows - done));
    maker.make(arguments.first + done, count, buffer.data());
    file.append({reinterpret_cast<const char*>(buffer.data()), count * maker.row_bytes});
    done += count;
  }
  file.commit();
  return 0;
}

}  // namespace flowrun::runner
