#include "engine/runs/compressed_blocks.h"

#include <cstring>
#include <span>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/mutex.h"

namespace flowrun::runs {

namespace {

// In front of the coded pieces. A piece whose two lengths are equal is stored as it is.
struct piece_lengths {
  uint32_t block_bytes = 0;  // of the block as it was filled
  uint32_t rows_bytes = 0;
  uint32_t heap_bytes = 0;
  uint32_t coded_rows_bytes = 0;
  uint32_t coded_heap_bytes = 0;
  uint32_t reserved = 0;
};

// Appends a piece, coded where that is shorter; the bytes it takes, or nothing when there is no room. Moves `to`.
bool append_piece(block_codec& codec, std::span<const std::byte> piece, std::span<std::byte>& to, uint32_t& num_bytes) {
  num_bytes = 0;
  if (piece.empty()) return true;
  size_t coded = codec.encode(piece, to.first(std::min(to.size(), piece.size() - 1)));
  if (coded == 0) {
    if (to.size() < piece.size()) return false;
    std::memcpy(to.data(), piece.data(), piece.size());
    coded = piece.size();
  }
  to = to.subspan(coded);
  num_bytes = static_cast<uint32_t>(coded);
  return true;
}

bool take_piece(block_codec& codec, std::span<const std::byte>& from, uint32_t coded_bytes, std::byte* to,
                uint32_t num_bytes) {
  if (coded_bytes > from.size() || coded_bytes > num_bytes) return false;
  const std::span<const std::byte> coded = from.first(coded_bytes);
  from = from.subspan(coded_bytes);
  if (coded_bytes < num_bytes) return codec.decode(coded, {to, num_bytes});
  if (num_bytes > 0) std::memcpy(to, coded.data(), num_bytes);
  return true;
}

}  // namespace

block_encoder::block_encoder(const block_coding& coding, uint32_t block_bytes)
    : how_(coding.how), block_bytes_(block_bytes), codec_(make_block_codec(coding)), filled_(block_bytes) {}

uint32_t block_encoder::encode(block::block_header& header, std::byte* to) {
  const uint32_t payload_bytes = block_bytes_ - static_cast<uint32_t>(block::block_header_bytes);
  const size_t most_bytes = block_bytes_ - std::min<size_t>(block_bytes_, io_alignment);
  constexpr size_t front_bytes = block::block_header_bytes + sizeof(piece_lengths);
  if (most_bytes > front_bytes) {
    piece_lengths lengths{
        .block_bytes = block_bytes_, .rows_bytes = header.rows_bytes, .heap_bytes = header.heap_bytes};
    std::span<std::byte> rest(to + front_bytes, most_bytes - front_bytes);
    const std::byte* rows = payload();
    const std::byte* heap = rows + payload_bytes - header.heap_bytes;
    if (append_piece(*codec_, {rows, header.rows_bytes}, rest, lengths.coded_rows_bytes) &&
        append_piece(*codec_, {heap, header.heap_bytes}, rest, lengths.coded_heap_bytes)) {
      std::memcpy(block::payload_of(to), &lengths, sizeof lengths);
      header.flags = static_cast<uint32_t>(how_);
      header.rows_bytes = static_cast<uint32_t>(sizeof lengths) + lengths.coded_rows_bytes + lengths.coded_heap_bytes;
      header.heap_bytes = 0;
      return static_cast<uint32_t>(round_up(block::block_header_bytes + header.rows_bytes, io_alignment));
    }
  }
  std::memcpy(block::payload_of(to), payload(), payload_bytes);
  return block_bytes_;
}

// Shared by the decoder and the leases of its blocks.
struct block_decoder::buffers {
  buffers(uint32_t num_bytes, size_t num_blocks, size_t more_blocks)
      : block_bytes(round_up(num_bytes, io_alignment)), arena(block_bytes * num_blocks), num_more(more_blocks) {
    free.reserve(num_blocks);
    for (size_t i = num_blocks; i-- > 0;) free.push_back(arena.data() + i * block_bytes);
  }

