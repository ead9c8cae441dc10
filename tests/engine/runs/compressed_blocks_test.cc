// Blocks made shorter and back, by every codec; and blocks that only look like it.
#include "engine/runs/compressed_blocks.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "engine/record/key.h"

namespace flowrun::runs {
namespace {

constexpr uint32_t block_bytes = 64 * 1024;
constexpr uint32_t payload_bytes = block_bytes - 64;

using bytes = std::vector<std::byte>;

enum class content { text, noise, zeros, ascending };

bytes make(content what, size_t num_bytes, uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  bytes out(num_bytes);
  uint64_t last = random() >> 8;
  for (size_t i = 0; i < num_bytes; ++i) {
    switch (what) {
      case content::text: out[i] = static_cast<std::byte>("etaoin sr"[random() % 9]); break;
      case content::noise: out[i] = static_cast<std::byte>(random()); break;
      case content::zeros: break;
      case content::ascending:
        if (i % 8 == 0) last += random() % 1000;
        out[i] = static_cast<std::byte>(last >> (i % 8 * 8));
    }
  }
  return out;
}

std::vector<block_coding> codings() { return {{compression::delta, 8}, {compression::lz4}, {compression::zstd}}; }

std::shared_ptr<aligned_buffer> new_block() { return std::make_shared<aligned_buffer>(block_bytes); }

// What a prefetcher would hand out.
block::prefetched_block stored_block(const std::shared_ptr<aligned_buffer>& memory, block::block_header header,
                                     uint32_t num_bytes) {
  header.block_bytes = num_bytes;
  return {memory, memory->data(), header};
}

struct filled_block {
  bytes rows;
  bytes heap;
};

// Encodes a block and returns it as it is stored.
block::prefetched_block encode(block_encoder& encoder, const filled_block& in) {
  std::memset(encoder.payload(), 0xEE, payload_bytes);
  std::copy(in.rows.begin(), in.rows.end(), encoder.payload());
  std::copy(in.heap.begin(), in.heap.end(), encoder.payload() + payload_bytes - in.heap.size());
  block::block_header header;
  header.stream = 3;
  header.index = 4;
  header.num_rows = 5;
  header.rows_bytes = static_cast<uint32_t>(in.rows.size());
  header.heap_bytes = static_cast<uint32_t>(in.heap.size());
  const auto memory = new_block();
  const uint32_t num_bytes = encoder.encode(header, memory->data());
  EXPECT_EQ(num_bytes % io_alignment, 0U);
  EXPECT_LE(num_bytes, block_bytes);
  block::seal(memory->data(), num_bytes, header);  // throws when the header doesn't fit the length
  std::memset(memory->data() + num_bytes, 0xDD, block_bytes - num_bytes);
  return stored_block(memory, header, num_bytes);
}

void expect_decoded(block_decoder& decoder, const block::prefetched_block& stored, const filled_block& in) {
  const block::prefetched_block out = decoder.decode(stored);
  ASSERT_TRUE(out);
  EXPECT_EQ(out.num_bytes(), block_bytes);
  EXPECT_EQ(out.header().stream, 3U);
  EXPECT_EQ(out.header().index, 4U);
  EXPECT_EQ(out.header().num_rows, 5U);
  EXPECT_EQ(out.header().rows_bytes, in.rows.size());
  EXPECT_EQ(out.header().heap_bytes, in.heap.size());
  EXPECT_TRUE(std::equal(in.rows.begin(), in.rows.end(), out.payload()));
  EXPECT_TRUE(std::equal(in.heap.begin(), in.heap.end(), out.payload() + out.payload_bytes() - in.heap.size()));
}

TEST(compressed_blocks, come_back_whatever_they_hold) {
  for (const block_coding& coding : codings()) {
    block_encoder encoder(coding, block_bytes);
    block_decoder decoder(coding, block_bytes, 1, 0);
    for (const content rows : {content::text, content::noise, content::zeros, content::ascending}) {
      for (const size_t num_bytes : {size_t{8}, size_t{800}, size_t{40'000}, size_t{payload_bytes}}) {
        const filled_block in{make(rows, num_bytes), {}};
        expect_decoded(decoder, encode(encoder, in), in);
      }
    }
  }
}

TEST(compressed_blocks, rows_and_strings_are_coded_apart) {
  for (const block_coding& coding : codings()) {
    if (coding.how == compression::delta) continue;  // rows without strings only
    block_encoder encoder(coding, block_bytes);
    block_decoder decoder(coding, block_bytes, 2, 0);
    for (const content rows : {content::text, content::noise}) {
      for (const content heap : {content::text, content::noise}) {
        for (const size_t heap_bytes : {size_t{1}, size_t{15'000}, payload_bytes - size_t{20'000}}) {
          const filled_block in{make(rows, 20'000), make(heap, heap_bytes, 2)};
          const block::prefetched_block stored = encode(encoder, in);
          expect_decoded(decoder, stored, in);
          if (rows == content::text && heap == content::text) {
            EXPECT_LT(stored.num_bytes(), (20'000 + heap_bytes) * 3 / 4 + 2 * io_alignment);
          }
          // What isn't there takes no space, even where nothing gets shorter.
          EXPECT_LE(stored.num_bytes(), std::min<size_t>(block_bytes, 20'000 + heap_bytes + 2 * io_alignment));
        }
      }
    }
  }
}

TEST(compressed_blocks, full_of_noise_are_stored_as_they_are) {
  for (const block_coding& coding : codings()) {
    block_encoder encoder(coding, block_bytes);
    const block::prefetched_block stored = encode(encoder, {make(content::noise, payload_bytes), {}});
    EXPECT_EQ(stored.num_bytes(), block_bytes);
    EXPECT_EQ(stored.header().flags, 0U);
  }
}

TEST(compressed_blocks, of_one_page_are_stored_as_they_are) {
  for (const block_coding& coding : codings()) {
    block_encoder encoder(coding, io_alignment);
    std::memset(encoder.payload(), 7, io_alignment - 64);
    block::block_header header;
    header.rows_bytes = 8;
    const auto memory = new_block();
    EXPECT_EQ(encoder.encode(header, memory->data()), io_alignment);
    EXPECT_EQ(header.flags, 0U);
  }
}

TEST(compressed_blocks, more_than_planned_may_be_held_and_outlive_the_decoder) {
  std::vector<block::prefetched_block> held;
  std::vector<filled_block> in;
  {
    block_encoder encoder({compression::lz4}, block_bytes);
    block_decoder decoder({compression::lz4}, block_bytes, 2, 4);
    for (uint64_t i = 0; i < 6; ++i) {
      in.push_back({make(content::text, 30'000, i), {}});
      held.push_back(decoder.decode(encode(encoder, in.back())));
    }
    const std::byte* freed = held[1].data();
    held[1].reset();
    held[1] = decoder.decode(encode(encoder, in[1]));
    EXPECT_EQ(held[1].data(), freed);  // a buffer goes round
  }
  for (size_t i = 0; i < held.size(); ++i)
    EXPECT_TRUE(std::equal(in[i].rows.begin(), in[i].rows.end(), held[i].payload()));
}

// One of those that were planned comes back, then one of those beyond them.
TEST(compressed_blocks, are_waited_for_where_all_that_may_be_held_are) {
  struct counting_waker final : waker {
    void wake() noexcept override { ++count; }
    int count = 0;
  } woken;
  block_encoder encoder({compression::lz4}, block_bytes);
  block_decoder decoder({compression::lz4}, block_bytes, 1, 1);
  const block::prefetched_block stored = encode(encoder, {make(content::text, 30'000), {}});
  std::vector<block::prefetched_block> held(2);
  for (block::prefetched_block& one : held) {
    EXPECT_TRUE(decoder.has_room(&woken));
    one = decoder.decode(stored);
  }
  for (block::prefetched_block& one : held) {
    const int before = woken.count;
    EXPECT_FALSE(decoder.has_room(&woken));
    EXPECT_FALSE(decoder.has_room(&woken));
    one.reset();
    EXPECT_EQ(woken.count, before + 1);
    EXPECT_TRUE(decoder.has_room(&woken));
    one = decoder.decode(stored);
  }
  EXPECT_FALSE(decoder.has_room(&woken));
  held.clear();
  EXPECT_EQ(woken.count, 3);
}

TEST(compressed_blocks, of_another_coding_or_length_are_refused) {
  block_encoder encoder({compression::lz4}, block_bytes);
  const block::prefetched_block stored = encode(encoder, {make(content::text, 40'000), {}});
  block_decoder same({compression::lz4}, block_bytes, 1, 0), other({compression::zstd}, block_bytes, 1, 0),
      shorter({compression::lz4}, block_bytes / 2, 1, 0);
  EXPECT_TRUE(same.decode(stored));
  EXPECT_FALSE(other.decode(stored));
  EXPECT_FALSE(shorter.decode(stored));
  const block::prefetched_block whole = encode(encoder, {make(content::noise, payload_bytes), {}});
  EXPECT_FALSE(shorter.decode(whole));
}

// Sealed or not, no content may do harm: each part of a stored block is turned to anything.
TEST(compressed_blocks, survive_any_content) {
  std::mt19937_64 random(7);
  for (const block_coding& coding : codings()) {
    block_encoder encoder(coding, block_bytes);
    block_decoder decoder(coding, block_bytes, 1, 0);
    const bool strings = coding.how != compression::delta;
    const filled_block in{make(strings ? content::text : content::ascending, 16'000),
                          strings ? make(content::text, 9'000) : bytes{}};
    const block::prefetched_block good = encode(encoder, in);
    ASSERT_NE(good.header().flags, 0U);
    int num_refused = 0;
    for (int round = 0; round < 3000; ++round) {
      const auto memory = new_block();
      std::memcpy(memory->data(), good.data(), good.num_bytes());
      block::block_header header = good.header();
      // The lengths in front of the pieces, the pieces, or the header.
      const uint64_t where = random() % 3;
      if (where == 0) {
        uint32_t length = 0;
        std::byte* at = memory->data() + 64 + random() % 5 * sizeof length;
        std::memcpy(&length, at, sizeof length);
        length = static_cast<uint32_t>(random() % 2 == 0 ? random() : length + random() % 17 - 8);
        std::memcpy(at, &length, sizeof length);
      } else if (where == 1) {
        for (int i = 0; i < 3; ++i)
          memory->data()[88 + random() % (header.rows_bytes - 24)] = static_cast<std::byte>(random());
      } else {
        header.rows_bytes = static_cast<uint32_t>(random() % 2 == 0 ? random() : header.rows_bytes - random() % 40);
      }
      num_refused += decoder.decode(stored_block(memory, header, good.num_bytes())) ? 0 : 1;
    }
    EXPECT_GT(num_refused, 1000);
    expect_decoded(decoder, good, in);  // the decoder is as it was
  }
}

}  // namespace
}  // namespace flowrun::runs
