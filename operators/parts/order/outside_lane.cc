#include "operators/parts/order/outside_lane.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "engine/base/error.h"
#include "engine/record/key.h"

namespace flowrun::operators {

namespace {

using record::type_kind;

constexpr size_t chunk_rows = 1024;
constexpr size_t most_groups = 256;
// At once: of a lane, and of all lanes of an aggregation; or one state.
constexpr size_t most_bytes_of_states = 256 * 1024;
constexpr size_t bytes_of_all_states = 4 * 1024 * 1024;

size_t bytes_of_states(size_t num_lanes) {
  return std::min(most_bytes_of_states, bytes_of_all_states / std::max<size_t>(num_lanes, 1));
}

template <class T, class Lane>
void load_lanes(const std::byte* from, size_t stride, size_t count, uint64_t* out, Lane lane) {
  for (size_t i = 0; i < count; ++i, from += stride) {
    T value;
    std::memcpy(&value, from, sizeof value);
    out[i] = lane(value);
  }
}

// Numbers of a column as lanes of 64 bits.
void load_numbers(const record::value_type& type, const std::byte* from, size_t stride, size_t count, uint64_t* out) {
  const auto as_is = [](auto value) { return static_cast<uint64_t>(value); };
  const auto extended = [](auto value) { return static_cast<uint64_t>(static_cast<int64_t>(value)); };
  switch (type.kind) {
    case type_kind::boolean:
    case type_kind::u8: return load_lanes<uint8_t>(from, stride, count, out, as_is);
    case type_kind::u16: return load_lanes<uint16_t>(from, stride, count, out, as_is);
    case type_kind::u32: return load_lanes<uint32_t>(from, stride, count, out, as_is);
    case type_kind::u64:
    case type_kind::i64:
    case type_kind::timestamp:
    case type_kind::decimal:
    case type_kind::f64: return load_lanes<uint64_t>(from, stride, count, out, as_is);
    case type_kind::i8: return load_lanes<int8_t>(from, stride, count, out, extended);
    case type_kind::i16: return load_lanes<int16_t>(from, stride, count, out, extended);
    case type_kind::date:
    case type_kind::i32: return load_lanes<int32_t>(from, stride, count, out, extended);
    case type_kind::f32:
      return load_lanes<float>(from, stride, count, out,
                               [](float value) { return std::bit_cast<uint64_t>(static_cast<double>(value)); });
    default:
      for (size_t i = 0; i < count; ++i) out[i] = record::load_unsigned(from + i * stride, type.num_bytes);
  }
}

}  // namespace

outside_lane::outside_lane(outside_use use, record::value_type result, record::batch_pool& pool, uint64_t most_bytes,
                           size_t num_lanes)
    : use_(std::move(use)),
      result_(result),
      most_states_(std::clamp<size_t>(bytes_of_states(num_lanes) / use_.state_bytes, 1, most_groups)),
      open_(use_.state_bytes),
      lanes_(use_.arguments.size()),
      texts_(use_.arguments.size()),
      operands_(use_.arguments.size()),
      arena_(pool) {
  arena_.limit(most_bytes);
  if (use_.of_states) return;
  for (size_t i = 0; i < use_.arguments.size(); ++i) {
    const outside_argument& a = use_.arguments[i];
    const bool is_text = a.wanted.is_text();
    if (is_text)
      texts_[i].assign(a.is_constant ? 1 : chunk_rows, a.text);
    else
      lanes_[i].assign(a.is_constant ? 1 : chunk_rows, a.lane);
    operands_[i] = {is_text ? static_cast<const void*>(texts_[i].data()) : lanes_[i].data(), a.is_constant ? 0U : 1U};
  }
}

void outside_lane::add(const record::batch& rows, const std::vector<uint32_t>& starts, bool open) {
  rows_ = rows;
  rows_.owner = nullptr;
  starts_ = &starts;
  continued_ = open;
  made_lanes_.clear();
  made_texts_.clear();
  const size_t last = starts.size() - 2;
  if (open && last > 0) {
    fold({open_.data(), 1, starts.data()});
    continued_state_.resize(use_.state_bytes);
    open_.swap(continued_state_);
  }
  if (!open || last > 0) use_.aggregate->start(open_.data(), 1);
  fold({open_.data(), 1, starts.data() + last});
}

void outside_lane::add_whole(const record::batch& rows, const std::vector<uint32_t>& starts) {
  rows_ = rows;
  rows_.owner = nullptr;
  starts_ = &starts;
  continued_ = false;
}

// The rows from to.starts[0] to to.starts[to.num_states].
void outside_lane::fold(const expr::row_targets& to) {
  if (!use_.of_states) return fold_cells(to);
  const uint32_t first = to.starts[0];
  chunk_starts_.assign(to.starts, to.starts + to.num_states + 1);
  for (uint32_t& start : chunk_starts_) start -= first;
  if (chunk_starts_.back() > 0)
    use_.aggregate->combine({to.states, to.num_states, chunk_starts_.data()}, rows_.row(first) + use_.states.offset,
                            rows_.row_bytes);
}

void outside_lane::fold_cells(const expr::row_targets& to) {
  if (use_.aggregate->reads_rows() && !use_.arguments[0].is_constant) {
    use_.aggregate->update_in_rows(to, rows_.rows + use_.arguments[0].column.offset, rows_.row_bytes);
    return;
  }
  const uint32_t end = to.starts[to.num_states];
  size_t group = 0;  // the first with rows in the chunk
  for (uint32_t from = to.starts[0]; from < end;) {
    const auto count = static_cast<uint32_t>(std::min<size_t>(end - from, chunk_rows));
    while (to.starts[group + 1] <= from) ++group;
    chunk_starts_.assign(1, 0);
    for (size_t g = group; chunk_starts_.back() < count; ++g)
      chunk_starts_.push_back(std::min(to.starts[g + 1] - from, count));
    update_chunk({to.states + group * use_.state_bytes, chunk_starts_.size() - 1, chunk_starts_.data()}, from, count);
    from += count;
  }
}

void outside_lane::update_chunk(const expr::row_targets& to, size_t from, size_t count) {
  for (size_t i = 0; i < use_.arguments.size(); ++i)
    if (!use_.arguments[i].is_constant) load(use_.arguments[i], i, from, count);
  use_.aggregate->update(to, operands_.data());
}

void outside_lane::load(const outside_argument& argument, size_t place, size_t from, size_t count) {
  const record::column& column = argument.column;
  const std::byte* field = rows_.row(from) + column.offset;
  if (!argument.wanted.is_text()) return load_numbers(column.type, field, rows_.row_bytes, count, lanes_[place].data());
  std::vector<std::string_view>& out = texts_[place];
  if (column.type.is_string())
    for (size_t i = 0; i < count; ++i) out[i] = record::load_string(field + i * rows_.row_bytes, rows_.heap);
  else
    for (size_t i = 0; i < count; ++i)
      out[i] = {reinterpret_cast<const char*>(field) + i * rows_.row_bytes, column.type.num_bytes};
}

size_t outside_lane::make(size_t from, size_t count) {
  states_.resize(count * use_.state_bytes);
  const size_t carried = from == 0 && continued_ ? 1 : 0;  // its rows are in its state
  if (carried > 0) std::memcpy(states_.data(), continued_state_.data(), use_.state_bytes);
  if (count > carried) {
    std::byte* const fresh = states_.data() + carried * use_.state_bytes;
    use_.aggregate->start(fresh, count - carried);
    fold({fresh, count - carried, starts_->data() + from + carried});
  }
  made_from_ = from;
  return use_.gives_states ? count : finish(states_.data(), count);
}

size_t outside_lane::finish(const std::byte* states, size_t count) {
  arena_.clear();
  arena_.begin_step(expr::text_arena::usual_share);
  expr::text_call call;
  if (result_.is_text()) {
    made_texts_.resize(count);
    call.out = made_texts_.data();
  } else {
    made_lanes_.resize(count);
    call.out = made_lanes_.data();
  }
  call.arena = &arena_;
  call.num_rows = count;
  return use_.aggregate->finish(states, call);
}

size_t outside_lane::text_bytes(size_t from, size_t count) const {
  if (!result_.is_string()) return 0;
  size_t total = 0;
  for (size_t i = 0; i < count; ++i) total += made_texts_[from - made_from_ + i].size();
  return total;
}

void outside_lane::store_made(size_t i, std::byte* field, record::batch_builder& into) const {
  if (use_.gives_states) {
    std::memcpy(field, states_.data() + i * use_.state_bytes, use_.state_bytes);
  } else if (result_.is_string()) {
    into.put_string(field, made_texts_[i]);
  } else if (result_.kind == type_kind::f32) {
    const auto value = static_cast<float>(std::bit_cast<double>(made_lanes_[i]));
    std::memcpy(field, &value, sizeof value);
  } else {
    std::memcpy(field, &made_lanes_[i], result_.num_bytes);
  }
}

void outside_lane::store(size_t from, size_t count, std::byte* field, size_t stride,
                         record::batch_builder& into) const {
  if (!use_.gives_states && !result_.is_text() && result_.num_bytes == sizeof(uint64_t)) {
    const uint64_t* const lanes = made_lanes_.data() + (from - made_from_);
    for (size_t i = 0; i < count; ++i, field += stride) std::memcpy(field, lanes + i, sizeof(uint64_t));
    return;
  }
  for (size_t g = from; g < from + count; ++g, field += stride) store_made(g - made_from_, field, into);
}

size_t outside_lane::open_text_bytes() {
  if (starts_ == nullptr) use_.aggregate->start(open_.data(), 1);  // there were no rows
  made_from_ = 0;
  if (use_.gives_states) {
    states_ = open_;
    return 0;
  }
  static_cast<void>(finish(open_.data(), 1));
  return text_bytes(0, 1);
}

void outside_lane::store_open(std::byte* field, record::batch_builder& into) const { store_made(0, field, into); }

}  // namespace flowrun::operators
