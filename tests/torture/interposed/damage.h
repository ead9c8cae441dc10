// What bad disks do to blocks: called after a read of a scratch file has put `length` bytes at `data`.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tests/torture/interposed/rules.h"

namespace interposed {

// Before a scratch file is written: notes how far, and keeps what the place held, if stale content is asked for.
void remember_before_write(int descriptor, uint64_t offset, size_t length);

// Changes the bytes as `found` says, and adds a line to the file FAILING_DAMAGE that says what was done, or that there
// was nothing to do it with (no other block, nothing stale).
void damage(const fault& found, int descriptor, uint64_t offset, void* data, size_t length);

}  // namespace interposed
