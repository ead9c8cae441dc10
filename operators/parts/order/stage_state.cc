#include "operators/parts/order/stage_state.h"

#include <cstring>
#include <memory>
#include <vector>

#include "engine/base/error.h"
#include "engine/container/row_page.h"
#include "engine/kernels/wide_rows.h"

namespace flowrun::operators {

void state_writer::number(uint64_t value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof value); }

void state_writer::text(std::string_view value) {
  number(value.size());
  bytes_.append(value);
}

// As a piece of a container, with the strings behind the row.
void state_writer::row(const record::row_type& type, const record::batch& rows) {
  number(rows.num_rows > 0 ? 1 : 0);
  if (rows.num_rows == 0) return;
  const kernels::wide_rows widths(type, {});
  std::vector<std::byte> piece(type.row_bytes() + widths.heap_bytes(rows.row(0)));
  container::row_page page(widths);
  page.open(piece.data(), piece.size());
  FLOWRUN_CHECK(page.append_row(rows.row(0), rows.heap));
  text({reinterpret_cast<const char*>(piece.data()), piece.size()});
}

uint64_t state_reader::number() {
  uint64_t value = 0;
  if (left_.size() < sizeof value)
    throw error(error_kind::io, "the state of a stage that an earlier process has left is too short",
                "run the job again: it starts over");
  std::memcpy(&value, left_.data(), sizeof value);
  left_.remove_prefix(sizeof value);
  return value;
}

std::string_view state_reader::text() {
  const uint64_t length = number();
  if (left_.size() < length)
    throw error(error_kind::io, "a text in the state of a stage that an earlier process has left is too short",
                "run the job again: it starts over");
  const std::string_view out = left_.substr(0, length);
  left_.remove_prefix(length);
  return out;
}

record::batch state_reader::row(const record::row_type& type) {
  record::batch out;
  out.row_bytes = type.row_bytes();
  if (number() == 0) return out;
  const std::string_view piece = text();
  auto bytes = std::make_shared<std::vector<std::byte>>(piece.size());
  std::memcpy(bytes->data(), piece.data(), piece.size());
  out.rows = bytes->data();
  out.num_rows = 1;
  if (type.has_strings()) {
    out.heap = bytes->data();
    out.heap_bytes = bytes->size();
  }
  out.owner = std::shared_ptr<const void>(std::move(bytes));
  return out;
}

}  // namespace flowrun::operators
