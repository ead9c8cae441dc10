#include "engine/io/encoder.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "engine/base/units.h"
#include "engine/io/decoder.h"

namespace flowrun::io {
namespace {

constexpr encoding all_encodings[] = {encoding::gzip, encoding::zstd, encoding::bzip2, encoding::xz};

std::vector<std::byte> encoded(encoder& with, encoding how, const std::string& text) {
  std::vector<std::byte> out(most_encoded_bytes(how, text.size()));
  out.resize(with.encode(std::as_bytes(std::span(text)), out));
  return out;
}

std::string decoded(encoding how, const std::vector<std::byte>& content) {
  decoder from(how, 64 * MiB);
  std::string out;
  std::vector<std::byte> piece(1 * MiB);
  for (size_t taken = 0;;) {
    const decoder::step step = from.decode(std::span(content).subspan(taken), piece);
    if (step.taken == 0 && step.made == 0) break;
    taken += step.taken;
    out.append(reinterpret_cast<const char*>(piece.data()), step.made);
  }
  from.finish();
  return out;
}

std::vector<std::string> texts(size_t piece_bytes) {
  std::mt19937_64 random(1);
  std::string words, noise;
  while (words.size() < piece_bytes) words += "row " + std::to_string(random() % 1000) + "\n";
  words.resize(piece_bytes);
  while (noise.size() < piece_bytes) noise += static_cast<char>(random() & 255);
  return {"", "a", std::string(piece_bytes, 'z'), words, noise};
}

// Members of one encoder, of long texts before short ones, too.
TEST(encoder, members_are_decoded_as_one_text) {
  for (const encoding how : all_encodings) {
    const std::unique_ptr<encoder> with = make_encoder(how);
    std::vector<std::byte> all;
    std::string expected;
    for (int turn = 0; turn < 2; ++turn) {
      for (const std::string& text : texts(encoded_piece_bytes(how))) {
        const std::vector<std::byte> member = encoded(*with, how, text);
        EXPECT_EQ(recognise(member), how);
        EXPECT_EQ(decoded(how, member), text);
        all.insert(all.end(), member.begin(), member.end());
        expected += text;
      }
    }
    EXPECT_EQ(decoded(how, all), expected);
  }
}

TEST(encoder, what_comes_out_depends_on_the_text_alone) {
  for (const encoding how : all_encodings) {
    const std::unique_ptr<encoder> used = make_encoder(how);
    for (const std::string& text : texts(encoded_piece_bytes(how)))
      EXPECT_EQ(encoded(*used, how, text), encoded(*make_encoder(how), how, text)) << name_of(how);
  }
}

// A piece is decoded with a window of its own size, within what decoding takes by its header.
TEST(encoder, its_members_ask_for_little_memory) {
  for (const encoding how : all_encodings) {
    const std::vector<std::byte> member = encoded(*make_encoder(how), how, texts(encoded_piece_bytes(how)).back());
    EXPECT_LE(decoder_bytes(how, std::span(member).first(std::min(member.size(), header_bytes))), 4 * MiB);
    EXPECT_LE(encoder_bytes(how), 16 * MiB);
  }
}

TEST(encoder, names_say_how) {
  EXPECT_EQ(encoding_of_name("out/a.csv.gz"), encoding::gzip);
  EXPECT_EQ(encoding_of_name("a.zst"), encoding::zstd);
  EXPECT_EQ(encoding_of_name("a.bz2"), encoding::bzip2);
  EXPECT_EQ(encoding_of_name("a.xz"), encoding::xz);
  for (const char* plain : {"a.csv", "-", "gz", "a.gz.csv", "a.GZ", ""})
    EXPECT_EQ(encoding_of_name(plain), encoding::plain);
}

}  // namespace
}  // namespace flowrun::io
