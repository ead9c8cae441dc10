// The primitives on texts. A text in a register is a view into the batch (its rows or its heap), into the program's
// constants or into the arena of the chunk being computed; nothing is copied to cut, trim or compare.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "engine/expr/ops.h"

namespace flowrun::expr {

// Memory for texts computed within one chunk of rows. Grows as needed; what one chunk needed serves the next.
class text_arena {
 public:
  char* take(size_t num_bytes);
  // Gives the last `num_bytes` of the last take back.
  void give_back(size_t num_bytes) { used_ -= num_bytes; }
  std::string_view keep(std::string_view text);
  // Everything taken so far is invalid afterwards.
  void clear();

 private:
  static constexpr size_t usual_bytes = 64 * 1024;
  struct piece {
    std::unique_ptr<char[]> data;
    size_t num_bytes;
  };
  std::vector<piece> pieces_;
  size_t used_ = 0;  // of the last piece
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

using text_kernel = void (*)(const text_call& call);

// For every opcode with is_text_op().
text_kernel text_kernel_for(opcode op);

// CRC-32 as in zlib and Ethernet (reflected polynomial 0xEDB88320).
uint32_t crc32(std::string_view text);

}  // namespace flowrun::expr
