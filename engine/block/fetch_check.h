// What a read of a block came to: the one check of all readers.
#pragma once

#include <cstddef>

#include "engine/block/block_manager.h"
#include "engine/block/prefetched_block.h"

namespace flowrun::block {

// Of a read that is done: its header, once the block at `data` is found to be the one that was asked for. Throws
// error(io) when the read failed, or what was read is damaged.
block_header check_fetched(const block_manager& manager, const fetch& wanted, io::request& read, const std::byte* data);

}  // namespace flowrun::block
