#include "column_chunk.h"

#include <arrow/array.h>
#include <arrow/util/bit_util.h>
#include <arrow/util/utf8.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "failures.h"
#include "type_map.h"

namespace columnar {

namespace {

const char* const doing = "cannot gather columns";

// Numbers of 3, 5 and 6 bytes become those of 4 and 8.
template <size_t from_width, size_t to_width>
void gather(const unsigned char* from, size_t row_bytes, int64_t count, uint8_t* to) {
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(to + static_cast<size_t>(i) * to_width, from + static_cast<size_t>(i) * row_bytes, from_width);
    if constexpr (to_width > from_width)
      std::memset(to + static_cast<size_t>(i) * to_width + from_width, 0, to_width - from_width);
  }
}

// Integers of 8 bytes become those of 16.
void extend(const unsigned char* from, size_t row_bytes, int64_t count, uint8_t* to) {
  for (int64_t i = 0; i < count; ++i, from += row_bytes, to += 16) {
    std::memcpy(to, from, 8);
    std::memset(to + 8, static_cast<signed char>(from[7]) < 0 ? 0xFF : 0, 8);
  }
}

uint32_t width_in_file(fr_type type) {
  if (fr::decimal_scale(type)) return 16;
  switch (type.kind) {
    case FR_U24: return 4;
    case FR_U40:
    case FR_U48: return 8;
    default: return fr::width_of(type);
  }
}

}  // namespace

column_chunk::column_chunk(const fr::row_type& type, bool text_is_utf8, int64_t most_rows, counting_pool& pool)
    : text_is_utf8_(text_is_utf8),
      pool_(pool),
      most_rows_(std::clamp<int64_t>(most_bytes / std::max<uint32_t>(type.row_bytes(), 1), 64, most_rows)) {
  std::vector<std::shared_ptr<arrow::Field>> fields;
  for (const fr::column& c : type.columns()) {
    fields.push_back(arrow::field(c.name, file_type_of(c.type, text_is_utf8), /*nullable=*/false));
    column made;
    made.of_rows = c;
    made.width = width_in_file(c.type);
    columns_.push_back(std::move(made));
  }
  schema_ = arrow::schema(std::move(fields));
}

void column_chunk::start(column& c) const {
  const auto buffer = [&](int64_t size) {
    return attempt(doing, [&]() -> arrow::Result<std::shared_ptr<arrow::ResizableBuffer>> {
      return arrow::AllocateResizableBuffer(size, &pool_);
    });
  };
  c.num_bytes = 0;
  if (c.of_rows.type.kind == FR_STRING) {
    c.values = buffer(0);
    c.places = buffer((most_rows_ + 1) * 4);
  } else if (c.of_rows.type.kind == FR_BOOL) {
    c.values = buffer(arrow::bit_util::BytesForBits(most_rows_));
    std::memset(c.values->mutable_data(), 0, static_cast<size_t>(c.values->size()));
  } else {
    c.values = buffer(most_rows_ * c.width);
  }
}

// Up to the row whose texts fill the chunk.
int64_t column_chunk::rows_within(const fr::batch& rows, size_t from, int64_t most) const {
  int64_t count = std::min({most, most_rows_ - num_rows_, static_cast<int64_t>(rows.size() - from)});
  int64_t bytes = text_bytes_;
  for (int64_t i = 0; i < count; ++i) {
    for (const column& c : columns_)
      if (c.of_rows.type.kind == FR_STRING)
        bytes += rows.get<fr_string>(from + static_cast<size_t>(i), c.of_rows.offset).length;
    if (bytes >= most_bytes) return i + 1;
  }
  return count;
}

int64_t column_chunk::append(const fr::batch& rows, size_t from, int64_t most) {
  const int64_t count = rows_within(rows, from, most);
  if (count <= 0) return 0;
  for (column& c : columns_) {
    if (num_rows_ == 0) start(c);
    if (c.of_rows.type.kind == FR_STRING)
      append_texts(c, rows, from, count);
    else
      append_numbers(c, rows, from, count);
  }
  num_rows_ += count;
  return count;
}

void column_chunk::append_texts(column& c, const fr::batch& rows, size_t from, int64_t count) {
  int64_t size = c.num_bytes;
  for (int64_t i = 0; i < count; ++i)
    size += static_cast<int64_t>(rows.text(from + static_cast<size_t>(i), c.of_rows.offset).size());
  if (size > INT32_MAX)
    throw fr::error("texts of column '" + c.of_rows.name + "' of " + std::to_string(size) +
                        " bytes together are too long for a chunk of a file",
                    {}, FR_RESOURCES);
  if (size > c.values->capacity())
    attempt(doing, [&] { return c.values->Reserve(std::max(size, 2 * c.values->capacity())); });
  attempt(doing, [&] { return c.values->Resize(size, false); });
  auto* const places = reinterpret_cast<int32_t*>(c.places->mutable_data()) + num_rows_;
  const int64_t begin = c.num_bytes;
  for (int64_t i = 0; i < count; ++i) {
    const std::string_view text = rows.text(from + static_cast<size_t>(i), c.of_rows.offset);
    places[i] = static_cast<int32_t>(c.num_bytes);
    if (!text.empty()) std::memcpy(c.values->mutable_data() + c.num_bytes, text.data(), text.size());
    c.num_bytes += static_cast<int64_t>(text.size());
  }
  places[count] = static_cast<int32_t>(c.num_bytes);
  text_bytes_ += c.num_bytes - begin;
  if (text_is_utf8_) check_utf8(c, num_rows_, count);
}