  const size_t block_bytes;
  aligned_buffer arena;  // of all buffers: large enough for huge pages
  flowrun::mutex mutex;
  std::vector<std::byte*> free FLOWRUN_GUARDED_BY(mutex);
  size_t num_more FLOWRUN_GUARDED_BY(mutex);  // that may still be allocated
  waker* waiter FLOWRUN_GUARDED_BY(mutex) = nullptr;

  bool has_room(waker* w) {
    mutex_lock lock(mutex);
    const bool is_there = !free.empty() || num_more > 0;
    waiter = is_there ? nullptr : w;
    return is_there;
  }
  void forget_waiter() {
    mutex_lock lock(mutex);
    waiter = nullptr;
  }
  void wake() FLOWRUN_REQUIRES(mutex) {
    if (waker* const w = std::exchange(waiter, nullptr)) w->wake();
  }

  static std::shared_ptr<std::byte> take(const std::shared_ptr<buffers>& from) {
    std::byte* taken = nullptr;
    {
      mutex_lock lock(from->mutex);
      if (!from->free.empty()) {
        taken = from->free.back();
        from->free.pop_back();
      } else {
        FLOWRUN_CHECK(from->num_more > 0);
        --from->num_more;
      }
    }
    if (taken == nullptr) {
      auto one_more = std::make_shared<aligned_buffer>(from->block_bytes);
      return {one_more->data(), [from, one_more](std::byte*) {
                *one_more = aligned_buffer();
                mutex_lock lock(from->mutex);
                ++from->num_more;
                from->wake();
              }};
    }
    return {taken, [from](std::byte* buffer) {
              mutex_lock lock(from->mutex);
              from->free.push_back(buffer);  // within what was reserved
              from->wake();
            }};
  }
};

block_decoder::block_decoder(const block_coding& coding, uint32_t block_bytes, size_t num_blocks, size_t more_blocks)
    : how_(coding.how),
      block_bytes_(block_bytes),
      codec_(make_block_codec(coding)),
      buffers_(std::make_shared<buffers>(block_bytes, num_blocks, more_blocks)) {}

block_decoder::~block_decoder() { buffers_->forget_waiter(); }

bool block_decoder::has_room(waker* w) { return buffers_->has_room(w); }

block::prefetched_block block_decoder::decode(const block::prefetched_block& stored) {
  std::shared_ptr<std::byte> buffer = buffers::take(buffers_);
  std::byte* data = buffer.get();
  block::block_header header = stored.header();
  if (!decode_into(stored, data, header)) return {};
  return {std::move(buffer), data, header};
}

bool block_decoder::decode_into(const block::prefetched_block& stored, std::byte* to, block::block_header& header) {
  if (header.flags == static_cast<uint32_t>(compression::none)) {
    if (stored.num_bytes() > block_bytes_) return false;
    std::memcpy(to, stored.data(), stored.num_bytes());
    return true;
  }
  piece_lengths lengths;
  if (header.flags != static_cast<uint32_t>(how_) || header.rows_bytes < sizeof lengths ||
      header.rows_bytes > stored.payload_bytes())
    return false;
  std::memcpy(&lengths, stored.payload(), sizeof lengths);
  std::span<const std::byte> rest(stored.payload() + sizeof lengths, header.rows_bytes - sizeof lengths);
  if (lengths.block_bytes > block_bytes_ || lengths.block_bytes < block::block_header_bytes) return false;
  const uint32_t payload_bytes = lengths.block_bytes - static_cast<uint32_t>(block::block_header_bytes);
  if (uint64_t{lengths.rows_bytes} + lengths.heap_bytes > payload_bytes) return false;
  std::byte* payload = block::payload_of(to);
  if (!take_piece(*codec_, rest, lengths.coded_rows_bytes, payload, lengths.rows_bytes) ||
      !take_piece(*codec_, rest, lengths.coded_heap_bytes, payload + payload_bytes - lengths.heap_bytes,
                  lengths.heap_bytes))
    return false;
  header.flags = 0;
  header.block_bytes = lengths.block_bytes;
  header.rows_bytes = lengths.rows_bytes;
  header.heap_bytes = lengths.heap_bytes;
  return rest.empty();
}

}  // namespace flowrun::runs
