// What was pushed can be read: forward, backward, by several readers at once, from any key on.
#include "engine/container/external_vector.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <thread>

#include "tests/engine/container/row_kinds.h"
#include "tests/support/error_of.h"
#include "tests/support/held_backend.h"
#include "tests/support/scratch_rig.h"
#include "tests/support/wakers.h"

namespace flowrun::container {
namespace {

using rows = std::vector<std::string>;
using direction = external_vector::direction;

constexpr uint64_t memories[] = {0, 40 * KiB, 300 * KiB, 64 * MiB};

std::unique_ptr<external_vector> filled(scratch_rig& rig, const row_type& type, std::vector<batch> input,
                                        external_vector::settings how) {
  auto out = std::make_unique<external_vector>(type, rig.blocks(), rig.pool(), std::move(how));
  blocking_waker w;
  for (batch& b : input)
    while (out->push(b, w).is_blocked()) w.wait();
  while (out->finish(w).is_blocked()) w.wait();
  return out;
}

const batch* next_of(external_vector::reader& from) {
  blocking_waker w;
  const batch* front = nullptr;
  for (;;) {
    const outcome s = from.front(front, w);
    if (s.is_ready()) return front;
    if (s.is_done()) return nullptr;
    w.wait();
  }
}

rows rest_of(external_vector::reader& from, const row_type& type) {
  rows out;
  while (const batch* front = next_of(from)) {
    for (size_t i = 0; i < front->num_rows; ++i) out.push_back(record::content_of(type, front->row(i), front->heap));
    from.pop();
  }
  return out;
}

rows reverse_of(rows in) {
  std::reverse(in.begin(), in.end());
  return in;
}

TEST(external_vector, gives_back_what_was_pushed) {
  for (const bool on_disk : {false, true}) {
    for (const row_kind& kind : row_kinds()) {
      for (const uint64_t memory : memories) {
        SCOPED_TRACE(testing::Message() << to_string(kind.type) << ", memory " << memory);
        scratch_rig rig({.on_disk = on_disk});
        const std::vector<batch> input = some_rows(rig.pool(), kind, 500'000, memory + 1);
        const rows expected = record::contents_of(kind.type, input);
        const auto vector = filled(rig, kind.type, input, {.memory_bytes = memory});
        EXPECT_EQ(vector->num_rows(), expected.size());
        EXPECT_EQ(vector->spilled_bytes() == 0, memory == 64 * MiB);
        EXPECT_LE(vector->memory_bytes(), 2 * memory + vector->spilled_bytes() / 16);  // an entry for each block
        ASSERT_EQ(rest_of(*vector->read(memory), kind.type), expected);
        ASSERT_EQ(rest_of(*vector->read(0), kind.type), expected);  // again
        ASSERT_EQ(rest_of(*vector->read(memory, direction::backward), kind.type), reverse_of(expected));
      }
    }
  }
}

TEST(external_vector, numbers_the_rows_of_its_batches) {
  const row_type type = record::type_of({{"k", "u64"}});
  for (const uint64_t memory : memories) {
    scratch_rig rig;
    const auto vector = filled(rig, type, some_rows(rig.pool(), {type, 0}, 300'000, 1), {.memory_bytes = memory});
    for (const direction way : {direction::forward, direction::backward}) {
      const auto reader = vector->read(0, way, 4 * KiB);
      uint64_t next_row = 0;
      while (const batch* front = next_of(*reader)) {
        ASSERT_EQ(front->first_row, next_row);
        ASSERT_LE(front->num_rows, 512U);  // 4 KiB of u64
        next_row += front->num_rows;
        reader->pop();
      }
      EXPECT_EQ(next_row, vector->num_rows());
    }
  }
}

TEST(external_vector, what_fits_touches_no_disk) {
  const row_type type = record::type_of({{"k", "u64"}});
  scratch_rig rig;
  const std::vector<batch> input = some_rows(rig.pool(), {type, 0}, 500'000, 3);
  uint64_t num_bytes = 0;
  for (const batch& b : input) num_bytes += b.num_bytes();
  const auto vector = filled(rig, type, input, {.memory_bytes = num_bytes});
  EXPECT_EQ(vector->num_bytes(), num_bytes);
  EXPECT_EQ(vector->spilled_bytes(), 0U);
  EXPECT_EQ(rig.blocks().peak_used_bytes(), 0U);
  const auto one_less = filled(rig, type, input, {.memory_bytes = num_bytes - 1});
  EXPECT_GT(one_less->spilled_bytes(), 0U);
  EXPECT_EQ(one_less->num_bytes(), num_bytes);
}

// Memory to fill it, and less from then on.
TEST(external_vector, keeps_no_more_rows_than_it_may) {
  for (const bool on_disk : {false, true}) {
    for (const row_kind& kind : row_kinds()) {
      scratch_rig rig({.on_disk = on_disk});
      const std::vector<batch> input = some_rows(rig.pool(), kind, 600'000, 5);
      const rows expected = record::contents_of(kind.type, input);
      for (const uint64_t kept : {uint64_t{0}, 50 * KiB, 300 * KiB, 2 * MiB}) {
        const auto vector = filled(rig, kind.type, input, {.memory_bytes = MiB, .kept_bytes = kept});
        EXPECT_EQ(vector->spilled_bytes() == 0, kept == 2 * MiB) << kept;
        EXPECT_LE(vector->memory_bytes(), 2 * kept + vector->spilled_bytes() / 16);
        ASSERT_EQ(rest_of(*vector->read(64 * KiB), kind.type), expected) << kept;
      }
    }
  }
}

// The last reader of the rows frees them as it reads.
TEST(external_vector, is_freed_by_its_last_reader_as_it_reads) {
  for (const row_kind& kind : row_kinds()) {
    for (const direction way : {direction::forward, direction::backward}) {
      scratch_rig rig({.on_disk = true});
      const std::vector<batch> input = some_rows(rig.pool(), kind, 900'000, 6);
      rows expected = record::contents_of(kind.type, input);
      if (way == direction::backward) expected = reverse_of(expected);
      auto vector = filled(rig, kind.type, input, {.memory_bytes = 300 * KiB});
      const uint64_t all = rig.blocks().used_bytes();
      ASSERT_GT(all, 500'000U);
      ASSERT_EQ(rest_of(*vector->read(64 * KiB, way), kind.type), expected);  // not the last one
      EXPECT_EQ(rig.blocks().used_bytes(), all);
      const auto last = vector->read(64 * KiB, way);
      vector.reset();
      EXPECT_EQ(rig.blocks().used_bytes(), all);
      rows out;
      bool half_way = false;
      while (const batch* front = next_of(*last)) {
        for (size_t i = 0; i < front->num_rows; ++i)
          out.push_back(record::content_of(kind.type, front->row(i), front->heap));
        last->pop();
        if (half_way || out.size() < expected.size() * 3 / 4) continue;
        half_way = true;
        EXPECT_LT(rig.blocks().used_bytes(), all * 3 / 4);
      }
      EXPECT_EQ(rig.blocks().used_bytes(), 0U);
      ASSERT_EQ(out, expected);
    }
  }
}

// Rows cut from large batches must not keep them.
TEST(external_vector, few_rows_take_little_memory) {
  const row_type type = record::type_of({{"k", "u64"}});
  scratch_rig rig;
  std::vector<batch> input = some_rows(rig.pool(), {type, 0}, 500'000, 3);
  std::vector<batch> slices;
  for (const batch& b : input) slices.push_back(b.slice(0, 1));
  input.clear();
  const auto vector = filled(rig, type, slices, {.memory_bytes = MiB});
  EXPECT_LE(vector->memory_bytes(), 4 * slices.size() * 8);
}

TEST(external_vector, an_empty_one_ends_at_once) {
  const row_type type = record::type_of({{"k", "u64"}, {"s", "string"}});
  scratch_rig rig;
  for (const uint64_t memory : {uint64_t{0}, uint64_t{MiB}}) {
    const auto vector = filled(rig, type, {}, {.memory_bytes = memory});
    EXPECT_EQ(vector->num_rows(), 0U);
    EXPECT_EQ(rest_of(*vector->read(memory), type), rows());
    EXPECT_EQ(rest_of(*vector->read(memory, direction::backward), type), rows());
  }
}

TEST(external_vector, has_many_readers_at_once) {
  for (const row_kind& kind : row_kinds()) {
    for (const uint64_t memory : {0 * KiB, 300 * KiB}) {
      scratch_rig rig({.on_disk = true});
      const std::vector<batch> input = some_rows(rig.pool(), kind, 500'000, 11);
      const rows expected = record::contents_of(kind.type, input);
      const auto vector = filled(rig, kind.type, input, {.memory_bytes = memory});
      std::vector<rows> got(4);
      std::vector<std::thread> readers;
      for (size_t i = 0; i < got.size(); ++i)
        readers.emplace_back([&, i] {
          got[i] = rest_of(*vector->read(64 * KiB, i % 2 == 0 ? direction::forward : direction::backward), kind.type);
        });
      for (std::thread& t : readers) t.join();
      for (size_t i = 0; i < got.size(); ++i) ASSERT_EQ(i % 2 == 0 ? got[i] : reverse_of(got[i]), expected) << i;
    }
  }
}

TEST(external_vector, rows_live_as_long_as_a_reader_or_a_batch) {
  for (const row_kind& kind : row_kinds()) {
    scratch_rig rig({.on_disk = true});
    const std::vector<batch> input = some_rows(rig.pool(), kind, 300'000, 5);
    auto vector = filled(rig, kind.type, input, {.memory_bytes = 100 * KiB});
    auto reader = vector->read(0);
    vector.reset();
    std::vector<batch> kept;  // more of them than the reader has buffers
    while (const batch* front = next_of(*reader)) {
      kept.push_back(*front);
      reader->pop();
    }
    reader.reset();
    EXPECT_EQ(rig.blocks().used_bytes(), 0U);
    EXPECT_EQ(record::contents_of(kind.type, kept), record::contents_of(kind.type, input));
  }
}

// --- seeking ---

struct sorted_input {
  std::vector<batch> batches;
  record::key index;
  record::row_comparator order;
  std::vector<std::pair<const batch*, size_t>> places;  // of all rows
};

// Rows sorted by all columns but the last, in batches of random lengths.
sorted_input sorted_rows(scratch_rig& rig, const row_type& type, size_t num_rows, std::mt19937_64& random) {
  record::random_rows make;
  make.random.seed(random());
  make.distinct = num_rows / 3 + 1;
  const batch all = make.one_batch(type, rig.pool(), num_rows);
  record::key index;
  for (size_t i = 0; i + 1 < type.num_columns(); ++i) index.push_back({i, i % 2 == 1, 0, 0});
  sorted_input out{{}, index, record::row_comparator(type, index), {}};
  std::vector<size_t> sequence(num_rows);
  for (size_t i = 0; i < num_rows; ++i) sequence[i] = i;
  std::stable_sort(sequence.begin(), sequence.end(), [&](size_t a, size_t b) {
    return out.order.compare(all.row(a), all.heap, all.row(b), all.heap) < 0;
  });
  for (size_t from = 0; from < num_rows;) {
    record::batch_builder builder(type, rig.pool(), record::rows_of_any_length(size_t{1} << 20));
    const size_t count = std::min(num_rows - from, 1 + random() % 300);
    for (size_t i = 0; i < count; ++i) builder.append_row(all.row(sequence[from + i]), all.heap);
    out.batches.push_back(builder.take());
    from += count;
  }
  for (const batch& b : out.batches)
    for (size_t i = 0; i < b.num_rows; ++i) out.places.emplace_back(&b, i);
  return out;
}

std::vector<row_type> sorted_types() {
  return {record::type_of({{"k", "u32"}, {"v", "u64"}}),
          record::type_of({{"s", "string"}, {"b", "u8"}, {"t", "string"}}),
          record::type_of({{"b", "bytes[20]"}, {"f", "f64"}, {"s", "string"}})};
}

batch one_text(const row_type& type, record::batch_pool& pool, const std::string& text) {
  record::batch_builder builder(type, pool, record::rows_of_any_length(size_t{1} << 20));
  builder.put_string(builder.append(), text);
  return builder.take();
}

// The longest keys take up a part of the memory, and are found with a few blocks more.
TEST(external_vector, an_index_of_long_keys_forgets_some) {
  scratch_rig rig;
  const row_type type = record::type_of({{"s", "string"}});
  constexpr uint64_t num_rows = 600;
  const record::key index = {{0, false, 0, 0}};
  const auto key_of = [](uint64_t i) { return fmt::format("{:06}", i) + std::string(64 * KiB, 'x'); };
  std::vector<batch> batches;
  for (uint64_t i = 0; i < num_rows; ++i) batches.push_back(one_text(type, rig.pool(), key_of(2 * i)));
  const auto vector = filled(rig, type, batches, {1 * MiB, 0, index});
  EXPECT_LT(vector->memory_bytes(), 10 * MiB);  // all keys: 38 MiB
  const record::row_comparator order(type, index);
  const auto reader = vector->read(1 * MiB);
  for (uint64_t i = 7; i < num_rows; i += 97) {
    const batch key = one_text(type, rig.pool(), key_of(2 * i - 1));
    reader->seek(order, key.rows, key.heap);
    const batch* front = next_of(*reader);
    ASSERT_NE(front, nullptr);
    EXPECT_EQ(front->first_row, i);
  }
  EXPECT_LT(reader->num_blocks_read(), num_rows / 4);
}

// Reads a few rows, seeks, reads a few rows, …: always what std::lower_bound says.
TEST(external_vector, seeks_as_lower_bound_does) {
  std::mt19937_64 random(7);
  for (const bool on_disk : {false, true}) {
    for (const row_type& type : sorted_types()) {
      for (const uint64_t memory : {0 * KiB, 40 * KiB, 64 * MiB}) {
        for (int round = 0; round < (on_disk ? 3 : 12); ++round) {
          scratch_rig rig({.on_disk = on_disk});
          const sorted_input input = sorted_rows(rig, type, 3'000, random);
          const bool keep_read = round % 2 == 1;
          // All keys, some of them, or none.
          const uint64_t key_bytes = std::array<uint64_t, 3>{0, 1 + random() % 2'000, 1}[random() % 3];
          const auto vector = filled(rig, type, input.batches, {memory, 4 * KiB, input.index, keep_read, key_bytes});
          record::random_rows keys;
          keys.random.seed(random());
          const auto reader = vector->read(random() % (40 * KiB));
          const size_t stride = 1 + random() % 2'000;
          for (size_t at = 0; at < input.places.size();) {
            // To a row that is there, or to any other key.
            const batch strange = keys.one_batch(type, rig.pool(), 1);
            const auto& [b, i] = input.places[std::min(at + random() % stride, input.places.size() - 1)];
            const bool there = random() % 4 > 0;
            const std::byte* row = there ? b->row(i) : strange.rows;
            const std::byte* heap = there ? b->heap : strange.heap;
            // A key that is sought is found, also where expect() announced other keys.
            if (random() % 4 == 0) reader->expect(input.order, input.batches[random() % input.batches.size()]);
            reader->seek(input.order, row, heap);
            const auto found = std::lower_bound(
                input.places.begin() + static_cast<ptrdiff_t>(at), input.places.end(), 0, [&](const auto& place, int) {
                  return input.order.compare(place.first->row(place.second), place.first->heap, row, heap) < 0;
                });
            at = static_cast<size_t>(found - input.places.begin());
            for (uint64_t left = 1 + random() % 200; left > 0;) {
              const batch* front = next_of(*reader);
              ASSERT_EQ(front == nullptr, at == input.places.size());
              if (front == nullptr) break;
              const uint64_t count = std::min<uint64_t>(left, front->num_rows);
              for (size_t k = 0; k < front->num_rows; ++k, ++at) {
                ASSERT_EQ(front->first_row + k, at);
                const auto& [expected, row_of] = input.places[at];
                ASSERT_EQ(record::content_of(type, front->row(k), front->heap),
                          record::content_of(type, expected->row(row_of), expected->heap));
              }
              reader->pop();
              left -= count;
            }
          }
        }
      }
    }
  }
}

TEST(external_vector, a_seek_reads_only_the_blocks_it_wants) {
  const row_type type = record::type_of({{"k", "u64"}, {"v", "u64"}});
  scratch_rig rig({.on_disk = true});
  record::batch_builder builder(type, rig.pool(), record::rows_of_any_length(size_t{1} << 20));
  for (uint64_t i = 0; i < 16'000; ++i) std::memcpy(builder.append(), &i, sizeof i);
  const batch all = builder.take();
  const record::key index{{0, false, 0, 0}};
  const auto vector = filled(rig, type, {all}, {0, 4 * KiB, index});  // 252 rows in each of 64 blocks
  const record::row_comparator order(type, index);
  // Told beforehand, the reader reads what is asked for; else it finds out, and has begun to read from the front.
  for (const bool told : {false, true}) {
    record::batch_builder sought(type, rig.pool(), record::rows_of_any_length());
    for (size_t row = 130; row < all.num_rows; row += 2'016) sought.append_row(all.row(row), nullptr);
    const batch keys = sought.take();
    const auto reader = vector->read(64 * KiB);
    if (told) reader->expect(order, keys);
    for (size_t i = 0; i < keys.num_rows; ++i) {
      reader->seek(order, keys.row(i), nullptr);
      const batch* front = next_of(*reader);
      ASSERT_NE(front, nullptr);
      EXPECT_EQ(front->first_row, 130 + 2'016 * i);
    }
    EXPECT_LE(reader->num_blocks_read(), told ? keys.num_rows + 1 : 2 * keys.num_rows + 16);
  }
}

record::batch keys_of(scratch_rig& rig, const row_type& type, const batch& all, size_t first, size_t step_length) {
  record::batch_builder out(type, rig.pool(), record::rows_of_any_length());
  for (size_t row = first; row < all.num_rows; row += step_length) out.append_row(all.row(row), nullptr);
  return out.take();
}

// The blocks that are read for these keys, each of which has to be found.
uint64_t blocks_read_for(const external_vector& vector, const record::row_comparator& order, const batch& keys) {
  const auto reader = vector.read(64 * KiB);
  for (size_t i = 0; i < keys.num_rows; ++i) {
    reader->seek(order, keys.row(i), nullptr);
    const batch* front = next_of(*reader);
    EXPECT_TRUE(front != nullptr && order.compare(keys.row(i), nullptr, front->row(0), nullptr) == 0);
  }
  return reader->num_blocks_read();
}

TEST(external_vector, keeps_the_blocks_that_seeks_have_read) {
  const row_type type = record::type_of({{"k", "u64"}, {"v", "u64"}});
  scratch_rig rig({.on_disk = true});
  record::batch_builder builder(type, rig.pool(), record::rows_of_any_length(size_t{1} << 20));
  for (uint64_t i = 0; i < 16'000; ++i) std::memcpy(builder.append(), &i, sizeof i);
  const batch all = builder.take();
  const record::row_comparator order(type, {{0, false, 0, 0}});
  // 64 blocks on scratch, and room for 16 of them and for where they all lie.
  constexpr uint64_t memory = 82 * KiB;
  const auto vector = filled(rig, type, {all}, {memory, 4 * KiB, {{0, false, 0, 0}}, true});
  const batch few = keys_of(rig, type, all, 5'000, 700), others = keys_of(rig, type, all, 130, 504);
  EXPECT_GE(blocks_read_for(*vector, order, few), few.num_rows);
  EXPECT_EQ(blocks_read_for(*vector, order, few), 0U);
  EXPECT_GE(blocks_read_for(*vector, order, others), others.num_rows - 16);
  EXPECT_GE(blocks_read_for(*vector, order, few), few.num_rows - 4);  // they had to go
  EXPECT_LE(vector->memory_bytes(), memory);
  // One who reads it all changes nothing.
  EXPECT_EQ(blocks_read_for(*vector, order, few), 0U);
  EXPECT_EQ(rest_of(*vector->read(64 * KiB), type), record::contents_of(type, {all}));
  EXPECT_EQ(blocks_read_for(*vector, order, few), 0U);
}

TEST(external_vector, what_is_sought_and_fits_stays_in_memory) {
  const row_type type = record::type_of({{"k", "u64"}, {"v", "u64"}});
  scratch_rig rig({.on_disk = true});
  record::batch_builder builder(type, rig.pool(), record::rows_of_any_length(64 * KiB));
  for (uint64_t i = 0; i < 1000; ++i) std::memcpy(builder.append(), &i, sizeof i);
  const batch all = builder.take();
  const auto vector = filled(rig, type, {all}, {64 * KiB, 4 * KiB, {{0, false, 0, 0}}, true});
  EXPECT_EQ(rig.blocks().used_bytes(), 0U);
  EXPECT_EQ(rest_of(*vector->read(64 * KiB), type), record::contents_of(type, {all}));
}

TEST(external_vector, many_readers_share_what_they_read) {
  const row_type type = record::type_of({{"k", "u64"}, {"v", "u64"}});
  scratch_rig rig({.on_disk = true});
  record::batch_builder builder(type, rig.pool(), record::rows_of_any_length(size_t{1} << 20));
  for (uint64_t i = 0; i < 16'000; ++i) std::memcpy(builder.append(), &i, sizeof i);
  const batch all = builder.take();
  const record::row_comparator order(type, {{0, false, 0, 0}});
  const auto vector = filled(rig, type, {all}, {64 * KiB, 4 * KiB, {{0, false, 0, 0}}, true});
  std::vector<batch> keys;
  for (size_t t = 0; t < 4; ++t) keys.push_back(keys_of(rig, type, all, 10 * t, 97 + 30 * t));
  std::vector<std::thread> threads;
  for (const batch& own : keys)
    threads.emplace_back([&] {
      for (int round = 0; round < 20; ++round) blocks_read_for(*vector, order, own);
    });
  for (std::thread& t : threads) t.join();
  EXPECT_LE(vector->memory_bytes(), 64 * KiB);
}

// Short blocks are for few of them: each has an entry in memory, which is part of the vector's.
TEST(external_vector, blocks_that_are_sought_grow_with_their_number) {
  const row_type type = record::type_of({{"k", "u64"}, {"v", "bytes[1992]"}});
  scratch_rig rig({.on_disk = true});
  constexpr uint64_t num_rows = 45'000;  // two in a block of 4 KiB
  external_vector vector(type, rig.blocks(), rig.pool(), {MiB, 0, {{0, false, 0, 0}}, true});
  blocking_waker w;
  for (uint64_t i = 0; i < num_rows; i += 100) {
    record::batch_builder builder(type, rig.pool(), record::rows_of_any_length(MiB));
    for (uint64_t k = i; k < i + 100; ++k) {
      std::byte* row = builder.append();
      std::memset(row, 0, type.row_bytes());
      std::memcpy(row, &k, sizeof k);
    }
    batch b = builder.take();
    while (vector.push(b, w).is_blocked()) w.wait();
  }
  while (vector.finish(w).is_blocked()) w.wait();
  EXPECT_EQ(vector.num_rows(), num_rows);
  const auto reader = vector.read(64 * KiB);
  while (const batch* front = next_of(*reader)) {
    for (size_t i = 0; i < front->num_rows; ++i)
      ASSERT_EQ(record::load_unsigned(front->row(i), 8), front->first_row + i);
    reader->pop();
  }
  EXPECT_LE(reader->num_blocks_read(), 4096U);  // of 2 to 32 rows
  EXPECT_GE(reader->num_blocks_read(), num_rows / 32);
  EXPECT_GE(vector.memory_bytes(), reader->num_blocks_read() * sizeof(row_piece));
  EXPECT_LE(vector.memory_bytes(), MiB);
}

TEST(external_vector, an_index_refuses_rows_out_of_order) {
  const row_type type = record::type_of({{"k", "u64"}});
  for (const uint64_t memory : {uint64_t{0}, uint64_t{MiB}}) {
    scratch_rig rig;
    external_vector vector(type, rig.blocks(), rig.pool(), {memory, 0, {{0, true, 0, 0}}});
    counting_waker w;
    const auto push = [&](std::initializer_list<uint64_t> keys) {
      record::batch_builder builder(type, rig.pool(), record::rows_of_any_length());
      for (const uint64_t k : keys) std::memcpy(builder.append(), &k, sizeof k);
      batch b = builder.take();
      return vector.push(b, w);
    };
    EXPECT_EQ(push({9, 7, 7}), outcome::ready());
    EXPECT_EQ(push({7, 3}), outcome::ready());
    const error problem = error_of([&] { (void)push({3, 2, 4}); });
    EXPECT_EQ(problem.kind(), error_kind::bad_data);
    EXPECT_NE(std::string(problem.what()).find("row 7 "), std::string::npos) << problem.what();
  }
}

// --- on the way ---

TEST(external_vector, wakes_who_waits) {
  const row_type type = record::type_of({{"k", "u64"}});
  auto held = std::make_unique<held_backend>();
  held_backend& backend = *held;
  scratch_rig rig({}, std::move(held));
  std::vector<batch> input = some_rows(rig.pool(), {type, 0}, 100'000, 3);
  external_vector vector(type, rig.blocks(), rig.pool(), {});
  counting_waker w;
  int expected_wakes = 0;
  const auto until_not_blocked = [&](auto&& act) {
    outcome s;
    while ((s = act()).is_blocked()) {
      ASSERT_EQ(w.num_wakes(), expected_wakes);
      ASSERT_GT(backend.num_waiting(), 0U);
      while (w.num_wakes() == expected_wakes && backend.num_waiting() > 0) backend.finish(1);
      ++expected_wakes;
      ASSERT_EQ(w.num_wakes(), expected_wakes);
    }
  };
  for (batch& b : input) until_not_blocked([&] { return vector.push(b, w); });
  until_not_blocked([&] { return vector.finish(w); });
  EXPECT_GT(expected_wakes, 1);
  const auto reader = vector.read(0);
  rows out;
  for (bool more = true; more;)
    until_not_blocked([&] {
      const batch* front = nullptr;
      const outcome s = reader->front(front, w);
      more = !s.is_done();
      if (!s.is_ready()) return s;
      for (size_t i = 0; i < front->num_rows; ++i) out.push_back(record::content_of(type, front->row(i), front->heap));
      reader->pop();
      return s;
    });
  EXPECT_EQ(out, record::contents_of(type, some_rows(rig.pool(), {type, 0}, 100'000, 3)));
}

}  // namespace
}  // namespace flowrun::container
