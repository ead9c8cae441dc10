#include "engine/io/decoder.h"

#include <bzlib.h>
#include <gmock/gmock.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <random>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/io/backends.h"
#include "engine/io/decoded_stream.h"
#include "engine/io/file_reader.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"

namespace flowrun::io {
namespace {

using testing::HasSubstr;

constexpr encoding all_encodings[] = {encoding::gzip, encoding::zstd, encoding::bzip2, encoding::xz};
constexpr uint64_t much = 256 * MiB;

// Words and numbers, so that it becomes shorter, and repetitions lie far apart.
std::string text_of(size_t num_bytes, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::string out;
  while (out.size() < num_bytes) out += fmt::format("row {} of {},{}\n", random() % 1000, random() % 7, random());
  out.resize(num_bytes);
  return out;
}

// `name`: a long one makes a long header.
std::string gzipped(const std::string& text, std::string name = {}) {
  z_stream s{};
  deflateInit2(&s, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  gz_header header{};
  header.name = reinterpret_cast<Bytef*>(name.data());
  header.hcrc = 1;
  if (!name.empty()) deflateSetHeader(&s, &header);
  std::string out(deflateBound(&s, text.size()) + name.size() + 64, '\0');
  s.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  s.avail_in = static_cast<uInt>(text.size());
  s.next_out = reinterpret_cast<Bytef*>(out.data());
  s.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&s, Z_FINISH), Z_STREAM_END);
  out.resize(s.total_out);
  deflateEnd(&s);
  return out;
}

// `window_log` 0: as the level has it.
std::string zstd_compressed(const std::string& text, int window_log = 0) {
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, window_log);
  std::string out(ZSTD_compressBound(text.size()) + 64, '\0');
  // As a stream, whose length is not known at its beginning, so that it has a window.
  ZSTD_outBuffer to = {out.data(), out.size(), 0};
  ZSTD_inBuffer from = {text.data(), text.size(), 0};
  EXPECT_FALSE(ZSTD_isError(ZSTD_compressStream2(context, &to, &from, ZSTD_e_continue)));
  EXPECT_EQ(ZSTD_compressStream2(context, &to, &from, ZSTD_e_end), 0U);
  ZSTD_freeCCtx(context);
  out.resize(to.pos);
  return out;
}

std::string bzip2_compressed(const std::string& text) {
  std::string out(text.size() * 2 + 1000, '\0');
  auto length = static_cast<unsigned>(out.size());
  EXPECT_EQ(BZ2_bzBuffToBuffCompress(out.data(), &length, const_cast<char*>(text.data()),
                                     static_cast<unsigned>(text.size()), 1, 0, 0),
            BZ_OK);
  out.resize(length);
  return out;
}

std::string xz_compressed(const std::string& text, unsigned level = 1) {
  std::string out(lzma_stream_buffer_bound(text.size()), '\0');
  size_t length = 0;
  EXPECT_EQ(lzma_easy_buffer_encode(level, LZMA_CHECK_CRC64, nullptr, reinterpret_cast<const uint8_t*>(text.data()),
                                    text.size(), reinterpret_cast<uint8_t*>(out.data()), &length, out.size()),
            LZMA_OK);
  out.resize(length);
  return out;
}

std::string compressed(encoding how, const std::string& text) {
  switch (how) {
    case encoding::gzip: return gzipped(text);
    case encoding::zstd: return zstd_compressed(text);
    case encoding::bzip2: return bzip2_compressed(text);
    case encoding::xz: return xz_compressed(text);
    case encoding::plain: break;
  }
  return text;
}

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

// All of it, fed in pieces of `step` bytes and taken in pieces of `room`.
std::string decoded(encoding how, std::string_view content, size_t step = SIZE_MAX, size_t room = 1000,
                    uint64_t memory_bytes = much) {
  decoder d(how, memory_bytes);
  std::string out;
  std::string buffer(room, '\0');
  for (std::string_view rest = content;;) {
    std::string_view piece = rest.substr(0, step);
    rest.remove_prefix(piece.size());
    for (bool goes_on = true; goes_on;) {
      const decoder::step made = d.decode(bytes_of(piece), std::as_writable_bytes(std::span(buffer)));
      piece.remove_prefix(made.taken);
      out.append(buffer, 0, made.made);
      goes_on = made.taken > 0 || made.made > 0;
    }
    EXPECT_TRUE(piece.empty());
    if (rest.empty()) break;
  }
  d.finish();
  EXPECT_EQ(d.num_taken(), content.size());
  EXPECT_EQ(d.num_made(), out.size());
  return out;
}

