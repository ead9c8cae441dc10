#include "row_packer.h"

#include <arrow/array/array_dict.h>
#include <arrow/extension_type.h>
#include <arrow/util/bit_util.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace columnar {

namespace {

constexpr int64_t tile_rows = 1024;

template <class Offset>
uint64_t span(const cells& c, int64_t from, int64_t count) {
  const auto* const at = static_cast<const Offset*>(c.offsets);
  return static_cast<uint64_t>(at[from + count] - at[from]);
}

template <class Offset>
std::string_view text_at(const cells& c, int64_t place) {
  const auto* const at = static_cast<const Offset*>(c.offsets);
  return {reinterpret_cast<const char*>(c.values) + at[place], static_cast<size_t>(at[place + 1] - at[place])};
}

std::string_view text(const cells& c, int64_t row) {
  if (c.is_null(row)) return {};
  const int64_t place = c.entries.empty() ? row : c.entries[static_cast<size_t>(row)];
  switch (c.how) {
    case cells::layout::text: return text_at<int32_t>(c, place);
    case cells::layout::large_text: return text_at<int64_t>(c, place);
    default: return static_cast<const arrow::BinaryViewArray*>(c.views)->GetView(place);
  }
}

bool is_text(const cells& c) { return c.how >= cells::layout::text; }
// The texts of neighbouring rows are neighbours too, and no null has one.
bool is_contiguous(const cells& c) {
  return c.entries.empty() && !c.has_nulls && (c.how == cells::layout::text || c.how == cells::layout::large_text);
}

// Where the values of an array of a plain type lie.
void look_at(const arrow::Array& array, uint32_t width, cells& to) {
  using arrow::Type;
  const arrow::ArrayData& data = *array.data();
  const auto bytes = [&](size_t buffer) { return data.buffers[buffer] ? data.buffers[buffer]->data() : nullptr; };
  switch (array.type_id()) {
    case Type::BOOL:
      to.how = cells::layout::bits;
      to.values = bytes(1);
      to.first_bit = data.offset;
      break;
    case Type::STRING:
    case Type::BINARY:
      to.how = cells::layout::text;
      to.values = bytes(2);
      to.offsets = static_cast<const arrow::BinaryArray&>(array).raw_value_offsets();
      break;
    case Type::LARGE_STRING:
    case Type::LARGE_BINARY:
      to.how = cells::layout::large_text;
      to.values = bytes(2);
      to.offsets = static_cast<const arrow::LargeBinaryArray&>(array).raw_value_offsets();
      break;
    case Type::STRING_VIEW:
    case Type::BINARY_VIEW:
      to.how = cells::layout::text_view;
      to.views = &array;
      break;
    case Type::DECIMAL32:
    case Type::DECIMAL64:
    case Type::DECIMAL128:
    case Type::DECIMAL256:
      to.how = cells::layout::decimal;
      to.width = static_cast<uint32_t>(static_cast<const arrow::FixedSizeBinaryType&>(*array.type()).byte_width());
      to.values = bytes(1) == nullptr ? nullptr : bytes(1) + data.offset * to.width;
      break;
    default:
      to.width = width;
      to.values = bytes(1) == nullptr ? nullptr : bytes(1) + data.offset * width;
      to.scale = scale_of(*array.type());
  }
}

std::shared_ptr<arrow::Array> storage_of(std::shared_ptr<arrow::Array> array) {
  while (array->type_id() == arrow::Type::EXTENSION)
    array = static_cast<const arrow::ExtensionArray&>(*array).storage();
  return array;
}

cells cells_of(const std::shared_ptr<arrow::Array>& column, uint32_t width) {
  cells out;
  out.rows = storage_of(column);
  out.has_nulls = out.rows->null_count() > 0;
  if (out.rows->type_id() != arrow::Type::DICTIONARY) {
    look_at(*out.rows, width, out);
    return out;
  }
  const auto& coded = static_cast<const arrow::DictionaryArray&>(*out.rows);
  out.dictionary = storage_of(coded.dictionary());
  out.has_nulls = out.has_nulls || out.dictionary->null_count() > 0;
  out.entries.resize(static_cast<size_t>(coded.length()));
  for (int64_t i = 0; i < coded.length(); ++i)
    out.entries[static_cast<size_t>(i)] = coded.IsNull(i) ? 0 : coded.GetValueIndex(i);
  look_at(*out.dictionary, width, out);
  return out;
}

template <size_t width>
void spread(const uint8_t* from, int64_t count, unsigned char* to, size_t row_bytes) {
  for (int64_t i = 0; i < count; ++i) std::memcpy(to + static_cast<size_t>(i) * row_bytes, from + i * width, width);
}

void put_fixed(const cells& c, int64_t from, int64_t count, unsigned char* to, size_t row_bytes) {
  if (c.entries.empty()) {
    const uint8_t* const values = c.values + from * c.width;
    switch (c.width) {
      case 1: return spread<1>(values, count, to, row_bytes);
      case 2: return spread<2>(values, count, to, row_bytes);
      case 4: return spread<4>(values, count, to, row_bytes);
      case 8: return spread<8>(values, count, to, row_bytes);
      case 16: return spread<16>(values, count, to, row_bytes);
      default: break;
    }
  }
  for (int64_t i = 0; i < count; ++i) {
    if (!c.entries.empty() && c.is_null(from + i)) continue;  // a dictionary may be empty then
    const int64_t place = c.entries.empty() ? from + i : c.entries[static_cast<size_t>(from + i)];
    std::memcpy(to + static_cast<size_t>(i) * row_bytes, c.values + place * c.width, c.width);
  }
}

// Integers of 4 to 32 bytes to 8.
void put_decimals(const cells& c, const std::string& name, int64_t from, int64_t count, unsigned char* to,
                  size_t row_bytes) {
  constexpr uint32_t width = sizeof(int64_t);
  for (int64_t i = 0; i < count; ++i) {
    if (c.is_null(from + i)) continue;
    const int64_t place = c.entries.empty() ? from + i : c.entries[static_cast<size_t>(from + i)];
    const uint8_t* const value = c.values + place * c.width;
    const uint8_t sign = (value[c.width - 1] & 0x80) != 0 ? 0xFF : 0;
    int64_t units = sign != 0 ? -1 : 0;
    std::memcpy(&units, value, std::min(c.width, width));
    bool fits = (units < 0) == (sign != 0);
    for (uint32_t k = width; k < c.width; ++k) fits = fits && value[k] == sign;
    if (!fits)
      throw fr::error("a decimal of the column '" + name + "' does not fit in 64 bits",
                      "have it written with fewer digits, or as a double");
    std::memcpy(to + static_cast<size_t>(i) * row_bytes, &units, sizeof units);
  }
}

// To microseconds; what is beyond 64 bits stops at their ends.
void rescale(const time_scale& scale, int64_t count, unsigned char* at, size_t row_bytes) {
  for (int64_t i = 0; i < count; ++i, at += row_bytes) {
    int64_t time = 0;
    std::memcpy(&time, at, sizeof time);
    if (scale.divide > 1)
      time = time / scale.divide - (time % scale.divide < 0 ? 1 : 0);
    else if (__builtin_mul_overflow(time, scale.multiply, &time))
      time = (static_cast<signed char>(at[7]) < 0) ? INT64_MIN : INT64_MAX;
    std::memcpy(at, &time, sizeof time);
  }
}

void put_bits(const cells& c, int64_t from, int64_t count, unsigned char* to, size_t row_bytes) {
  for (int64_t i = 0; i < count; ++i) {
    if (!c.entries.empty() && c.is_null(from + i)) continue;
    const int64_t place = c.entries.empty() ? from + i : c.entries[static_cast<size_t>(from + i)];
    to[static_cast<size_t>(i) * row_bytes] = arrow::bit_util::GetBit(c.values, c.first_bit + place) ? 1 : 0;
  }
}

void put_string(unsigned char* to, uint64_t offset, size_t length) {
  const fr_string s{static_cast<uint32_t>(offset), static_cast<uint32_t>(length)};
  std::memcpy(to, &s, sizeof s);
}

// All texts lie in one piece, which is copied as it is.
template <class Offset>
void put_texts_at_once(const cells& c, int64_t from, int64_t count, unsigned char* to, size_t row_bytes,
                       unsigned char* heap, uint64_t& heap_bytes) {
  const auto* const at = static_cast<const Offset*>(c.offsets) + from;
  const uint64_t begin = heap_bytes;
  for (int64_t i = 0; i < count; ++i)
    put_string(to + static_cast<size_t>(i) * row_bytes, begin + static_cast<uint64_t>(at[i] - at[0]),
               static_cast<size_t>(at[i + 1] - at[i]));
  const auto size = static_cast<size_t>(at[count] - at[0]);
  if (size > 0) std::memcpy(heap + heap_bytes, c.values + at[0], size);
  heap_bytes += size;
}

void put_texts(const cells& c, int64_t from, int64_t count, unsigned char* to, size_t row_bytes, unsigned char* heap,
               uint64_t& heap_bytes) {
  if (is_contiguous(c) && c.how == cells::layout::text)
    return put_texts_at_once<int32_t>(c, from, count, to, row_bytes, heap, heap_bytes);
  if (is_contiguous(c)) return put_texts_at_once<int64_t>(c, from, count, to, row_bytes, heap, heap_bytes);
  for (int64_t i = 0; i < count; ++i) {
    const std::string_view t = text(c, from + i);
    put_string(to + static_cast<size_t>(i) * row_bytes, heap_bytes, t.size());
    if (!t.empty()) std::memcpy(heap + heap_bytes, t.data(), t.size());
    heap_bytes += t.size();
  }
}

// What lies below a null is anything.
void clear_nulls(const cells& c, uint32_t width, int64_t from, int64_t count, unsigned char* to, size_t row_bytes) {
  for (int64_t i = 0; i < count; ++i)
    if (c.is_null(from + i)) std::memset(to + static_cast<size_t>(i) * row_bytes, 0, width);
}

}  // namespace

