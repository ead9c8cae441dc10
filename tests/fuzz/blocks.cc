// Blocks of scratch, as they are read back. The last bytes of an input choose what is done with the rest.
//
// What holds: any bytes are refused with the disk and the offset, unless they are the block that is expected; a sealed
// block is, and isn't any more once one bit has changed; what a codec has coded comes back; and of sealed content that
// no codec has made, nothing comes that doesn't fit a block.
#include <cstring>
#include <string>
#include <vector>

#include "engine/base/buffer.h"
#include "engine/base/error.h"
#include "engine/block/block_format.h"
#include "engine/runs/block_codec.h"
#include "engine/runs/compressed_blocks.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/property.h"
#include "tests/fuzz/target.h"

namespace flowrun::fuzz {

namespace {

using bytes = std::vector<std::byte>;

constexpr uint32_t block_bytes = 8192;
constexpr uint32_t payload_bytes = block_bytes - block::block_header_bytes;
constexpr block::block_place place{3, 4, 0, "/scratch/disk", 65536};

bytes bytes_of(std::string_view text) {
  const auto* const from = reinterpret_cast<const std::byte*>(text.data());
  return {from, from + text.size()};
}

bool is_expected(const bytes& block, std::string_view told = {}) {
  try {
    const block::block_header found = block::verify(block.data(), static_cast<uint32_t>(block.size()), place);
    must_hold(found.stream == place.stream && found.index == place.index && found.generation == place.generation &&
                  found.block_bytes == block.size() && found.magic == block::block_magic,
              "a block of run {} was taken for that of run {}", found.stream, place.stream);
    return true;
  } catch (const error& refused) {
    const std::string_view what = refused.what();
    must_hold(refused.kind() == error_kind::io && what.find("/scratch/disk at offset 65536") != what.npos &&
                  what.find(told) != what.npos,
              "a block is refused: {}", what);
    return false;
  }
}

// Any bytes in a block's place.
void look_at_any(std::string_view text) {
  const bytes block = bytes_of(text);
  // Nothing but a header can't be one; to hit the checksum by chance takes 2^64 tries.
  must_hold(!is_expected(block), "{} bytes were taken for a block", block.size());
}

// What a header says is stored and found; one bit of the block isn't what it was.
void look_at_sealed(input& in) {
  block::block_header fields;
  fields.flags = in.byte();
  fields.num_rows = static_cast<uint32_t>(in.number());
  fields.rows_bytes = static_cast<uint32_t>(in.number() % (payload_bytes + 1));
  fields.heap_bytes = payload_bytes - fields.rows_bytes;
  const bool right_place = in.flag();
  fields.stream = right_place ? place.stream : in.number();
  fields.index = place.index;
  const size_t bit = in.number() % (size_t{8} * block_bytes);
  bytes block(block_bytes);
  const std::string_view content = in.take(payload_bytes);
  if (!content.empty()) std::memcpy(block::payload_of(block.data()), content.data(), content.size());
  block::seal(block.data(), block_bytes, fields);
  must_hold(
      is_expected(block, fields.stream == place.stream ? "" : "in the wrong place") == (fields.stream == place.stream),
      "a block of run {}", fields.stream);
  block[bit / 8] ^= std::byte{1} << bit % 8;
  must_hold(!is_expected(block), "bit {} was changed, and nobody noticed", bit);
}

runs::block_coding coding_of(input& in) {
  const size_t how = in.below(3);
  if (how == 0) return {runs::compression::delta, 1 + static_cast<uint32_t>(in.below(16))};
  return {how == 1 ? runs::compression::lz4 : runs::compression::zstd};
}

// A piece there and back; and bytes that only look like one.
void look_at_codec(input& in) {
  const runs::block_coding coding = coding_of(in);
  const auto codec = runs::make_block_codec(coding);
  const size_t multiple = coding.word_bytes > 0 ? coding.word_bytes : 1;
  const size_t num_decoded = (1 + in.number() % 3000) / multiple * multiple;
  bytes piece = bytes_of(in.rest().substr(0, in.rest().size() / multiple * multiple));
  if (!piece.empty()) {
    bytes coded(piece.size() + 200);
    coded.resize(codec->encode(piece, coded));
    if (!coded.empty()) {
      bytes again(piece.size());
      must_hold(codec->decode(coded, again), "{} coded bytes can't be decoded", coded.size());
      must_hold(again == piece, "{} bytes come back as others", piece.size());
    }
  }
  bytes any(num_decoded);
  codec->decode(bytes_of(in.rest()), any);
}

block::prefetched_block prefetched(const std::shared_ptr<bytes>& memory) {
  const auto num_bytes = static_cast<uint32_t>(memory->size());
  block::block_header header = block::verify(memory->data(), num_bytes, place);
  return {memory, memory->data(), header};
}

void look_at_decoded(const block::prefetched_block& block) {
  if (!block) return;
  const block::block_header& h = block.header();
  must_hold(h.block_bytes > 0 && h.block_bytes <= block_bytes, "a decoded block has {} bytes", h.block_bytes);
  must_hold(uint64_t{h.rows_bytes} + h.heap_bytes <= block.payload_bytes(), "a decoded block has {} and {} bytes of {}",
            h.rows_bytes, h.heap_bytes, block.payload_bytes());
  uint64_t sum = 0;
  for (uint32_t i = 0; i < h.rows_bytes; ++i) sum += std::to_integer<uint64_t>(block.payload()[i]);
  for (uint32_t i = 0; i < h.heap_bytes; ++i)
    sum += std::to_integer<uint64_t>(block.payload()[block.payload_bytes() - 1 - i]);
  must_hold(sum < ~uint64_t{0}, "bytes add up to {}", sum);
}

// A sealed block whose payload is anything.
void look_at_compressed(input& in) {
  const runs::block_coding coding = coding_of(in);
  runs::block_decoder decoder(coding, block_bytes, 1, 0);
  block::block_header fields;
  fields.stream = place.stream;
  fields.index = place.index;
  fields.flags = in.flag() ? static_cast<uint32_t>(coding.how) : in.byte();
  const auto stored = std::make_shared<bytes>(4096 + (in.flag() ? 4096 : 0));
  const auto most = static_cast<uint32_t>(stored->size() - block::block_header_bytes);
  fields.rows_bytes = static_cast<uint32_t>(in.number() % (most + 1));
  fields.heap_bytes = in.flag() ? 0 : most - fields.rows_bytes;
  const std::string_view content = in.take(most);
  if (!content.empty()) std::memcpy(block::payload_of(stored->data()), content.data(), content.size());
  block::seal(stored->data(), static_cast<uint32_t>(stored->size()), fields);
  look_at_decoded(decoder.decode(prefetched(stored)));
}

// A whole block there and back.
void look_at_coded_block(input& in) {
  const runs::block_coding coding = coding_of(in);
  const size_t multiple = coding.word_bytes > 0 ? coding.word_bytes : 1;
  runs::block_encoder encoder(coding, block_bytes);
  runs::block_decoder decoder(coding, block_bytes, 1, 0);
  block::block_header header;
  header.stream = place.stream;
  header.index = place.index;
  header.rows_bytes = static_cast<uint32_t>(in.number() % (payload_bytes + 1) / multiple * multiple);
  header.heap_bytes =
      static_cast<uint32_t>(in.number() % (payload_bytes - header.rows_bytes + 1) / multiple * multiple);
  const block::block_header filled = header;
  bytes payload(payload_bytes, std::byte{0x5A});
  const std::string_view content = in.take(payload_bytes);
  for (size_t i = 0; i < payload.size() && !content.empty(); ++i)
    payload[i] = static_cast<std::byte>(content[i % content.size()]);
  std::memcpy(encoder.payload(), payload.data(), payload.size());
  const auto stored = std::make_shared<bytes>(block_bytes);
  const uint32_t num_bytes = encoder.encode(header, stored->data());
  block::seal(stored->data(), num_bytes, header);
  stored->resize(num_bytes);
  stored->shrink_to_fit();
  const block::prefetched_block out = decoder.decode(prefetched(stored));
  must_hold(static_cast<bool>(out), "a coded block of {} bytes can't be decoded", num_bytes);
  must_hold(out.header().rows_bytes == filled.rows_bytes && out.header().heap_bytes == filled.heap_bytes &&
                out.num_bytes() == block_bytes,
            "a coded block has {} and {} bytes", out.header().rows_bytes, out.header().heap_bytes);
  must_hold(std::memcmp(out.payload(), payload.data(), filled.rows_bytes) == 0, "rows come back as others");
  must_hold(std::memcmp(out.payload() + payload_bytes - filled.heap_bytes,
                        payload.data() + payload_bytes - filled.heap_bytes, filled.heap_bytes) == 0,
            "strings come back as others");
}

}  // namespace

void try_input(std::string_view text) {
  input in(text);
  switch (in.below(5)) {
    case 0: return look_at_any(in.rest());
    case 1: return look_at_sealed(in);
    case 2: return look_at_codec(in);
    case 3: return look_at_compressed(in);
    default: return look_at_coded_block(in);
  }
}

}  // namespace flowrun::fuzz
