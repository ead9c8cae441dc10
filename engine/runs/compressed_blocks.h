// The form of a compressed block, and the buffers that blocks are made longer in again.
//
//   filled   │ header │ rows          gap          strings │        block_bytes, as the merge sees it
//   stored   │ header │ lengths │ rows │ strings │·              as short as whole pages allow
//
// Rows and strings are coded apart, each stored as it is where coding doesn't make it shorter; the gap between them is
// not stored at all. A block that wouldn't become a page shorter is stored as it was, whole. The header's flags say
// which (compression::none: as it was). The checksum covers what is stored; that what is decoded fits the block is
// checked again, so that no content of a block, sealed or not, can do harm.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "engine/base/buffer.h"
#include "engine/base/waker.h"
#include "engine/block/block_format.h"
#include "engine/block/prefetched_block.h"
#include "engine/runs/block_codec.h"

namespace flowrun::runs {

// One block is filled at a time, then coded. One thread at a time.
class block_encoder {
 public:
  block_encoder(const block_coding& coding, uint32_t block_bytes);

  // Where the payload is put.
  std::byte* payload() { return block::payload_of(filled_.data()); }
  // Writes the payload behind the header of `to`, which has block_bytes. Takes the header of the payload as it was
  // filled, and makes it that of the stored block. The stored block's length, a multiple of io_alignment.
  uint32_t encode(block::block_header& header, std::byte* to);

 private:
  const compression how_;
  const uint32_t block_bytes_;
  const std::unique_ptr<block_codec> codec_;
  aligned_buffer filled_;
};

// Owns the decoded blocks' buffers. One thread at a time decodes; blocks may be let go on any thread, also after the
// decoder is gone.
class block_decoder {
 public:
  // Room for `num_blocks` decoded blocks at a time of up to `block_bytes`. Up to `more_blocks` beyond those, while they
  // last, are allocated one by one.
  block_decoder(const block_coding& coding, uint32_t block_bytes, size_t num_blocks, size_t more_blocks);
  ~block_decoder();

  // Whether there is room for one more; else `w` (may be null) will be woken once a block was let go, if the decoder
  // lives until then.
  bool has_room(waker* w);
  // Only where there is room. The block as it was filled; empty when `stored` isn't a block of this coding and length.
  block::prefetched_block decode(const block::prefetched_block& stored);

 private:
  struct buffers;
  bool decode_into(const block::prefetched_block& stored, std::byte* to, block::block_header& header);

  const compression how_;
  const uint32_t block_bytes_;
  const std::unique_ptr<block_codec> codec_;
  std::shared_ptr<buffers> buffers_;
};

}  // namespace flowrun::runs
