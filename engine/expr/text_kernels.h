// The primitives on texts. A text in a register is a view into the batch (its rows or its heap), into the program's
// constants or into the arena of the chunk being computed; nothing is copied to cut, trim or compare.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "engine/expr/ops.h"
#include "engine/record/batch_pool.h"

namespace flowrun::expr {

// Memory for texts computed within one chunk of rows; what one chunk needed serves the next. Each step of a program has
// its share of it: once that is used up, the chunk ends with the rows that the step has done, and at least one.
class text_arena {
 public:
  static constexpr size_t usual_share = size_t{1} << 20;

  // Memory comes from `pool`, which outlives the arena.
  explicit text_arena(record::batch_pool& pool) : pool_(pool) {}
  char* take(size_t num_bytes);
  // Gives the last `num_bytes` of the last take back.
  void give_back(size_t num_bytes) {
    used_ -= num_bytes;
    taken_ -= num_bytes;
  }
  std::string_view keep(std::string_view text);
  // Texts of so many bytes are too long: take() throws row_too_large. So it does where those that go beyond the shares
  // of their steps take several times as much together: then one row has many long texts on its way to a short result.
  void limit(uint64_t most_bytes) { most_bytes_ = most_bytes; }
  uint64_t longest() const { return most_bytes_; }
  // The next step begins; its share is about `num_bytes`.
  void begin_step(size_t num_bytes) {
    beyond_ += beyond_share();
    step_end_ = taken_ + num_bytes;
  }
  bool step_is_full() const { return taken_ >= step_end_; }
  // Everything taken so far is invalid afterwards.
  void clear();

 private:
  static constexpr size_t usual_bytes = 64 * 1024;
  static constexpr size_t most_kept = size_t{1} << 20;
  static constexpr uint64_t most_texts_beyond = 4;  // as long as one may be
  struct piece {
    std::shared_ptr<std::byte[]> data;
    size_t num_bytes;
  };
  record::batch_pool& pool_;
  size_t beyond_share() const { return taken_ > step_end_ ? taken_ - step_end_ : 0; }

  std::vector<piece> pieces_;
  size_t used_ = 0;   // of the last piece
  size_t taken_ = 0;  // since it was cleared
  size_t step_end_ = usual_share;
  uint64_t beyond_ = 0;  // the shares of the steps before
  uint64_t most_bytes_ = ~uint64_t{0};
};

// An operand's cells (uint64_t lanes or std::string_views); step 0 for one value that serves all rows, else 1.
struct text_operand {
  const void* data = nullptr;
  size_t step = 1;
};

struct text_call {
  const text_operand* args = nullptr;
  size_t num_args = 0;
  void* out = nullptr;  // num_rows cells
  uint64_t imm = 0;
  text_arena* arena = nullptr;
  size_t num_rows = 0;
};

// Returns how many rows it has done: all, unless its share of the arena was used up before; at least one.
using text_kernel = size_t (*)(const text_call& call);

// For every opcode with is_text_op().
text_kernel text_kernel_for(opcode op);
// Whether the texts that it gives are new ones, in the arena; those of an outside function may be.
bool makes_new_text(opcode op);

// CRC-32 as in zlib and Ethernet (reflected polynomial 0xEDB88320).
uint32_t crc32(std::string_view text);

}  // namespace flowrun::expr