std::string refusal(encoding how, std::string_view content, uint64_t memory_bytes = much, size_t step = SIZE_MAX) {
  try {
    decoded(how, content, step, 64 * KiB, memory_bytes);
  } catch (const decoding_error& e) {
    return e.what();
  }
  return {};
}

class each_encoding : public testing::TestWithParam<encoding> {};
INSTANTIATE_TEST_SUITE_P(encodings, each_encoding, testing::ValuesIn(all_encodings),
                         [](const auto& one) { return name_of(one.param); });

TEST_P(each_encoding, gives_the_text_in_pieces_of_any_size) {
  for (const size_t length : {0, 1, 5, 70'000, 300'000}) {
    const std::string text = text_of(length);
    const std::string content = compressed(GetParam(), text);
    EXPECT_EQ(recognise(bytes_of(content)), GetParam());
    for (const size_t step : {size_t{1}, size_t{7}, size_t{4096}, SIZE_MAX})
      for (const size_t room : {1, 333, 65536})
        if (length < 1000 || step > 1 || room > 1) {
          EXPECT_EQ(decoded(GetParam(), content, step, room), text) << length;
        }
  }
}

TEST_P(each_encoding, members_are_one_text) {
  const std::string a = text_of(20'000, 1), b = text_of(9, 2), c = text_of(150'000, 3);
  const std::string content =
      compressed(GetParam(), a) + compressed(GetParam(), "") + compressed(GetParam(), b) + compressed(GetParam(), c);
  for (const size_t step : {size_t{1}, size_t{100}, SIZE_MAX}) EXPECT_EQ(decoded(GetParam(), content, step), a + b + c);
}

