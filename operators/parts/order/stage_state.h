// What an ordered stage knows of the rows that it has taken, as bytes: numbers, texts and rows, written one behind the
// other and read in the same order (exec::ordered_stage::state).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/record/batch.h"
#include "engine/record/row_type.h"

namespace flowrun::operators {

class state_writer {
 public:
  void number(uint64_t value);
  void text(std::string_view value);
  // The first row of the batch, or that there is none.
  void row(const record::row_type& type, const record::batch& rows);
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// Throws error(io) where the bytes end too early: they are of another stage.
class state_reader {
 public:
  explicit state_reader(std::string_view bytes) : left_(bytes) {}
  uint64_t number();
  std::string_view text();
  record::batch row(const record::row_type& type);

 private:
  std::string_view left_;
};

}  // namespace flowrun::operators
