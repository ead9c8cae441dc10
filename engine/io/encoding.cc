#include "engine/io/encoding.h"

#include <algorithm>
#include <string_view>

#include "engine/io/member_decoder.h"

namespace flowrun::io {

namespace {

using namespace std::string_view_literals;

// A method other than deflate doesn't exist, and the upper three flags must be zero (RFC 1952). So fewer rows of
// numbers look like gzip by chance.
bool is_gzip(std::string_view text) {
  return text.size() >= 4 && text.starts_with("\x1f\x8b\x08"sv) && (static_cast<unsigned char>(text[3]) & 0xe0) == 0;
}

bool is_zstd(std::string_view text) {
  if (text.starts_with("\x28\xb5\x2f\xfd"sv)) return true;
  // A skippable frame, with which parallel compressors begin.
  return text.size() >= 4 && (static_cast<unsigned char>(text[0]) & 0xf0) == 0x50 &&
         text.substr(1, 3) == "\x2a\x4d\x18"sv;
}

// "BZh9" alone could be the beginning of a text. A block follows, or the end of an empty stream.
bool is_bzip2(std::string_view text) {
  return text.size() >= 10 && text.starts_with("BZh"sv) && text[3] >= '1' && text[3] <= '9' &&
         (text.substr(4, 6) == "\x31\x41\x59\x26\x53\x59"sv || text.substr(4, 6) == "\x17\x72\x45\x38\x50\x90"sv);
}

bool is_xz(std::string_view text) { return text.starts_with("\xfd\x37\x7a\x58\x5a\x00"sv); }

}  // namespace

const char* name_of(encoding content) {
  switch (content) {
    case encoding::gzip: return "gzip";
    case encoding::zstd: return "zstd";
    case encoding::bzip2: return "bzip2";
    case encoding::xz: return "xz";
    case encoding::plain: break;
  }
  return "plain";
}

encoding recognise(std::span<const std::byte> beginning) {
  const std::string_view text(reinterpret_cast<const char*>(beginning.data()),
                              std::min(beginning.size(), telling_bytes));
  if (is_gzip(text)) return encoding::gzip;
  if (is_zstd(text)) return encoding::zstd;
  if (is_bzip2(text)) return encoding::bzip2;
  if (is_xz(text)) return encoding::xz;
  return encoding::plain;
}

uint64_t decoder_bytes(encoding content, std::span<const std::byte> beginning) {
  switch (content) {
    case encoding::gzip: return gzip_decoder_bytes();
    case encoding::zstd: return zstd_decoder_bytes(beginning);
    case encoding::bzip2: return bzip2_decoder_bytes(beginning);
    case encoding::xz: return xz_decoder_bytes(beginning);
    case encoding::plain: break;
  }
  return 0;
}

}  // namespace flowrun::io
