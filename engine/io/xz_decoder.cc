// xz with liblzma.
#include <lzma.h>

#include <algorithm>
#include <array>

#include "engine/io/member_decoder.h"

namespace flowrun::io {

namespace {

constexpr uint64_t usual_bytes = 9 << 20;  // of level 6, which is what xz(1) takes

class xz_decoder final : public member_decoder {
 public:
  explicit xz_decoder(uint64_t memory_bytes) : memory_bytes_(std::max<uint64_t>(memory_bytes, 1)) {
    xz_decoder::begin();
  }
  ~xz_decoder() override { lzma_end(&stream_); }
  xz_decoder(const xz_decoder&) = delete;
  xz_decoder& operator=(const xz_decoder&) = delete;

  void begin() override {
    if (lzma_stream_decoder(&stream_, memory_bytes_, LZMA_TELL_UNSUPPORTED_CHECK) != LZMA_OK) throw std::bad_alloc();
  }

  decoded_step decode(std::span<const std::byte> from, std::span<std::byte> to) override {
    stream_.next_in = reinterpret_cast<const uint8_t*>(from.data());
    stream_.avail_in = from.size();
    stream_.next_out = reinterpret_cast<uint8_t*>(to.data());
    stream_.avail_out = to.size();
    const lzma_ret status = lzma_code(&stream_, LZMA_RUN);
    switch (status) {
      case LZMA_OK:
      case LZMA_STREAM_END:
      case LZMA_BUF_ERROR: break;  // without progress
      case LZMA_MEM_ERROR: throw std::bad_alloc();
      case LZMA_MEMLIMIT_ERROR:
        throw decoding_error("its dictionary is too large for the memory", lzma_memusage(&stream_));
      case LZMA_FORMAT_ERROR: throw decoding_error("the header of an xz stream was expected");
      case LZMA_UNSUPPORTED_CHECK: throw decoding_error("its checksum is of an unknown kind");
      case LZMA_OPTIONS_ERROR: throw decoding_error("it needs a filter or an option that is not known");
      default:
        throw decoding_error("a block has another checksum or length than was noted, or codes that make no sense");
    }
    return {from.size() - stream_.avail_in, to.size() - stream_.avail_out, status == LZMA_STREAM_END};
  }

 private:
  const uint64_t memory_bytes_;
  lzma_stream stream_ = LZMA_STREAM_INIT;
};

}  // namespace

std::unique_ptr<member_decoder> make_xz_decoder(uint64_t memory_bytes) {
  return std::make_unique<xz_decoder>(memory_bytes);
}

// The header of the first block says it, and the library, which is given next to none, what that comes to.
uint64_t xz_decoder_bytes(std::span<const std::byte> beginning) {
  std::array<std::byte, 1> out;
  try {
    xz_decoder least(1);
    decoded_step step;
    do {
      step = least.decode(beginning, out);
      beginning = beginning.subspan(step.taken);
    } while (step.taken > 0 && !step.ended);
  } catch (const decoding_error& refused) {
    if (refused.wanted_bytes() > 0) return refused.wanted_bytes();
  }
  return usual_bytes;
}

}  // namespace flowrun::io
