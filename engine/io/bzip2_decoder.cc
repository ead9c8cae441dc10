// bzip2 with libbz2.
#include <bzlib.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <new>

#include "engine/io/member_decoder.h"

namespace flowrun::io {

namespace {

// What the manual of libbz2 says: four bytes for each of a block's, and its own state.
constexpr uint64_t state_bytes = 100 * 1024;
uint64_t bytes_of_level(uint64_t level) { return state_bytes + 4 * 100'000 * level; }

class bzip2_decoder final : public member_decoder {
 public:
  explicit bzip2_decoder(uint64_t memory_bytes) : memory_bytes_(memory_bytes) { start(); }
  ~bzip2_decoder() override { BZ2_bzDecompressEnd(&stream_); }
  bzip2_decoder(const bzip2_decoder&) = delete;
  bzip2_decoder& operator=(const bzip2_decoder&) = delete;

  void begin() override {
    BZ2_bzDecompressEnd(&stream_);
    start();
  }

  decoded_step decode(std::span<const std::byte> from, std::span<std::byte> to) override {
    constexpr size_t most = std::numeric_limits<int32_t>::max();
    const auto in = static_cast<unsigned>(std::min(from.size(), most));
    const auto room = static_cast<unsigned>(std::min(to.size(), most));
    // (It does not write there.)
    stream_.next_in = const_cast<char*>(reinterpret_cast<const char*>(from.data()));
    stream_.avail_in = in;
    stream_.next_out = reinterpret_cast<char*>(to.data());
    stream_.avail_out = room;
    const int status = BZ2_bzDecompress(&stream_);
    switch (status) {
      case BZ_OK:
      case BZ_STREAM_END: break;
      case BZ_DATA_ERROR_MAGIC: throw decoding_error("the header of a bzip2 stream was expected");
      case BZ_MEM_ERROR: throw decoding_error("its blocks are too large for the memory", bytes_of_level(9));
      default: throw decoding_error("a block has another checksum than was noted, or codes that make no sense");
    }
    return {in - stream_.avail_in, room - stream_.avail_out, status == BZ_STREAM_END};
  }

 private:
  void start() {
    used_ = 0;
    stream_ = {};
    stream_.opaque = this;
    stream_.bzalloc = [](void* self, int count, int size) -> void* {
      auto& d = *static_cast<bzip2_decoder*>(self);
      const uint64_t num_bytes = static_cast<uint64_t>(count) * static_cast<uint64_t>(size);
      if (d.used_ + num_bytes > d.memory_bytes_) return nullptr;
      d.used_ += num_bytes;
      return std::malloc(num_bytes);
    };
    stream_.bzfree = [](void*, void* memory) { std::free(memory); };
    if (BZ2_bzDecompressInit(&stream_, 0, 0) != BZ_OK)
      throw decoding_error("its decoder is too large for the memory", bytes_of_level(9));
  }

  const uint64_t memory_bytes_;
  uint64_t used_ = 0;  // of this member; it gives all back at its end
  bz_stream stream_ = {};
};

}  // namespace

std::unique_ptr<member_decoder> make_bzip2_decoder(uint64_t memory_bytes) {
  return std::make_unique<bzip2_decoder>(memory_bytes);
}

uint64_t bzip2_decoder_bytes(std::span<const std::byte> beginning) {
  const char level = beginning.size() > 3 ? static_cast<char>(beginning[3]) : '9';
  return bytes_of_level(level >= '1' && level <= '9' ? static_cast<uint64_t>(level - '0') : 9);
}

}  // namespace flowrun::io
