// What to do after the system has moved part of a transfer: pure, shared by all backends.
//
// A system call may move fewer bytes than asked (a signal, the end of the file, a disk that fills up). The rest is
// asked for again. In direct mode the next attempt must start at an aligned position, so the odd bytes before it are
// moved twice. EINTR and EAGAIN are tried again, but not for ever: no failure may become a hang.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "engine/base/buffer.h"

namespace flowrun::io {

enum class direction : uint8_t { read, write };

// The most to ask of one system call: the kernel stops just below 2 GiB.
constexpr size_t largest_transfer = size_t{1} << 30;

// The errors (errno) of a write or reservation that say that there is no room for it: elsewhere there may be.
constexpr bool means_no_room(int cause) { return cause == ENOSPC || cause == EDQUOT || cause == EFBIG; }

struct transfer_progress {
  static constexpr unsigned max_retries = 1000;

  size_t begin = 0;  // where the next attempt starts, relative to the transfer's offset
  size_t moved = 0;  // bytes known to be moved; begin <= moved
  unsigned num_retries = 0;

  // Takes the result of an attempt at [begin, num_bytes): bytes moved or a negative errno. Returns the final result of
  // the transfer, or nothing when another attempt at [begin, num_bytes) is due.
  std::optional<int64_t> advance(int64_t result, size_t num_bytes, bool direct, direction way) {
    if (result < 0) {
      if ((result == -EINTR || result == -EAGAIN) && ++num_retries < max_retries) return std::nullopt;
      return result;
    }
    const size_t end = begin + static_cast<size_t>(result);
    if (end >= num_bytes) return static_cast<int64_t>(num_bytes);
    if (way == direction::read && (result == 0 || end <= moved))
      return static_cast<int64_t>(moved);  // the end of the file
    if (end <= moved) return -EIO;         // a write that gets nowhere and doesn't say why
    moved = end;
    begin = direct ? round_down(end, io_alignment) : end;
    num_retries = 0;
    return std::nullopt;
  }
};

}  // namespace flowrun::io
