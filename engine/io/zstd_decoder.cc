// Zstandard (RFC 8878) with libzstd. Skippable frames are members without text.
#define ZSTD_STATIC_LINKING_ONLY  // what a header says, how large a window may be, and what memory one takes
#include <fmt/format.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <array>
#include <optional>

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

// The first bytes of a frame, as they come, and what they say.
class frame_beginning {
 public:
  bool is_whole() const { return whole_; }
  std::span<const std::byte> bytes() const { return std::span(bytes_).first(num_); }
  // Of the text; nothing where the header doesn't tell.
  std::optional<uint64_t> text_bytes() const { return text_bytes_; }

  void add(std::byte next) {
    bytes_[num_++] = next;
    ZSTD_frameHeader header;
    const size_t missing = ZSTD_getFrameHeader(&header, bytes_.data(), num_);
    whole_ = missing == 0 || num_ == bytes_.size();
    if (missing == 0 && header.frameType == ZSTD_frame && header.frameContentSize != ZSTD_CONTENTSIZE_UNKNOWN)
      text_bytes_ = header.frameContentSize;
  }

 private:
  std::array<std::byte, ZSTD_FRAMEHEADERSIZE_MAX> bytes_{};
  size_t num_ = 0;
  bool whole_ = false;
  std::optional<uint64_t> text_bytes_;
};

class zstd_decoder final : public member_decoder {
 public:
  explicit zstd_decoder(uint64_t memory_bytes) : context_(ZSTD_createDCtx()) {
    if (context_ == nullptr) throw std::bad_alloc();
    const uint64_t beside = ZSTD_estimateDStreamSize(least_window);
    const uint64_t left = memory_bytes - std::min(memory_bytes, beside);
    ZSTD_DCtx_setMaxWindowSize(context_.get(), std::clamp(left, least_window, largest_window));
  }

  void begin() override {  // a frame follows the one before
    beginning_ = {};
    num_made_ = 0;
  }

  // libzstd takes a frame that lies there whole in one step, and is stricter then than with one that comes in pieces.
  // So the header comes by bytes, and no frame lies there whole.
  decoded_step decode(std::span<const std::byte> from, std::span<std::byte> to) override {
    if (!beginning_.is_whole() && !from.empty()) {
      from = from.first(1);
      beginning_.add(from.front());
    }
    ZSTD_inBuffer in = {from.data(), from.size(), 0};
    ZSTD_outBuffer out = {to.data(), to.size(), 0};
    const size_t status = ZSTD_decompressStream(context_.get(), &out, &in);
    if (ZSTD_isError(status)) {
      if (ZSTD_getErrorCode(status) == ZSTD_error_frameParameter_windowTooLarge)
        throw decoding_error("its window is too large for the memory", zstd_decoder_bytes(beginning_.bytes()));
      throw decoding_error(ZSTD_getErrorName(status));
    }
    num_made_ += out.pos;
    const bool ended = status == 0;
    if (ended) check_size();
    return {in.pos, out.pos, ended};
  }

 private:
  struct free_context {
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  };
  // libzstd doesn't look at it where the last block is empty.
  void check_size() const {
    const std::optional<uint64_t> declared = beginning_.text_bytes();
    if (declared.has_value() && *declared != num_made_)
      throw decoding_error(
          fmt::format("a frame should have {} bytes of text, as its header says, and has {}", *declared, num_made_));
  }

  std::unique_ptr<ZSTD_DCtx, free_context> context_;
  frame_beginning beginning_;
  uint64_t num_made_ = 0;  // bytes of the frame's text
};

}  // namespace

std::unique_ptr<member_decoder> make_zstd_decoder(uint64_t memory_bytes) {
  return std::make_unique<zstd_decoder>(memory_bytes);
}

uint64_t zstd_decoder_bytes(std::span<const std::byte> beginning) {
  return ZSTD_estimateDStreamSize(window_in(beginning));
}

}  // namespace flowrun::io