row_packer::row_packer(const fr::row_type& type, const arrow::RecordBatch& batch)
    : type_(type), num_rows_(batch.num_rows()) {
  for (const fr::column& column : type_.columns()) {
    const std::shared_ptr<arrow::Array> found = batch.GetColumnByName(column.name);
    if (found == nullptr) throw fr::error("a portion of the file lacks the column '" + column.name + "'");
    columns_.push_back(cells_of(found, fr::width_of(column.type)));
    has_nulls_ = has_nulls_ || columns_.back().has_nulls;
    if (is_text(columns_.back())) texts_.push_back(columns_.size() - 1);
  }
}

const std::string* row_packer::null_column(int64_t row) const {
  for (size_t i = 0; i < columns_.size(); ++i)
    if (columns_[i].is_null(row)) return &type_[i].name;
  return nullptr;
}

uint64_t row_packer::text_bytes(int64_t from, int64_t count) const {
  uint64_t sum = 0;
  for (const size_t k : texts_) {
    const cells& c = columns_[k];
    if (is_contiguous(c)) {
      sum += c.how == cells::layout::text ? span<int32_t>(c, from, count) : span<int64_t>(c, from, count);
      continue;
    }
    for (int64_t i = 0; i < count; ++i) sum += text(c, from + i).size();
  }
  return sum;
}

