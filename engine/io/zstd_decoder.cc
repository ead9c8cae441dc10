// Zstandard (RFC 8878) with libzstd. Skippable frames are members without text.
#define ZSTD_STATIC_LINKING_ONLY  // how large a window may be, and what memory one takes
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>

#include "engine/io/member_decoder.h"

namespace flowrun::io {

namespace {

constexpr uint64_t usual_window = 8 << 20;  // what every decoder should support, says the RFC
constexpr uint64_t least_window = 1 << 10;
constexpr uint64_t largest_window = (uint64_t{1} << ZSTD_WINDOWLOG_MAX);

uint64_t window_in(std::span<const std::byte> beginning) {
  ZSTD_frameHeader header;
  if (ZSTD_getFrameHeader(&header, beginning.data(), beginning.size()) != 0) return usual_window;
  if (header.frameType == ZSTD_skippableFrame) return usual_window;
  return std::clamp<uint64_t>(header.windowSize, least_window, largest_window);
}

class zstd_decoder final : public member_decoder {
 public:
  explicit zstd_decoder(uint64_t memory_bytes) : context_(ZSTD_createDCtx()) {
    if (context_ == nullptr) throw std::bad_alloc();
    const uint64_t beside = ZSTD_estimateDStreamSize(least_window);
    most_ = std::clamp(memory_bytes - std::min(memory_bytes, beside), least_window, largest_window);
    ZSTD_DCtx_setMaxWindowSize(context_.get(), most_);
  }

  void begin() override {}  // a frame follows the one before

  decoded_step decode(std::span<const std::byte> from, std::span<std::byte> to) override {
    ZSTD_inBuffer in = {from.data(), from.size(), 0};
    ZSTD_outBuffer out = {to.data(), to.size(), 0};
    const size_t status = ZSTD_decompressStream(context_.get(), &out, &in);
    if (ZSTD_isError(status)) {
      if (ZSTD_getErrorCode(status) == ZSTD_error_frameParameter_windowTooLarge) {
        // The header may have come in pieces, so that it isn't here any more.
        const uint64_t wanted = zstd_decoder_bytes(from);
        throw decoding_error("its window is too large for the memory", wanted > most_ ? wanted : 1);
      }
      throw decoding_error(ZSTD_getErrorName(status));
    }
    return {in.pos, out.pos, status == 0};
  }

 private:
  struct free_context {
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  };
  std::unique_ptr<ZSTD_DCtx, free_context> context_;
  uint64_t most_ = 0;
};

}  // namespace

std::unique_ptr<member_decoder> make_zstd_decoder(uint64_t memory_bytes) {
  return std::make_unique<zstd_decoder>(memory_bytes);
}

uint64_t zstd_decoder_bytes(std::span<const std::byte> beginning) {
  return ZSTD_estimateDStreamSize(window_in(beginning));
}

}  // namespace flowrun::io
