#include "engine/io/faulty_backend.h"

#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "engine/io/file.h"
#include "tests/support/byte_files.h"

namespace flowrun::io {
namespace {

using effect = injected_fault::effect;

struct fixture {
  explicit fixture(std::vector<injected_fault> faults) : io(make_backend(backend_kind::memory), std::move(faults)) {}
  size_t transfer(direction way, uint64_t offset, std::byte* data, size_t num_bytes) {
    request r;
    r.target = memory.get();
    r.way = way;
    r.offset = offset;
    r.data = data;
    r.num_bytes = num_bytes;
    io.submit(r);
    return r.take_result();
  }
  std::unique_ptr<file> memory = file::in_memory("m");
  faulty_backend io;
};

TEST(faulty_backend, fails_the_nth_of_its_direction) {
  fixture f({{.way = direction::write, .nth = 2, .num_requests = 2, .what = effect::fail, .value = ENOSPC}});
  std::byte data[4]{};
  EXPECT_EQ(f.transfer(direction::write, 0, data, 4), 4U);
  EXPECT_EQ(f.transfer(direction::read, 0, data, 4), 4U);
  for (int i = 0; i < 2; ++i) EXPECT_THROW(f.transfer(direction::write, 0, data, 4), error);
  EXPECT_EQ(f.transfer(direction::write, 0, data, 4), 4U);
  EXPECT_EQ(f.io.num_hit(), 2U);
  EXPECT_EQ(f.io.num_submitted(direction::write), 4U);
  EXPECT_EQ(f.io.num_submitted(direction::read), 1U);
}

TEST(faulty_backend, shortens) {
  fixture f({{.way = direction::write, .nth = 1, .what = effect::shorten, .value = 3},
             {.way = direction::read, .nth = 2, .what = effect::shorten, .value = 2}});
  auto data = random_bytes(8);
  EXPECT_EQ(f.transfer(direction::write, 0, data.data(), 8), 3U);
  EXPECT_EQ(f.memory->num_bytes(), 3U);
  std::vector<std::byte> back(8);
  EXPECT_EQ(f.transfer(direction::read, 0, back.data(), 8), 3U);
  std::fill(back.begin(), back.end(), std::byte{0});
  EXPECT_EQ(f.transfer(direction::read, 0, back.data(), 8), 2U);
  EXPECT_EQ(back[1], data[1]);
  EXPECT_EQ(back[2], std::byte{0});
}

TEST(faulty_backend, flips_one_bit_and_says_nothing) {
  fixture f({{.way = direction::read, .nth = 2, .what = effect::flip_bit, .value = 8 * 5 + 3},
             {.way = direction::write, .nth = 2, .what = effect::flip_bit, .value = 0}});
  const auto content = random_bytes(8);
  auto data = content;
  std::vector<std::byte> back(8);
  f.transfer(direction::write, 0, data.data(), 8);
  EXPECT_EQ(f.transfer(direction::read, 0, back.data(), 8), 8U);
  EXPECT_EQ(back, content);
  EXPECT_EQ(f.transfer(direction::read, 0, back.data(), 8), 8U);
  auto flipped = content;
  flipped[5] ^= std::byte{8};
  EXPECT_EQ(back, flipped);
  EXPECT_EQ(f.transfer(direction::write, 0, data.data(), 8), 8U);
  EXPECT_EQ(data, content) << "the writer's own data must stay";
  f.transfer(direction::read, 0, back.data(), 8);
  flipped = content;
  flipped[0] ^= std::byte{1};
  EXPECT_EQ(back, flipped);
}

}  // namespace
}  // namespace flowrun::io
