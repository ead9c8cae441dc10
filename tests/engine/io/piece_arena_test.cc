// Pieces for many files come out file by file, in the order in which they came, and none is lost.
#include "engine/io/piece_arena.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

namespace flowrun::io {
namespace {

std::span<const std::byte> bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

TEST(piece_arena, gives_back_what_it_took) {
  std::mt19937 random(7);
  for (const size_t capacity : {0U, 60U, 1000U, 100000U}) {
    piece_arena arena(capacity);
    for (int round = 0; round < 20; ++round) {
      std::map<uint32_t, std::string> expected, found;
      for (;;) {
        const auto file = static_cast<uint32_t>(random() % 5);
        std::string text(random() % 40, '\0');
        for (char& c : text) c = static_cast<char>(random());
        const size_t taken = arena.add(file, bytes(text));
        expected[file] += text.substr(0, taken);
        if (taken < text.size()) break;
      }
      EXPECT_FALSE(arena.empty());
      arena.sort();
      uint32_t before = 0;
      for (size_t i = 0; i < arena.num_pieces(); ++i) {
        const piece_arena::piece next = arena.at(i);
        EXPECT_GE(next.file, before);
        before = next.file;
        found[next.file].append(reinterpret_cast<const char*>(next.bytes.data()), next.bytes.size());
      }
      std::erase_if(expected, [](const auto& e) { return e.second.empty(); });
      EXPECT_EQ(found, expected);
      arena.clear();
      EXPECT_TRUE(arena.empty());
    }
  }
}

TEST(piece_arena, what_comes_for_one_file_is_one_piece) {
  piece_arena arena(1000);
  for (int i = 0; i < 90; ++i) EXPECT_EQ(arena.add(3, bytes("0123456789")), 10U);
  EXPECT_EQ(arena.num_pieces(), 1U);
  EXPECT_EQ(arena.at(0).bytes.size(), 900U);
}

}  // namespace
}  // namespace flowrun::io
