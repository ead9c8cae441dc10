// Bytes for many files, taken as they come and given back file by file: of one file in the order in which they came.
//
//   │ bytes, one piece after another ─▶            ◀─ which file each piece is for │      full when the two meet
//
// What comes for one file again and again is one piece, so rows that lie together cost no more than their bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace flowrun::io {

class piece_arena {
 public:
  struct piece {
    uint32_t file = 0;
    std::span<const std::byte> bytes;
  };

  // Takes its memory when the first bytes come; at most 2 GiB.
  explicit piece_arena(size_t num_bytes);
  piece_arena(piece_arena&&) noexcept = default;
  piece_arena& operator=(piece_arena&&) noexcept = default;

  // How many bytes from the front it has taken: fewer than all, when it is full.
  size_t add(uint32_t file, std::span<const std::byte> bytes);
  // Puts the pieces in the order of their files' numbers. Then nothing is added until clear().
  void sort();
  void clear();

  bool empty() const { return num_pieces_ == 0; }
  size_t num_pieces() const { return num_pieces_; }
  piece at(size_t i) const;

 private:
  struct entry {
    uint32_t file, offset, num_bytes;
  };
  entry* entry_of(size_t i) const;

  size_t capacity_;
  std::unique_ptr<std::byte[]> memory_;
  size_t num_bytes_ = 0;
  size_t num_pieces_ = 0;
};

}  // namespace flowrun::io
