#include "tests/simulation/sorted_input.h"

#include <algorithm>
#include <cstring>
#include <random>

#include "engine/base/error.h"
#include "engine/runs/run_writer.h"
#include "tests/support/wakers.h"

namespace flowrun::simulation {

namespace {

using record::word128;

constexpr uint32_t key_bytes_of(uint32_t row_bytes) { return row_bytes < 8 ? 4 : 8; }

// Packs `keys` into the payload as the run creators would; gives what they remember of the first row.
word128 fill_block(std::byte* payload, const sort::sort_settings& settings, std::span<const uint64_t> keys) {
  const uint32_t row_bytes = settings.type.row_bytes();
  if (!settings.narrow()) {
    for (size_t i = 0; i < keys.size(); ++i) put_key(payload + i * row_bytes, row_bytes, keys[i]);
    return record::key_prefix(settings.type, settings.key)(payload, nullptr);
  }
  const record::row_codec codec(settings.type, settings.key);
  std::vector<std::byte> rows(keys.size() * row_bytes);
  for (size_t i = 0; i < keys.size(); ++i) put_key(rows.data() + i * row_bytes, row_bytes, keys[i]);
  const auto pack = [&](auto word) -> word128 {
    std::vector<decltype(word)> words(keys.size());
    codec.encode(rows.data(), words.size(), words.data());
    codec.pack(words.data(), words.size(), payload);
    return words[0];
  };
  return row_bytes <= 8 ? pack(uint64_t{}) : pack(word128{});
}

}  // namespace

sort::sort_settings keyed_rows(uint32_t row_bytes, merger_kind kind) {
  FLOWRUN_CHECK(row_bytes == 4 || row_bytes >= 8);
  const uint32_t key_bytes = key_bytes_of(row_bytes);
  std::vector<record::column> columns;
  const auto add = [&](const char* name, const std::string& type) {
    const auto parsed = record::parse_value_type(type);
    FLOWRUN_CHECK(parsed.has_value());
    columns.push_back({name, *parsed, 0});
  };
  add("key", key_bytes == 4 ? "u32" : "u64");
  if (row_bytes > key_bytes) add("rest", "bytes[" + std::to_string(row_bytes - key_bytes) + "]");
  sort::sort_settings settings;
  settings.type = record::row_type(std::move(columns));
  settings.key = {{0, false, 0, 0}};
  settings.stable = kind == merger_kind::wide;
  return settings;
}

uint64_t rows_per_block(uint32_t block_bytes, uint32_t row_bytes) {
  return (block_bytes - block::block_header_bytes) / row_bytes;
}

void put_key(std::byte* row, uint32_t row_bytes, uint64_t key) {
  std::memset(row, 0, row_bytes);
  std::memcpy(row, &key, key_bytes_of(row_bytes));
}

uint64_t key_of(const std::byte* row, uint32_t row_bytes) {
  return record::load_unsigned(row, key_bytes_of(row_bytes));
}

std::vector<uint64_t> random_run(uint64_t num_rows, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint64_t> keys(num_rows);
  for (uint64_t& key : keys) key = random() & 0xffffffff;  // random 32-bit keys, as in Asynchronous sorting, section 5
  std::sort(keys.begin(), keys.end());
  return keys;
}

std::vector<uint64_t> adversarial_run(uint64_t num_blocks, uint64_t rows_per_block) {
  std::vector<uint64_t> keys;
  keys.reserve(num_blocks * rows_per_block);
  for (uint64_t b = 0; b < num_blocks; ++b) {
    keys.insert(keys.end(), rows_per_block - 1, 2 * b + 1);
    keys.push_back(2 * b + 2);
  }
  return keys;
}

std::vector<uint64_t> late_adversarial_run(uint64_t num_blocks, uint64_t rows_per_block) {
  FLOWRUN_CHECK(rows_per_block >= 2);
  std::vector<uint64_t> keys;
  keys.reserve(num_blocks * rows_per_block);
  for (uint64_t b = 0; b < num_blocks; ++b) {
    keys.push_back(3 * b + 1);
    keys.insert(keys.end(), rows_per_block - 2, 3 * b + 2);
    keys.push_back(3 * b + 3);
  }
  return keys;
}

runs::sorted_runs write_runs(simulated_machine& machine, const sort::sort_settings& settings, uint32_t block_bytes,
                             std::span<const std::vector<uint64_t>> runs) {
  no_waker nobody;
  const uint64_t per_block = rows_per_block(block_bytes, settings.type.row_bytes());
  runs::run_writer writer(machine.blocks(), block_bytes, 16);
  for (const std::vector<uint64_t>& keys : runs) {
    writer.begin_run();
    for (size_t at = 0; at < keys.size(); at += per_block) {
      std::byte* payload = nullptr;
      while ((payload = writer.payload(&nobody)) == nullptr) machine.wait();
      const std::span<const uint64_t> part = std::span(keys).subspan(at, std::min<size_t>(per_block, keys.size() - at));
      const word128 first = fill_block(payload, settings, part);
      writer.submit(static_cast<uint32_t>(part.size()), static_cast<uint32_t>(part.size() * settings.type.row_bytes()),
                    0, first);
    }
  }
  while (writer.flush(&nobody).is_blocked()) machine.wait();
  runs::sorted_runs result(machine.blocks());
  result.runs = writer.take();
  for (const runs::run& r : result.runs) result.num_rows += r.num_rows;
  return result;
}

}  // namespace flowrun::simulation
