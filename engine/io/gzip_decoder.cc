// gzip (RFC 1952) with ISA-L, whose streaming decoder takes the least time of those that Debian has.
#include <isa-l/igzip_lib.h>

#include <algorithm>
#include <limits>

#include "engine/io/member_decoder.h"

namespace flowrun::io {

namespace {

std::string cause_of(int status) {
  switch (status) {
    case ISAL_INVALID_BLOCK: return "a block of an unknown kind, or with codes that make no sense";
    case ISAL_INVALID_SYMBOL: return "a code that stands for nothing";
    case ISAL_INVALID_LOOKBACK: return "a reference to before the beginning of the text";
    case ISAL_INVALID_WRAPPER: return "the header of a gzip member was expected";
    case ISAL_UNSUPPORTED_METHOD: return "its method is not deflate, or its header has flags that don't exist";
    case ISAL_INCORRECT_CHECKSUM:
      return "the text has another checksum or length than was noted when it was compressed";
    case ISAL_NEED_DICT: return "it needs a dictionary";
    default: return "it can't be decoded";
  }
}

class gzip_decoder final : public member_decoder {
 public:
  gzip_decoder() {
    isal_inflate_init(&state_);
    gzip_decoder::begin();
  }

  void begin() override {
    isal_inflate_reset(&state_);
    state_.crc_flag = ISAL_GZIP_NO_HDR_VER;
    isal_gzip_header_init(&header_);
    in_header_ = true;
  }

  decoded_step decode(std::span<const std::byte> from, std::span<std::byte> to) override {
    constexpr size_t most = std::numeric_limits<int32_t>::max();
    const auto in = static_cast<uint32_t>(std::min(from.size(), most));
    const auto room = static_cast<uint32_t>(std::min(to.size(), most));
    // (It does not write there.)
    state_.next_in = const_cast<uint8_t*>(reinterpret_cast<const uint8_t*>(from.data()));
    state_.avail_in = in;
    state_.next_out = reinterpret_cast<uint8_t*>(to.data());
    state_.avail_out = room;
    // The library could read the header as part of the text, but then forgets the header's checksum from piece to
    // piece.
    if (in_header_) in_header_ = checked(isal_read_gzip_header(&state_, &header_)) != ISAL_DECOMP_OK;
    if (in_header_) return {in - state_.avail_in, 0, false};
    checked(isal_inflate(&state_));
    return {in - state_.avail_in, room - state_.avail_out, state_.block_state == ISAL_BLOCK_FINISH};
  }

 private:
  // ISAL_END_INPUT is no error: more is to come.
  static int checked(int status) {
    if (status < 0 || status == ISAL_NEED_DICT) throw decoding_error(cause_of(status));
    return status;
  }

  inflate_state state_;
  isal_gzip_header header_;  // none of its fields is kept
  bool in_header_ = true;
};

}  // namespace

std::unique_ptr<member_decoder> make_gzip_decoder() { return std::make_unique<gzip_decoder>(); }

uint64_t gzip_decoder_bytes() { return sizeof(gzip_decoder); }

}  // namespace flowrun::io