// All at once: texts are valid if what they make together is, and none begins within a character.
void column_chunk::check_utf8(const column& c, int64_t from, int64_t count) const {
  const auto* const places = reinterpret_cast<const int32_t*>(c.places->data());
  const uint8_t* const bytes = c.values->data();
  const auto is_valid = [&](int64_t row, int64_t rows) {
    return arrow::util::ValidateUTF8(bytes + places[row], places[row + rows] - places[row]);
  };
  bool good = is_valid(from, count);
  for (int64_t i = from; i < from + count; ++i)
    good = good && (places[i] == places[i + 1] || (bytes[places[i]] & 0xc0) != 0x80);
  if (good) return;
  int64_t bad = from;
  while (is_valid(bad, 1)) ++bad;
  throw fr::error("row " + std::to_string(rows_before_ + static_cast<uint64_t>(bad)) + " (from 0): column '" +
                      c.of_rows.name + "' is no UTF-8, as texts of the file must be",
                  "text: binary writes strings of any bytes");
}

void column_chunk::append_numbers(column& c, const fr::batch& rows, size_t from, int64_t count) const {
  const unsigned char* const first = rows.row(from) + c.of_rows.offset;
  const size_t row_bytes = rows.raw().row_bytes;
  uint8_t* const values = c.values->mutable_data();
  if (c.of_rows.type.kind == FR_BOOL) {
    for (int64_t i = 0; i < count; ++i)
      if (first[static_cast<size_t>(i) * row_bytes] != 0) arrow::bit_util::SetBit(values, num_rows_ + i);
    return;
  }
  uint8_t* const to = values + num_rows_ * c.width;
  if (fr::decimal_scale(c.of_rows.type)) return extend(first, row_bytes, count, to);
  switch (c.of_rows.type.kind) {
    case FR_U24: return gather<3, 4>(first, row_bytes, count, to);
    case FR_U40: return gather<5, 8>(first, row_bytes, count, to);
    case FR_U48: return gather<6, 8>(first, row_bytes, count, to);
    default: break;
  }
  switch (c.width) {
    case 1: return gather<1, 1>(first, row_bytes, count, to);
    case 2: return gather<2, 2>(first, row_bytes, count, to);
    case 4: return gather<4, 4>(first, row_bytes, count, to);
    case 8: return gather<8, 8>(first, row_bytes, count, to);
    default:
      for (int64_t i = 0; i < count; ++i)
        std::memcpy(to + i * c.width, first + static_cast<size_t>(i) * row_bytes, c.width);
  }
}

std::shared_ptr<arrow::RecordBatch> column_chunk::take() {
  // IPC files have buffers up to a multiple of 64 bytes: what lies behind the last value must not be by chance.
  const auto clear_behind = [](arrow::Buffer& b, int64_t used) {
    const int64_t end = std::min(b.size(), arrow::bit_util::RoundUpToMultipleOf64(used));
    if (end > used) std::memset(b.mutable_data() + used, 0, static_cast<size_t>(end - used));
  };
  std::vector<std::shared_ptr<arrow::ArrayData>> arrays;
  for (size_t k = 0; k < columns_.size(); ++k) {
    column& c = columns_[k];
    if (c.of_rows.type.kind == FR_STRING && c.places != nullptr)
      clear_behind(*c.places, (num_rows_ + 1) * 4);
    else if (c.of_rows.type.kind != FR_BOOL && c.values != nullptr)
      clear_behind(*c.values, num_rows_ * c.width);
    std::vector<std::shared_ptr<arrow::Buffer>> buffers{nullptr};
    if (c.of_rows.type.kind == FR_STRING) buffers.push_back(std::move(c.places));
    buffers.push_back(std::move(c.values));
    arrays.push_back(
        arrow::ArrayData::Make(schema_->field(static_cast<int>(k))->type(), num_rows_, std::move(buffers), 0));
  }
  rows_before_ += static_cast<uint64_t>(num_rows_);
  text_bytes_ = 0;
  return arrow::RecordBatch::Make(schema_, std::exchange(num_rows_, 0), std::move(arrays));
}

}  // namespace columnar
