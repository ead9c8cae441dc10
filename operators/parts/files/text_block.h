// Text that one stage has made of rows and a file's sink writes (file_sink.h). Between the two it is a parcel.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "engine/exec/parcel.h"

namespace flowrun::operators {

// Bytes of text in a buffer of a pool.
struct text_block {
  std::shared_ptr<std::byte[]> owner;
  size_t num_bytes = 0;
  size_t num_rows = 0;  // that it is of
  std::string_view text() const { return {reinterpret_cast<const char*>(owner.get()), num_bytes}; }
  std::span<const std::byte> bytes() const { return {owner.get(), num_bytes}; }
};

// Counts as its rows and bytes.
inline record::batch parcel_of_text(text_block text) {
  const size_t num_rows = text.num_rows, num_bytes = text.num_bytes;
  return exec::make_parcel(std::move(text), num_rows, num_bytes);
}

}  // namespace flowrun::operators