TEST_P(each_encoding, says_where_it_was_cut_off) {
  const std::string text = text_of(2'000);
  const std::string content = compressed(GetParam(), text);
  for (size_t length = 0; length < content.size(); ++length) {
    SCOPED_TRACE(length);
    EXPECT_THAT(refusal(GetParam(), content.substr(0, length)), HasSubstr("too early"));
    // The same of a second member, but where nothing of it is left.
    if (length > 0) {
      EXPECT_THAT(refusal(GetParam(), content + content.substr(0, length)), HasSubstr("too early"));
    }
  }
}

// Bits that say nothing of the text may be others: the time and the system in a gzip header.
TEST_P(each_encoding, never_gives_another_text) {
  const std::string text = text_of(600);
  const std::string content = compressed(GetParam(), text);
  size_t refused = 0;
  for (size_t bit = 0; bit < content.size() * 8; ++bit) {
    std::string damaged = content;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    try {
      EXPECT_EQ(decoded(GetParam(), damaged), text) << "bit " << bit;
    } catch (const decoding_error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, content.size() * 8 * 3 / 4);
}

TEST_P(each_encoding, any_bytes_behind_the_header_end) {
  std::mt19937 random(5);
  const std::string header = compressed(GetParam(), text_of(5'000)).substr(0, 24);
  for (int round = 0; round < 300; ++round) {
    std::string content = header;
    for (size_t i = random() % 2000; i > 0; --i) content += static_cast<char>(random());
    EXPECT_NE(refusal(GetParam(), content), "");
  }
}

TEST_P(each_encoding, what_follows_must_be_a_member) {
  const std::string content = compressed(GetParam(), text_of(100));
  EXPECT_THAT(refusal(GetParam(), content + "more"), HasSubstr("behind the end"));
  EXPECT_NE(refusal(GetParam(), content + content.substr(0, 1) + "more"), "");
}

TEST(padding, zeros_behind_gzip_and_xz) {
  const std::string text = text_of(1000);
  for (const size_t step : {size_t{1}, SIZE_MAX}) {
    EXPECT_EQ(decoded(encoding::gzip, gzipped(text) + std::string(1001, '\0'), step), text);
    EXPECT_EQ(decoded(encoding::xz, xz_compressed(text) + std::string(8, '\0') + xz_compressed("x"), step), text + "x");
  }
  EXPECT_THAT(refusal(encoding::gzip, gzipped(text) + std::string(3, '\0') + gzipped("x")),
              HasSubstr("behind the end"));
  EXPECT_THAT(refusal(encoding::xz, xz_compressed(text) + std::string(7, '\0')), HasSubstr("multiple of four"));
  EXPECT_THAT(refusal(encoding::xz, xz_compressed(text) + std::string(7, '\0') + xz_compressed(text)),
              HasSubstr("behind the end"));
  EXPECT_THAT(refusal(encoding::bzip2, bzip2_compressed(text) + std::string(4, '\0')), HasSubstr("behind the end"));
}

TEST(gzip, a_long_name_and_a_checksum_of_the_header) {
  const std::string text = text_of(1000);
  const std::string content = gzipped(text, std::string(5000, 'n'));
  for (const size_t step : {size_t{1}, size_t{300}, SIZE_MAX}) EXPECT_EQ(decoded(encoding::gzip, content, step), text);
  std::string other = content;
  other[100] = 'm';
  EXPECT_NE(refusal(encoding::gzip, other), "");
}

TEST(zstd, skippable_frames_are_skipped) {
  const std::string text = text_of(1000);
  const std::string skipped = std::string("\x5a\x2a\x4d\x18\x05\0\0\0", 8) + "12345";
  const std::string content = skipped + zstd_compressed(text) + skipped + zstd_compressed("x") + skipped;
  EXPECT_EQ(recognise(bytes_of(content)), encoding::zstd);
  for (const size_t step : {size_t{1}, SIZE_MAX}) EXPECT_EQ(decoded(encoding::zstd, content, step), text + "x");
}

// A frame of libzstd, of `size` bytes of text as its header says, whose one block is empty.
std::string empty_zstd_frame(uint16_t size, char block) {
  const auto declared = static_cast<uint16_t>(size - 256);
  return std::string("\x28\xb5\x2f\xfd\x40\x50", 6) + static_cast<char>(declared & 0xff) +
         static_cast<char>(declared >> 8) + block + std::string(2, '\0');
}

TEST(zstd, a_frame_has_the_size_that_its_header_says) {
  constexpr char raw = 1, compressed = 5;
  for (const size_t step : {size_t{1}, size_t{7}, SIZE_MAX})
    for (const char block : {raw, compressed})
      EXPECT_THAT(refusal(encoding::zstd, zstd_compressed("x") + empty_zstd_frame(6477, block), much, step),
                  HasSubstr("a frame should have 6477 bytes of text, as its header says, and has 0"));
}

TEST(recognise, only_what_is_sure) {
  for (const std::string& plain :
       {std::string(), std::string("\x1f"), std::string("\x1f\x8b"), std::string("BZh9"), std::string("BZh9 is a text"),
        std::string("1,2\n"), std::string("\x1f\x8b\x07\0", 4), std::string("\x1f\x8b\x08\xe0", 4),
        std::string("\xfd\x37\x7a\x58\x5a\x01", 6)})
    EXPECT_EQ(recognise(bytes_of(plain)), encoding::plain);
}

// What a header says is enough, and half of it is not.
TEST(decoder_bytes, is_what_decoding_takes) {
  const std::string text = text_of(3'000'000);
  for (const auto& [how, content] :
       {std::pair{encoding::zstd, zstd_compressed(text, 23)}, std::pair{encoding::zstd, zstd_compressed(text, 20)},
        std::pair{encoding::bzip2, bzip2_compressed(text)}, std::pair{encoding::xz, xz_compressed(text, 6)},
        std::pair{encoding::xz, xz_compressed(text, 1)}}) {
    const uint64_t needed = decoder_bytes(how, bytes_of(content).subspan(0, header_bytes));
    EXPECT_EQ(decoded(how, content, SIZE_MAX, 64 * KiB, needed), text);
    try {
      decoded(how, content, SIZE_MAX, 64 * KiB, needed / 2);
      ADD_FAILURE() << name_of(how) << " with half of " << needed;
    } catch (const decoding_error& e) {
      EXPECT_GT(e.wanted_bytes(), needed / 2);
    }
  }
  EXPECT_GE(decoder_bytes(encoding::zstd, bytes_of(zstd_compressed(text, 23))), 8 * MiB);
  EXPECT_LE(decoder_bytes(encoding::gzip, bytes_of(gzipped(text))), 128 * KiB);
}

TEST(text_beginning, of_plain_and_compressed_files) {
  const temporary_directory home;
  const std::string text = text_of(900'000);
  for (const encoding how : {encoding::plain, encoding::gzip, encoding::zstd, encoding::bzip2, encoding::xz}) {
    const std::string path = home.write("file", compressed(how, text));
    EXPECT_EQ(is_compressed(path), how != encoding::plain);
    for (const size_t most : {5, 100'000, 900'000, 2'000'000}) {
      const decoded_text beginning = text_beginning(path, most);
      EXPECT_EQ(beginning.text, text.substr(0, most));
      EXPECT_EQ(beginning.whole, most > text.size());
    }
    const std::string cut = home.write("cut", compressed(how, text).substr(0, 30'000));
    EXPECT_EQ(text_beginning(cut, 2'000'000).whole, how == encoding::plain);
  }
}

class decoding_reader : public testing::Test {
 protected:
  // All chunks of [begin, end) of the file's text.
  std::string read(const std::string& path, uint64_t memory_bytes = much, uint64_t origin = 0, uint64_t begin = 0,
                   uint64_t end = UINT64_MAX) {
    file_reader reader(
        *io, path,
        {.chunk_bytes = 64 * KiB, .depth = 2, .max_held = 2, .decoding = decoding_options{memory_bytes, origin}}, begin,
        end);
    blocking_waker waker;
    std::string out;
    file_bytes = 0;
    for (;;) {
      chunk c;
      const outcome o = reader.next(c, &waker);
      if (o.is_done()) return out;
      if (o.is_blocked()) {
        waker.wait();
        continue;
      }
      out.append(reinterpret_cast<const char*>(c.data), c.num_bytes);
      file_bytes += c.file_bytes;
    }
  }
  temporary_directory home;
  std::unique_ptr<backend> io = make_backend(backend_kind::threads, 2);
  uint64_t file_bytes = 0;
};

TEST_F(decoding_reader, reads_files_and_parts_of_them) {
  const std::string text = text_of(700'001);
  for (const encoding how : {encoding::plain, encoding::gzip, encoding::zstd, encoding::bzip2, encoding::xz}) {
    const std::string content = compressed(how, text);
    const std::string path = home.write("in", content), behind = home.write("behind", "other" + content);
    EXPECT_EQ(read(path), text) << name_of(how);
    EXPECT_EQ(file_bytes, content.size());
    EXPECT_EQ(read(path, much, 0, 100'000, 300'000), text.substr(100'000, 200'000));
    EXPECT_EQ(read(behind, much, 5, 1, 100), text.substr(1, 99));
    EXPECT_EQ(read(behind).substr(0, 5), "other");
  }
}

TEST_F(decoding_reader, says_file_and_place_of_damage) {
  const std::string content = gzipped(text_of(300'000));
  std::string damaged = content;
  damaged[content.size() - 6] ^= 1;
  const std::string path = home.write("in.gz", damaged);
  const error wrong = error_of([&] { read(path); });
  EXPECT_EQ(wrong.kind(), error_kind::bad_data);
  EXPECT_THAT(wrong.what(), HasSubstr(path + ": its gzip data is damaged at byte "));
  EXPECT_THAT(wrong.what(), HasSubstr("another checksum"));
  home.write("in.gz", content.substr(0, 1000));
  const error cut = error_of([&] { read(path); });
  EXPECT_EQ(cut.kind(), error_kind::bad_data);
  EXPECT_THAT(cut.what(), HasSubstr("is cut off at byte 1000 of the file, in what begins at byte 0"));
}

TEST_F(decoding_reader, says_what_memory_a_window_takes) {
  const std::string path = home.write("in.zst", zstd_compressed(text_of(200'000), 24));
  const error small = error_of([&] { read(path, 4 * MiB); });
  EXPECT_EQ(small.kind(), error_kind::resources);
  EXPECT_THAT(small.what(), HasSubstr("decoding it takes 16"));
  EXPECT_EQ(read(path, 18 * MiB), text_of(200'000));
}

TEST_F(decoding_reader, can_be_left_at_any_time) {
  const std::string path = home.write("in", xz_compressed(text_of(3'000'000)));
  for (int rounds = 0; rounds < 20; ++rounds) {
    file_reader reader(*io, path, {.chunk_bytes = 16 * KiB, .decoding = decoding_options{much}});
    blocking_waker waker;
    chunk held;
    if (rounds % 2 == 0 && reader.next(held, &waker).is_blocked()) waker.wait();
  }
}

TEST(divided_memory, is_all_that_there_is_and_not_more) {
  for (const uint64_t memory : {1 * MiB, 3 * MiB, 20 * MiB, 200 * MiB})
    for (const uint64_t decoder : {96 * KiB, 4 * MiB, 150 * MiB}) {
      const decoding_memory file = divide_for_file(memory, 1 * MiB, 16, decoder);
      const uint64_t buffers = 16 * file.chunk_bytes + decoding_memory::input_buffers * file.input_bytes;
      EXPECT_LE(buffers, memory);
      EXPECT_EQ(file.decoder_bytes, memory - buffers);
      if (memory >= 16 * 64 * KiB + least_decoding_bytes(decoder)) {
        EXPECT_GE(file.decoder_bytes, decoder);
      }
      const decoding_memory pipe = divide_for_pipe(memory, 1 * MiB, 16);
      EXPECT_LE(16 * pipe.chunk_bytes + pipe.input_bytes + pipe.decoder_bytes, memory);
      EXPECT_GE(pipe.decoder_bytes, memory / 4);
    }
}

}  // namespace
}  // namespace flowrun::io
