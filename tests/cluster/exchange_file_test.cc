// Exchange files: what is written comes back, and damage is told.
#include "cluster/exchange_file.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>

#include "cluster/damaged_file.h"
#include "cluster/exchange_words.h"
#include "engine/base/error.h"
#include "tests/support/job_rig.h"
#include "tests/support/random_rows.h"
#include "tests/support/temporary_directory.h"

namespace flowrun::cluster {
namespace {

const record::row_type numbers = record::type_of({{"a", "u64"}, {"b", "u16"}});
const record::row_type texts = record::type_of({{"s", "string"}, {"a", "u32"}, {"t", "string"}});

void write(const std::string& path, const record::row_type& type, const std::vector<record::batch>& batches,
           size_t frame_bytes) {
  exchange_encoder encoder(type, frame_bytes);
  std::ofstream out(path, std::ios::binary);
  const auto flush = [&] {
    const std::span<const std::byte> bytes = encoder.pending();
    out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    encoder.forget(bytes.size());
  };
  for (const record::batch& b : batches) {
    encoder.add(b);
    flush();
  }
  encoder.finish(path);
  flush();
}

std::vector<record::batch> read(const std::string& path, const record::row_type& type) {
  std::vector<record::batch> out;
  const exchange_index index = exchange_index::load(path, type);
  for (const exchange_frame& f : index.frames()) out.push_back(read_frame(path, f, type.row_bytes()));
  exchange_samples::load(path, type, index);
  return out;
}

TEST(exchange_file, rows_come_back) {
  const temporary_directory home;
  record::batch_pool pool;
  for (const record::row_type& type : {numbers, texts})
    for (const size_t num_rows : {0, 1, 7, 5000})
      for (const size_t frame_bytes : {1, 4096, 100000}) {
        record::random_rows random;
        const std::vector<record::batch> batches = random.batches(type, pool, num_rows);
        write(home / "x", type, batches, frame_bytes);
        EXPECT_EQ(record::contents_of(type, read(home / "x", type)), record::contents_of(type, batches));
        const exchange_index index = exchange_index::load(home / "x", type);
        EXPECT_EQ(index.num_rows(), num_rows);
        for (const exchange_frame& f : index.frames())
          EXPECT_TRUE(f.num_bytes <= frame_bytes || f.num_rows == 1) << f.num_bytes;
      }
}

TEST(exchange_file, frames_lie_at_multiples_of_their_length) {
  const temporary_directory home;
  record::batch_pool pool;
  record::random_rows random;
  write(home / "x", numbers, random.batches(numbers, pool, 5000), 5000);
  const exchange_index index = exchange_index::load(home / "x", numbers);
  ASSERT_GT(index.frames().size(), 10U);
  for (size_t i = 0; i < index.frames().size(); ++i) EXPECT_EQ(index.frames()[i].offset, i * 4096);
}

TEST(exchange_file, samples_are_rows_of_their_places) {
  const temporary_directory home;
  record::batch_pool pool;
  for (const record::row_type& type : {numbers, texts}) {
    record::random_rows random;
    const std::vector<record::batch> batches = random.batches(type, pool, 20000);
    const std::vector<std::string> all = record::contents_of(type, batches);
    write(home / "x", type, batches, 50000);
    const exchange_index index = exchange_index::load(home / "x", type);
    const exchange_samples samples = exchange_samples::load(home / "x", type, index);
    uint64_t last = 0;
    for (const sampled_row& s : samples.rows()) {
      EXPECT_EQ(record::content_of(type, s.row, s.heap), all[s.place]);
      EXPECT_LE(s.place - last, 4096 / type.row_bytes() + 1);
      const exchange_frame& frame = index.frames()[index.frame_of(s.place)];
      EXPECT_TRUE(frame.first_row <= s.place && s.place < frame.first_row + frame.num_rows);
      last = s.place;
    }
    EXPECT_EQ(samples.rows().front().place, 0U);
    EXPECT_LE(all.size() - last, 4096 / type.row_bytes() + 1);
    // Fewer where fewer are wanted, at the same distances.
    const exchange_samples few = exchange_samples::load(home / "x", type, index, 7);
    ASSERT_LE(few.rows().size(), 7U);
    ASSERT_GT(few.rows().size(), 3U);
    const size_t step = (samples.rows().size() + 6) / 7;
    for (size_t i = 0; i < few.rows().size(); ++i) {
      EXPECT_EQ(few.rows()[i].place, samples.rows()[i * step].place);
      EXPECT_EQ(record::content_of(type, few.rows()[i].row, few.rows()[i].heap), all[few.rows()[i].place]);
    }
  }
}

TEST(exchange_file, in_the_place_of_another_is_damaged) {
  const temporary_directory home;
  record::batch_pool pool;
  record::random_rows random;
  for (const char* name : {"1-0-a", "1-1-b"}) std::filesystem::create_directory(home / name);
  write(home / "1-0-a/x", numbers, random.batches(numbers, pool, 10), 4096);
  EXPECT_EQ(exchange_index::load(home / "1-0-a/x", numbers).num_rows(), 10U);
  std::filesystem::rename(home / "1-0-a", home / "1-0-c");
  EXPECT_THROW(exchange_index::load(home / "1-0-c/x", numbers), damaged_file);
  std::filesystem::rename(home / "1-0-c/x", home / "1-1-b/x");
  EXPECT_THROW(exchange_index::load(home / "1-1-b/x", numbers), damaged_file);
  std::filesystem::rename(home / "1-1-b", home / "1-0-a");  // its own name again
  EXPECT_EQ(exchange_index::load(home / "1-0-a/x", numbers).num_rows(), 10U);
}

// Whatever the rows are, the samples of a long file are as many as those of a shorter one, and evenly spread.
TEST(exchange_file, samples_stay_few) {
  const temporary_directory home;
  record::batch_pool pool;
  for (const size_t string_bytes : {1000, 3000, 60000}) {
    record::random_rows random;
    random.string_prefix.assign(string_bytes, 'x');
    const size_t num_rows = 120'000'000 / string_bytes / 2;
    exchange_encoder encoder(texts, 65536);
    std::ofstream out(home / "x", std::ios::binary);
    const auto flush = [&] {
      const std::span<const std::byte> bytes = encoder.pending();
      out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
      encoder.forget(bytes.size());
    };
    for (size_t done = 0; done < num_rows; done += 100) {
      for (const record::batch& b : random.batches(texts, pool, 100)) encoder.add(b);
      flush();
    }
    encoder.finish(home / "x");
    flush();
    out.close();
    const exchange_index index = exchange_index::load(home / "x", texts);
    const exchange_samples samples = exchange_samples::load(home / "x", texts, index);
    ASSERT_GE(samples.rows().size(), 4U);
    uint64_t num_bytes = 0, least = UINT64_MAX, most = 0;
    for (size_t i = 0; i < samples.rows().size(); ++i) {
      const bool is_last = i + 1 == samples.rows().size();
      const uint64_t distance = (is_last ? index.num_rows() : samples.rows()[i + 1].place) - samples.rows()[i].place;
      most = std::max(most, distance);
      if (!is_last) least = std::min(least, distance);
      num_bytes += 2 * string_bytes;
    }
    EXPECT_LE(num_bytes, exchange_encoder::bytes_of_samples);
    EXPECT_LE(most, 2 * least + 1);
  }
}

// One row is more than all samples together may have.
TEST(exchange_file, a_row_that_is_too_long_for_a_sample_is_the_only_one) {
  const temporary_directory home;
  record::batch_pool pool;
  record::random_rows random;
  random.string_prefix.assign(800'000, 'x');
  const std::vector<record::batch> batches = random.batches(texts, pool, 9);
  write(home / "x", texts, batches, 4096);
  EXPECT_EQ(record::contents_of(texts, read(home / "x", texts)), record::contents_of(texts, batches));
  const exchange_index index = exchange_index::load(home / "x", texts);
  const exchange_samples samples = exchange_samples::load(home / "x", texts, index);
  ASSERT_EQ(samples.rows().size(), 1U);
  EXPECT_EQ(samples.rows()[0].place, 0U);
}

// A heap that a batch shares with others isn't written whole.
TEST(exchange_file, strings_of_other_rows_stay_out) {
  const temporary_directory home;
  record::batch_pool pool;
  record::random_rows random;
  random.max_string_bytes = 1000;
  const record::batch many = random.one_batch(texts, pool, 1000);
  write(home / "x", texts, {many.slice(500, 1)}, 4096);
  EXPECT_EQ(record::contents_of(texts, read(home / "x", texts)), record::contents_of(texts, {many.slice(500, 1)}));
  EXPECT_LT(std::filesystem::file_size(home / "x"), 10000U);
}

// What kind of error reading ends with; nothing where it ends well.
std::optional<error_kind> problem_of(const std::string& path, const record::row_type& type) {
  try {
    read(path, type);
  } catch (const error& e) {
    return e.kind();
  }
  return std::nullopt;
}

TEST(exchange_file, damage_is_told) {
  const temporary_directory home;
  record::batch_pool pool;
  for (const record::row_type& type : {numbers, texts}) {
    record::random_rows random;
    const std::vector<record::batch> batches = random.batches(type, pool, 40);
    write(home / "x", type, batches, 300);
    const std::string whole = home.read("x");
    for (size_t i = 0; i < whole.size(); ++i) {
      std::string bad = whole;
      bad[i] = static_cast<char>(bad[i] ^ (1 << (i % 8)));
      home.write("y", bad);
      EXPECT_EQ(problem_of(home / "y", type), error_kind::bad_data) << "byte " << i;
      home.write("y", whole.substr(0, i));
      EXPECT_EQ(problem_of(home / "y", type), error_kind::bad_data) << "cut at " << i;
    }
    EXPECT_EQ(problem_of(home / "x", type == numbers ? texts : numbers), error_kind::bad_data);
  }
  EXPECT_EQ(problem_of(home / "none", numbers), error_kind::missing_input);
}

// Written and read by nodes of jobs.
class exchange_words_test : public testing::Test {
 protected:
  static exec::job_place place() {
    exec::job_place out;
    out.more_operators = {&exchange_read(), &exchange_write()};
    out.batch_bytes = 1024;
    return out;
  }
  // What the job writes, of "out".
  static std::string run(const std::string& nodes) {
    exec::job_rig rig(nodes, place());
    rig.run_or_throw();
    return rig.outputs().at("out");
  }
  static std::string lines(uint64_t from, uint64_t to) {
    std::string out;
    for (uint64_t i = from; i < to; ++i) out += fmt::format("{},row {}\n", i, i);
    return out;
  }
  void write(const std::string& path, uint64_t from, uint64_t rows) const {
    exec::job_rig rig(
        fmt::format("  a: {{op: generate, with: {{rows: {}, first: {}, columns: {{x: i, t: \"concat('row ', "
                    "i)\"}}}}}}\n  w: {{op: exchange.write, in: a, with: {{path: {}}}}}\n",
                    rows, from, path),
        place());
    rig.run_or_throw();
  }
  std::string reading(const std::string& with) const {
    return fmt::format(
        "  a: {{op: exchange.read, with: {{{}, type: {{x: u64, t: string}}, sorted_by: [x]}}}}\n"
        "  w: {{op: file.write_csv, in: a, with: {{path: \"@OUT/out\"}}}}\n",
        with);
  }
  const temporary_directory home_;
};

TEST_F(exchange_words_test, rows_go_from_job_to_job) {
  write(home_ / "x", 0, 3000);
  write(home_ / "y", 3000, 0);
  write(home_ / "z", 3000, 500);
  EXPECT_EQ(run(reading(fmt::format("path: {}", home_ / "x"))), lines(0, 3000));
  EXPECT_EQ(run(reading(fmt::format("path: {}", home_ / "y"))), "");
  EXPECT_EQ(run(reading(fmt::format("path: [{}, {}, {}]", home_ / "x", home_ / "y", home_ / "z"))), lines(0, 3500));
}

TEST_F(exchange_words_test, ranges) {
  write(home_ / "x", 0, 3000);
  const std::vector<std::pair<uint64_t, uint64_t>> ranges = {{0, 0},     {0, 1},       {1, 2},       {17, 1234},
                                                             {999, 999}, {2999, 3000}, {3000, 3000}, {0, 3000}};
  for (const auto& range : ranges)
    EXPECT_EQ(run(reading(fmt::format("path: {}, range: \"{}:{}\"", home_ / "x", range.first, range.second))),
              lines(range.first, range.second));
}

TEST_F(exchange_words_test, an_order_that_the_rows_do_not_have_ends_the_job) {
  write(home_ / "x", 10, 10);
  write(home_ / "y", 0, 10);
  EXPECT_THROW(run(reading(fmt::format("path: [{}, {}]", home_ / "x", home_ / "y"))), error);
}

}  // namespace
}  // namespace flowrun::cluster
