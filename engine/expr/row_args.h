// The operands of one row, for what works on texts row by row.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/expr/text_kernels.h"

namespace flowrun::expr {

class row_args {
 public:
  row_args(const text_call& call, size_t row) : call_(call), row_(row) {}
  uint64_t lane(size_t i) const { return static_cast<const uint64_t*>(call_.args[i].data)[row_ * call_.args[i].step]; }
  std::string_view text(size_t i) const {
    return static_cast<const std::string_view*>(call_.args[i].data)[row_ * call_.args[i].step];
  }
  size_t num_args() const { return call_.num_args; }
  uint64_t imm() const { return call_.imm; }
  text_arena& arena() const { return *call_.arena; }

 private:
  const text_call& call_;
  size_t row_;
};

}  // namespace flowrun::expr
