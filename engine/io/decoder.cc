#include "engine/io/decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <utility>
#include <vector>

#include "engine/base/units.h"

namespace flowrun::io {

namespace {

constexpr size_t piece_bytes = 64 * KiB;

std::unique_ptr<member_decoder> make_member_decoder(encoding content, uint64_t memory_bytes) {
  switch (content) {
    case encoding::zstd: return make_zstd_decoder(memory_bytes);
    case encoding::bzip2: return make_bzip2_decoder(memory_bytes);
    case encoding::xz: return make_xz_decoder(memory_bytes);
    case encoding::gzip:
    case encoding::plain: break;
  }
  return make_gzip_decoder();
}

bool may_be_padded(encoding content) { return content == encoding::gzip || content == encoding::xz; }

// Of a member of that format.
bool may_begin(encoding content, std::byte first) {
  const auto byte = static_cast<unsigned char>(first);
  switch (content) {
    case encoding::gzip: return byte == 0x1f;
    case encoding::zstd: return byte == 0x28 || (byte & 0xf0) == 0x50;
    case encoding::bzip2: return byte == 'B';
    case encoding::xz: return byte == 0xfd;
    case encoding::plain: break;
  }
  return false;
}

}  // namespace

decoder::decoder(encoding content, uint64_t memory_bytes) : content_(content), memory_bytes_(memory_bytes) {}

// Zeros behind a member. What follows them must be another xz stream, and nothing at all in gzip.
size_t decoder::skip_padding(std::span<const std::byte> from) {
  if (!may_be_padded(content_)) return 0;
  const auto end = std::find_if(from.begin(), from.end(), [](std::byte b) { return b != std::byte{0}; });
  const auto num = static_cast<size_t>(end - from.begin());
  num_padding_ += num;
  num_taken_ += num;
  return num;
}

decoder::step decoder::decode(std::span<const std::byte> from, std::span<std::byte> to) {
  if (member_ == nullptr) member_ = make_member_decoder(content_, memory_bytes_);
  step out;
  while (!to.empty()) {
    if (!within_) {
      const size_t padding = skip_padding(from);
      out.taken += padding;
      from = from.subspan(padding);
      if (from.empty()) break;
      const bool padded = num_padding_ > 0 && (content_ == encoding::gzip || num_padding_ % 4 != 0);
      if (padded || !may_begin(content_, from.front()))
        throw decoding_error(
            fmt::format("it goes on behind the end of its {} data, with bytes that are none", name_of(content_)));
      member_->begin();
      member_begin_ = num_taken_;
      num_padding_ = 0;
      within_ = true;
    }
    const decoded_step made = member_->decode(from, to);
    from = from.subspan(made.taken);
    to = to.subspan(made.made);
    out.taken += made.taken;
    out.made += made.made;
    num_taken_ += made.taken;
    num_made_ += made.made;
    if (made.ended) {
      within_ = false;
    } else if (made.taken == 0 && made.made == 0) {
      break;
    }
  }
  return out;
}

void decoder::finish() const {
  if (within_) throw decoding_error("it ends too early: its last bytes are missing");
  if (content_ == encoding::xz && num_padding_ % 4 != 0)
    throw decoding_error("the zeros at its end are not a multiple of four");
}

decoded_text decoded_beginning(encoding content, std::span<const std::byte> beginning, size_t most_bytes) {
  constexpr uint64_t most_memory = 1 * GiB;
  decoded_text out;
  try {
    decoder decode(content, most_memory);
    while (out.text.size() < most_bytes) {
      std::string piece(std::min(piece_bytes, most_bytes - out.text.size()), '\0');
      const decoder::step made = decode.decode(beginning, std::as_writable_bytes(std::span(piece)));
      out.text.append(piece, 0, made.made);
      out.num_taken += made.taken;
      beginning = beginning.subspan(made.taken);
      if (made.taken > 0 || made.made > 0) continue;
      decode.finish();
      out.whole = true;
      break;
    }
  } catch (const decoding_error&) {  // the run says so
  }
  return out;
}

decoded_text text_beginning(const std::string& path, size_t most_bytes) {
  constexpr size_t most_content = 16 * MiB;  // there may be much that stands for little text, or for none
  std::ifstream in(path, std::ios::binary);
  const auto read = [&in](size_t num_bytes) {
    std::string piece(num_bytes, '\0');
    in.read(piece.data(), static_cast<std::streamsize>(num_bytes));
    piece.resize(static_cast<size_t>(std::max<std::streamsize>(in.gcount(), 0)));
    return piece;
  };
  std::string content = read(std::max(std::min(most_bytes, piece_bytes), telling_bytes));
  const encoding how = recognise(std::as_bytes(std::span(content)));
  if (how == encoding::plain) {
    if (content.size() < most_bytes && in) content += read(most_bytes - content.size());
    const bool whole = content.size() < most_bytes;
    content.resize(std::min(content.size(), most_bytes));
    return {content, content.size(), whole};
  }
  for (;;) {
    decoded_text out = decoded_beginning(how, std::as_bytes(std::span(content)), most_bytes);
    const bool all_read = !in;
    out.whole = out.whole && all_read;
    if (out.text.size() == most_bytes || all_read || content.size() >= most_content) return out;
    content += read(content.size());
  }
}

bool is_compressed(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::array<char, telling_bytes> first{};
  in.read(first.data(), first.size());
  const auto num = static_cast<size_t>(std::max<std::streamsize>(in.gcount(), 0));
  return recognise(std::as_bytes(std::span(first.data(), num))) != encoding::plain;
}

}  // namespace flowrun::io
