// The codecs: our own differences, and the libraries lz4 and zstd, whose working memory is kept from block to block
// (16 KiB and less than 1 MiB; of zstd's decoder 160 KiB).
#include "engine/runs/block_codec.h"

#include <lz4.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <vector>

#include "engine/base/error.h"
#include "engine/runs/delta_codec.h"

namespace flowrun::runs {

namespace {

class words_codec final : public block_codec {
 public:
  explicit words_codec(uint32_t word_bytes) : word_bytes_(word_bytes) {}
  size_t encode(std::span<const std::byte> piece, std::span<std::byte> coded) override {
    return encode_deltas(piece, word_bytes_, coded);
  }
  bool decode(std::span<const std::byte> coded, std::span<std::byte> piece) override {
    return piece.size() % word_bytes_ == 0 && decode_deltas(coded, word_bytes_, piece);
  }

 private:
  const uint32_t word_bytes_;
};

class lz4_codec final : public block_codec {
 public:
  size_t encode(std::span<const std::byte> piece, std::span<std::byte> coded) override {
    if (piece.size() > LZ4_MAX_INPUT_SIZE) return 0;
    if (state_.empty()) state_.resize((static_cast<size_t>(LZ4_sizeofState()) + 7) / 8);
    constexpr int acceleration = 1;
    const int num_bytes = LZ4_compress_fast_extState(
        state_.data(), reinterpret_cast<const char*>(piece.data()), reinterpret_cast<char*>(coded.data()),
        static_cast<int>(piece.size()), static_cast<int>(coded.size()), acceleration);
    return static_cast<size_t>(num_bytes);
  }
  bool decode(std::span<const std::byte> coded, std::span<std::byte> piece) override {
    if (coded.size() > LZ4_MAX_INPUT_SIZE || piece.size() > LZ4_MAX_INPUT_SIZE) return false;
    const int num_bytes =
        LZ4_decompress_safe(reinterpret_cast<const char*>(coded.data()), reinterpret_cast<char*>(piece.data()),
                            static_cast<int>(coded.size()), static_cast<int>(piece.size()));
    return num_bytes >= 0 && static_cast<size_t>(num_bytes) == piece.size();
  }

 private:
  std::vector<uint64_t> state_;
};

class zstd_codec final : public block_codec {
 public:
  size_t encode(std::span<const std::byte> piece, std::span<std::byte> coded) override {
    if (!encoder_) encoder_.reset(ZSTD_createCCtx());
    if (!encoder_) no_memory();
    constexpr int level = 1;
    const size_t num_bytes =
        ZSTD_compressCCtx(encoder_.get(), coded.data(), coded.size(), piece.data(), piece.size(), level);
    if (!ZSTD_isError(num_bytes)) return num_bytes;
    if (ZSTD_getErrorCode(num_bytes) == ZSTD_error_memory_allocation) no_memory();
    return 0;
  }
  bool decode(std::span<const std::byte> coded, std::span<std::byte> piece) override {
    if (!decoder_) decoder_.reset(ZSTD_createDCtx());
    if (!decoder_) no_memory();
    const size_t num_bytes =
        ZSTD_decompressDCtx(decoder_.get(), piece.data(), piece.size(), coded.data(), coded.size());
    return num_bytes == piece.size();
  }

 private:
  [[noreturn]] static void no_memory() {
    throw error(error_kind::resources, "out of memory for compressing blocks", "lower the memory budget (-m)");
  }
  struct deleter {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  };
  std::unique_ptr<ZSTD_CCtx, deleter> encoder_;
  std::unique_ptr<ZSTD_DCtx, deleter> decoder_;
};

}  // namespace

std::unique_ptr<block_codec> make_block_codec(const block_coding& coding) {
  switch (coding.how) {
    case compression::delta: return std::make_unique<words_codec>(coding.word_bytes);
    case compression::lz4: return std::make_unique<lz4_codec>();
    case compression::zstd: return std::make_unique<zstd_codec>();
    case compression::none: break;
  }
  internal_error("no codec for blocks that aren't compressed");
}

}  // namespace flowrun::runs
