// Vectors that end early, full scratch and failing disks: errors are heard, and no block stays behind.
#include <gtest/gtest.h>

#include <cerrno>
#include <random>

#include "engine/container/external_vector.h"
#include "engine/io/backends.h"
#include "engine/io/faulty_backend.h"
#include "tests/engine/container/row_kinds.h"
#include "tests/support/error_of.h"
#include "tests/support/scratch_rig.h"
#include "tests/support/wakers.h"

namespace flowrun::container {
namespace {

const row_type& number_type() {
  static const row_type type = record::type_of({{"k", "u64"}, {"v", "u64"}});
  return type;
}

std::vector<batch> numbers(scratch_rig& rig, size_t num_rows) {
  return random_batches(rig.pool(), number_type(), 0, num_rows * number_type().row_bytes(), 1);
}

void fill(external_vector& vector, std::vector<batch> input) {
  blocking_waker w;
  for (batch& b : input)
    while (vector.push(b, w).is_blocked()) w.wait();
  while (vector.finish(w).is_blocked()) w.wait();
}

void read_to_end(const external_vector& vector, external_vector::direction way) {
  const auto reader = vector.read(0, way);
  blocking_waker w;
  const batch* front = nullptr;
  for (outcome s; !(s = reader->front(front, w)).is_done();) s.is_blocked() ? w.wait() : reader->pop();
}

TEST(external_vector_failure, may_be_destroyed_in_any_state) {
  std::mt19937_64 random(4);
  for (int round = 0; round < 200; ++round) {
    scratch_rig rig({.on_disk = round % 2 == 0});
    std::vector<batch> input = numbers(rig, 5'000);
    auto sleeper = std::make_unique<counting_waker>();
    auto vector =
        std::make_unique<external_vector>(number_type(), rig.blocks(), rig.pool(),
                                          external_vector::settings{.memory_bytes = round % 3 == 0 ? 30 * KiB : 0});
    size_t next = 0;
    for (uint64_t steps = random() % 400; steps > 0 && next < input.size(); --steps)
      if (vector->push(input[next], *sleeper).is_ready()) ++next;
    std::unique_ptr<external_vector::reader> reader;
    if (round % 4 == 0) {
      for (outcome s; !(s = vector->finish(*sleeper)).is_done();)
        while (sleeper->num_wakes() == 0) std::this_thread::yield();
      reader = vector->read(random() % (100 * KiB), round % 8 == 0 ? external_vector::direction::forward
                                                                   : external_vector::direction::backward);
      const batch* front = nullptr;
      for (uint64_t steps = random() % 50; steps > 0; --steps)
        if (reader->front(front, *sleeper).is_ready() && random() % 4 > 0) reader->pop();
    }
    if (random() % 2 == 0) vector.reset();
    reader.reset();
    vector.reset();
    sleeper.reset();
    EXPECT_EQ(rig.blocks().used_bytes(), 0U);
  }
}

TEST(external_vector_failure, full_scratch_is_reported) {
  scratch_rig rig({.limit = 128 * KiB});
  external_vector vector(number_type(), rig.blocks(), rig.pool(), {});
  EXPECT_EQ(error_of([&] { fill(vector, numbers(rig, 100'000)); }).kind(), error_kind::resources);
}

// (A single write that fails is made good on the other disk: so all fail from then on.)
void expect_failure_of(io::direction way, uint64_t nth, io::injected_fault::effect what, uint64_t value) {
  SCOPED_TRACE(testing::Message() << (way == io::direction::read ? "read " : "write ") << nth);
  const bool all = way == io::direction::write && what == io::injected_fault::effect::fail;
  const std::vector<io::injected_fault> faults{{way, nth, all ? UINT64_MAX : 1, what, value}};
  for (const auto read_way : {external_vector::direction::forward, external_vector::direction::backward}) {
    scratch_rig rig({}, std::make_unique<io::faulty_backend>(io::make_memory_backend(), faults));
    external_vector vector(number_type(), rig.blocks(), rig.pool(), {});
    const error problem = error_of([&] {
      fill(vector, numbers(rig, 20'000));
      read_to_end(vector, read_way);
    });
    EXPECT_EQ(problem.kind(), error_kind::io);
    EXPECT_NE(std::string(problem.what()).find("disk"), std::string::npos) << problem.what();
  }
}

TEST(external_vector_failure, failing_disks_are_reported) {
  for (const uint64_t nth : {1U, 2U, 3U, 10U, 40U}) {
    expect_failure_of(io::direction::write, nth, io::injected_fault::effect::fail, EIO);
    expect_failure_of(io::direction::read, nth, io::injected_fault::effect::fail, EIO);
    expect_failure_of(io::direction::read, nth, io::injected_fault::effect::shorten, 100);
    expect_failure_of(io::direction::read, nth, io::injected_fault::effect::flip_bit, 1000 * nth);
    expect_failure_of(io::direction::write, nth, io::injected_fault::effect::flip_bit, 999 * nth);
  }
}

TEST(external_vector_failure, a_reader_that_failed_fails_again) {
  const std::vector<io::injected_fault> faults{{io::direction::read, 5, 1, io::injected_fault::effect::fail, EIO}};
  scratch_rig rig({}, std::make_unique<io::faulty_backend>(io::make_memory_backend(), faults));
  external_vector vector(number_type(), rig.blocks(), rig.pool(), {});
  fill(vector, numbers(rig, 20'000));
  const auto reader = vector.read(0);
  counting_waker w;
  const batch* front = nullptr;
  EXPECT_EQ(error_of([&] {
              while (reader->front(front, w).is_ready()) reader->pop();
            }).kind(),
            error_kind::io);
  EXPECT_EQ(error_of([&] { (void)reader->front(front, w); }).kind(), error_kind::io);
  read_to_end(vector, external_vector::direction::forward);  // another one may have more luck
}

TEST(external_vector_failure, a_row_beyond_any_block_is_the_datas_fault) {
  const row_type type = record::type_of({{"s", "string"}});
  scratch_rig rig;
  const record::string_ref endless{0, 3'000'000'000U};
  std::byte row[sizeof endless];
  std::memcpy(row, &endless, sizeof endless);
  for (const uint64_t memory : {uint64_t{0}, uint64_t{1} << 40}) {
    external_vector vector(type, rig.blocks(), rig.pool(), {.memory_bytes = memory});
    batch b;
    b.rows = row;
    b.num_rows = 1;
    b.row_bytes = type.row_bytes();
    b.heap_bytes = endless.length;
    counting_waker w;
    EXPECT_EQ(error_of([&] { (void)vector.push(b, w); }).kind(), error_kind::bad_data);
  }
}

}  // namespace
}  // namespace flowrun::container
