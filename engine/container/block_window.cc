#include "engine/container/block_window.h"

#include "engine/base/error.h"
#include "engine/block/fetch_check.h"

namespace flowrun::container {

void block_window::source::prepare(uint64_t position, io::request& read, std::byte* memory) {
  manager_.prepare(read, where_(position).id, io::direction::read, memory);
}

void block_window::source::check(uint64_t position, io::request& read, const std::byte* memory) {
  checked_ = block::check_fetched(manager_, where_(position), read, memory);
}

block_window::block_window(block::block_manager& manager, fetch_of where, uint64_t num_blocks, uint32_t longest_block,
                           unsigned num_buffers)
    : source_(manager, std::move(where)),
      window_(manager.backend(), source_,
              {.num_pieces = num_blocks, .longest_piece = longest_block, .num_buffers = num_buffers}) {
  FLOWRUN_CHECK(num_buffers >= 2);
}

outcome block_window::next(block::prefetched_block& out, waker& w) {
  out.reset();
  io::read_piece piece;
  const outcome o = window_.next(piece, &w);
  if (o.is_ready()) out = block::prefetched_block(std::move(piece.owner), piece.memory, source_.checked());
  return o;
}

}  // namespace flowrun::container
