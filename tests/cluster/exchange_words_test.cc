// The words by which tasks exchange rows, in jobs: rows of any length, ranges, damaged files, and what the check says.
#include "cluster/exchange_words.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <span>

#include "cluster/exchange_file.h"
#include "engine/base/error.h"
#include "tests/support/checked_job.h"
#include "tests/support/job_rig.h"
#include "tests/support/random_rows.h"
#include "tests/support/temporary_directory.h"

namespace flowrun::cluster {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

const record::row_type numbers = record::type_of({{"a", "u64"}, {"b", "u16"}});
const record::row_type texts = record::type_of({{"s", "string"}, {"a", "u32"}, {"t", "string"}});

exec::job_place place(uint64_t batch_bytes = 1024) {
  exec::job_place out;
  out.more_operators = exchange_words();
  out.batch_bytes = batch_bytes;
  return out;
}

void write(const std::string& path, const record::row_type& type, const std::vector<record::batch>& batches,
           size_t frame_bytes) {
  exchange_encoder encoder(type, frame_bytes);
  for (const record::batch& b : batches) encoder.add(b);
  encoder.finish(path);
  const std::span<const std::byte> bytes = encoder.pending();
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

std::vector<std::string> contents(const std::string& path, const record::row_type& type) {
  std::vector<record::batch> out;
  const exchange_index index = exchange_index::load(path, type);
  for (const exchange_frame& f : index.frames()) out.push_back(read_frame(path, f, type.row_bytes()));
  return record::contents_of(type, out);
}

std::string copying(const std::string& from, const std::string& to, const record::row_type& type,
                    const std::string& more = {}) {
  return fmt::format(
      "  a: {{op: exchange.read, with: {{path: {}, type: {}{}}}}}\n"
      "  w: {{op: exchange.write, in: a, with: {{path: {}}}}}\n",
      from, record::to_string(type), more, to);
}

void copy(const std::string& from, const std::string& to, const record::row_type& type, const std::string& more = {},
          uint64_t batch_bytes = 1024) {
  exec::job_rig rig(copying(from, to, type, more), place(batch_bytes));
  rig.run_or_throw();
}

TEST(exchange_words, copy_any_rows_and_ranges_of_them) {
  const temporary_directory home;
  record::batch_pool pool;
  for (const record::row_type& type : {numbers, texts})
    for (const size_t frame_bytes : {1, 5000, 256 * 1024}) {
      record::random_rows random;
      random.random.seed(frame_bytes);
      const std::vector<record::batch> batches = random.batches(type, pool, 3000);
      const std::vector<std::string> all = record::contents_of(type, batches);
      write(home / "x", type, batches, frame_bytes);
      for (const uint64_t batch_bytes : {200, 16 * 1024}) {
        copy(home / "x", home / "y", type, {}, batch_bytes);
        EXPECT_EQ(contents(home / "y", type), all);
        for (int i = 0; i < 3; ++i) {
          const uint64_t from = random.below(3001), to = from + random.below(3001 - from);
          copy(home / "x", home / "y", type, fmt::format(", range: \"{}:{}\"", from, to), batch_bytes);
          const auto begin = all.begin();
          EXPECT_EQ(contents(home / "y", type), std::vector<std::string>(begin + static_cast<std::ptrdiff_t>(from),
                                                                         begin + static_cast<std::ptrdiff_t>(to)))
              << from << ":" << to;
        }
      }
    }
}

// Takes rows, and notes how many the largest batch has.
struct noting_settings {};
size_t most_rows_seen = 0;

class noting_stage final : public exec::ordered_stage {
 public:
  outcome push(record::batch& in, exec::output&, waker&) override {
    most_rows_seen = std::max(most_rows_seen, in.num_rows);
    return outcome::ready();
  }
};

noting_settings check_noting(plan::node_checker&) { return {}; }
exec::assembly build_noting(exec::build_context&, const noting_settings&) {
  exec::assembly out;
  out.stages.push_back(std::make_unique<noting_stage>());
  return out;
}

// Whatever the task had that wrote them.
TEST(exchange_words, batches_are_as_large_as_the_reader_wants_them) {
  const temporary_directory home;
  record::batch_pool pool;
  record::random_rows random;
  write(home / "x", numbers, random.batches(numbers, pool, 20000), 256 * 1024);
  plan::operator_declaration declaration;
  declaration.name = "test.note";
  declaration.summary = "Notes the sizes of batches.";
  declaration.role = plan::operator_role::sink;
  declaration.inputs = {{"in", "the rows"}};
  const exec::operator_definition note = exec::define<noting_settings>(declaration, check_noting, build_noting);
  for (const size_t batch_bytes : {1000, 50'000}) {
    exec::job_place noting = place(batch_bytes);
    noting.more_operators.push_back(&note);
    most_rows_seen = 0;
    exec::job_rig rig(fmt::format("  a: {{op: exchange.read, with: {{path: {}, type: {}}}}}\n"
                                  "  n: {{op: test.note, in: a}}\n",
                                  home / "x", record::to_string(numbers)),
                      noting);
    rig.run_or_throw();
    EXPECT_EQ(most_rows_seen, batch_bytes / numbers.row_bytes());
  }
}

// Frames that are longer than the chunks in which the file is read, and than what is written at a time.
TEST(exchange_words, rows_longer_than_a_frame) {
  const temporary_directory home;
  record::batch_pool pool;
  record::random_rows random;
  random.max_string_bytes = 400'000;
  const std::vector<record::batch> batches = random.batches(texts, pool, 30);
  write(home / "x", texts, batches, 64 * 1024);
  copy(home / "x", home / "y", texts);
  EXPECT_EQ(contents(home / "y", texts), record::contents_of(texts, batches));
  copy(home / "x", home / "y", texts, ", range: \"11:13\"");
  const std::vector<std::string> all = record::contents_of(texts, batches);
  EXPECT_EQ(contents(home / "y", texts), std::vector<std::string>(all.begin() + 11, all.begin() + 13));
}

TEST(exchange_words, damage_ends_the_job_and_nothing_is_written) {
  const temporary_directory home;
  record::batch_pool pool;
  for (const record::row_type& type : {numbers, texts}) {
    record::random_rows random;
    write(home / "x", type, random.batches(type, pool, 40), 300);
    const std::string whole = home.read("x");
    const std::vector<std::string> rows = contents(home / "x", type);
    const auto expect_refused = [&](const std::string& content, const std::string& what) {
      const std::string bad = home.write("x", content);
      exec::job_rig rig(copying(bad, home / "y", type), place());
      const std::unique_ptr<error> problem = rig.run();
      ASSERT_NE(problem, nullptr) << what;
      EXPECT_EQ(problem->kind(), error_kind::bad_data) << what;
      EXPECT_THAT(problem->what(), HasSubstr(bad));
      EXPECT_FALSE(home.has("y")) << what;
    };
    // Samples are for those who cut runs; who reads the rows doesn't read them. There is one here, of the first row.
    const exchange_frame last = exchange_index::load(home / "x", type).frames().back();
    const size_t samples = last.offset + last.num_bytes, index = whole.find(record::to_string(type)) - sizeof(uint32_t);
    ASSERT_GT(index, samples + type.row_bytes());
    for (size_t i = 0; i < whole.size(); i += i < samples ? 11 : 7) {
      std::string bad = whole;
      bad[i] = static_cast<char>(bad[i] ^ (1 << (i % 8)));
      if (i < samples || i >= index) {
        expect_refused(bad, fmt::format("byte {}", i));
      } else {
        copy(home.write("x", bad), home / "z", type);
        EXPECT_EQ(contents(home / "z", type), rows);
      }
    }
    for (size_t i = 0; i < whole.size(); i += 37) expect_refused(whole.substr(0, i), fmt::format("cut at {}", i));
  }
}

// The checksum that doesn't fit says which rows are lost.
TEST(exchange_words, damage_in_a_frame_names_its_rows) {
  const temporary_directory home;
  record::batch_pool pool;
  record::random_rows random;
  write(home / "x", numbers, random.batches(numbers, pool, 1000), 2000);
  const exchange_frame frame = exchange_index::load(home / "x", numbers).frames().at(1);
  std::string content = home.read("x");
  content[frame.offset + 100] ^= 1;
  home.write("x", content);
  exec::job_rig rig(copying(home / "x", home / "y", numbers), place());
  const std::unique_ptr<error> problem = rig.run();
  ASSERT_NE(problem, nullptr);
  EXPECT_THAT(problem->what(), HasSubstr(fmt::format("the rows from {} on", frame.first_row)));
  // Rows of other frames can be read.
  copy(home / "x", home / "y", numbers, fmt::format(", range: \"0:{}\"", frame.first_row));
  EXPECT_EQ(contents(home / "y", numbers).size(), frame.first_row);
}

TEST(exchange_words, rows_of_another_type_and_files_that_are_not_there) {
  const temporary_directory home;
  record::batch_pool pool;
  record::random_rows random;
  write(home / "x", numbers, random.batches(numbers, pool, 10), 2000);
  const auto kind_of = [&](const std::string& from, const record::row_type& type) {
    exec::job_rig rig(copying(from, home / "y", type), place());
    const std::unique_ptr<error> problem = rig.run();
    EXPECT_NE(problem, nullptr);
    return problem == nullptr ? error_kind::internal : problem->kind();
  };
  EXPECT_EQ(kind_of(home / "x", texts), error_kind::bad_data);
  // Of the same width.
  EXPECT_EQ(kind_of(home / "x", record::type_of({{"a", "i64"}, {"b", "u16"}})), error_kind::bad_data);
  EXPECT_EQ(kind_of(home / "x", record::type_of({{"a", "u64"}, {"c", "u16"}})), error_kind::bad_data);
  EXPECT_EQ(kind_of(home / "none", numbers), error_kind::missing_input);
}

TEST(exchange_words, faults) {
  const std::string head = "flowrun: 1\nnodes:\n";
  const auto faults = [&](const std::string& nodes) {
    std::vector<std::string> out;
    for (const fault& f : exec::check_text(head + nodes, exchange_words()).faults) out.push_back(exec::fault_text(f));
    return out;
  };
  EXPECT_THAT(faults(copying("[x, y]", "z", numbers, ", range: \"5:7\"")),
              Contains(HasSubstr("a range needs a single file")));
  EXPECT_THAT(faults(copying("x", "z", numbers, ", range: \"7:5\"")), Contains(HasSubstr("'7:5' is no range of rows")));
}

}  // namespace
}  // namespace flowrun::cluster
