// How fast the blocks of runs are coded and decoded, and how short they get: user time of one core.
//
//   codec_bench            blocks of 1 MiB from made-up runs
//   codec_bench FILE       the first MiB of a file, for lz4 and zstd
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "engine/runs/block_codec.h"

namespace {

using namespace flowrun;
using runs::compression;
using bytes = std::vector<std::byte>;

constexpr size_t block_bytes = 1U << 20;

double user_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_utime.tv_sec) + 1e-6 * static_cast<double>(used.ru_utime.tv_usec);
}

// GB of rows a second, the best of five rounds of a quarter of a second.
double speed(size_t num_bytes, const std::function<void()>& code_one_block) {
  double best = 0;
  for (int round = 0; round < 5; ++round) {
    const double from = user_seconds();
    size_t num_blocks = 0;
    double spent = 0;
    for (; spent < 0.25; spent = user_seconds() - from)
      for (int i = 0; i < 16; ++i, ++num_blocks) code_one_block();
    best = std::max(best, static_cast<double>(num_blocks * num_bytes) / spent * 1e-9);
  }
  return best;
}

void measure(const std::string& what, const runs::block_coding& coding, const bytes& block) {
  static const char* const names[] = {"none", "delta", "lz4", "zstd"};
  const auto codec = runs::make_block_codec(coding);
  bytes coded(block.size() * 2), decoded(block.size());
  const size_t length = codec->encode(block, coded);
  const double coding_speed = speed(block.size(), [&] { codec->encode(block, coded); });
  const double decoding_speed = speed(block.size(), [&] {
    if (!codec->decode({coded.data(), length}, decoded)) internal_error("a codec can't decode what it has coded");
  });
  if (decoded != block) internal_error("a codec has changed a block");
  fmt::print("{:<40} {:<6} {:6.1f} % {:7.2f} GB/s coded {:7.2f} GB/s decoded\n", what,
             names[static_cast<size_t>(coding.how)],
             100.0 * static_cast<double>(length) / static_cast<double>(block.size()), coding_speed, decoding_speed);
}

// Ascending numbers as far apart as the words of a run of 2^26 random ones below 2^bits are; a fifth of them repeat the
// word before where `repeats` says so.
std::vector<uint64_t> ascending(size_t count, unsigned bits, bool repeats = false) {
  std::mt19937_64 random(1);
  std::exponential_distribution<double> gap(std::ldexp(1.0, 26 - static_cast<int>(bits)));
  std::vector<uint64_t> out(count);
  double at = 0;
  for (uint64_t& w : out) {
    if (!repeats || random() % 5 != 0) at += gap(random);
    w = static_cast<uint64_t>(at);
  }
  return out;
}

// Words of `num_bytes` bytes, and behind each as much of `tail`, below it.
bytes packed(const std::vector<uint64_t>& words, size_t num_bytes, const std::vector<uint64_t>& tail,
             size_t tail_bytes) {
  bytes out(words.size() * (num_bytes + tail_bytes));
  std::byte* to = out.data();
  for (size_t i = 0; i < words.size(); ++i) {
    if (tail_bytes > 0) std::memcpy(to, &tail[i], tail_bytes);
    std::memcpy(to + tail_bytes, &words[i], num_bytes);
    to += num_bytes + tail_bytes;
  }
  return out;
}

void made_up() {
  std::mt19937_64 random(2);
  std::vector<uint64_t> drawn(block_bytes / 5), counted(block_bytes / 5);
  for (size_t i = 0; i < drawn.size(); ++i) {
    drawn[i] = random();
    counted[i] = i % 100'003;
  }
  const auto all = [](const std::string& what, uint32_t word_bytes, const bytes& block) {
    for (const auto how : {compression::delta, compression::lz4, compression::zstd})
      measure(what, {how, word_bytes}, block);
  };
  all("u64, random", 8, packed(ascending(block_bytes / 8, 64), 8, {}, 0));
  all("u64 below 2^40, random, repeats", 8, packed(ascending(block_bytes / 8, 40, true), 8, {}, 0));
  all("u64 counting", 8, packed(counted, 8, {}, 0));
  all("u40, random", 5, packed(ascending(block_bytes / 5, 40), 5, {}, 0));
  all("u64 random, then u64 random", 16, packed(ascending(block_bytes / 16, 64), 8, drawn, 8));
  all("u64 random, then u32 counting", 12, packed(ascending(block_bytes / 12, 64), 8, counted, 4));
  all("u64 below 2^32, then u64 counting", 16, packed(ascending(block_bytes / 16, 32), 8, counted, 8));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 1) {
    made_up();
    return 0;
  }
  std::ifstream in(argv[1], std::ios::binary);
  bytes block(block_bytes);
  in.read(reinterpret_cast<char*>(block.data()), block_bytes);
  block.resize(static_cast<size_t>(in.gcount()));
  if (block.empty()) {
    fmt::print(stderr, "codec_bench: nothing to read in {}\n", argv[1]);
    return 66;
  }
  for (const auto how : {compression::lz4, compression::zstd}) measure(argv[1], {how, 0}, block);
}