int64_t row_packer::rows_within(int64_t from, int64_t most, uint64_t most_bytes) const {
  int64_t count = std::min(most, num_rows_ - from);
  if (texts_.empty()) return count;
  while (count > 1 && text_bytes(from, count) > most_bytes) count /= 2;
  return count;
}

void row_packer::pack(int64_t from, int64_t count, unsigned char* rows, unsigned char* heap) const {
  const size_t row_bytes = type_.row_bytes();
  uint64_t heap_bytes = 0;
  for (int64_t done = 0; done < count; done += tile_rows) {
    const int64_t now = std::min(tile_rows, count - done);
    unsigned char* const tile = rows + static_cast<size_t>(done) * row_bytes;
    for (size_t k = 0; k < columns_.size(); ++k) {
      const cells& c = columns_[k];
      unsigned char* const to = tile + type_[k].offset;
      if (c.how == cells::layout::fixed)
        put_fixed(c, from + done, now, to, row_bytes);
      else if (c.how == cells::layout::decimal)
        put_decimals(c, type_[k].name, from + done, now, to, row_bytes);
      else if (c.how == cells::layout::bits)
        put_bits(c, from + done, now, to, row_bytes);
      else
        put_texts(c, from + done, now, to, row_bytes, heap, heap_bytes);
      if (c.scale.multiply > 1 || c.scale.divide > 1) rescale(c.scale, now, to, row_bytes);
      if (c.has_nulls && !is_text(c)) clear_nulls(c, fr::width_of(type_[k].type), from + done, now, to, row_bytes);
    }
  }
}

}  // namespace columnar
