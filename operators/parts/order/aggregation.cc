#include "operators/parts/order/aggregation.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "engine/base/error.h"
#include "engine/record/key.h"
#include "engine/record/row_too_large.h"

namespace flowrun::operators {

namespace {

using expr::aggregate_kind;
using record::type_kind;

struct group_rows {
  const std::byte* column;  // of the first row
  size_t stride;
  const std::vector<uint32_t>& starts;
  bool open;  // group 0 continues `carried`
  uint64_t carried;
  size_t num_groups() const { return starts.size() - 1; }
};

template <class T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// Loads one number as an integer of 64 bits: u24, u40 and u48 have no type of their own.
template <uint32_t NumBytes>
struct load_unsigned {
  static uint64_t at(const std::byte* from) {
    uint64_t value = 0;
    std::memcpy(&value, from, NumBytes);
    return value;
  }
};
template <class T>
struct load_signed {
  static uint64_t at(const std::byte* from) { return static_cast<uint64_t>(static_cast<int64_t>(load<T>(from))); }
};

template <class Load>
void sum_integers(const group_rows& in, uint64_t* out) {
  for (size_t g = 0; g < in.num_groups(); ++g) {
    const std::byte* at = in.column + in.starts[g] * in.stride;
    size_t left = in.starts[g + 1] - in.starts[g];
    uint64_t first = g == 0 && in.open ? in.carried : 0;
    if (left < 8) {
      for (; left > 0; --left, at += in.stride) first += Load::at(at);
      out[g] = first;
      continue;
    }
    uint64_t sums[4] = {first, 0, 0, 0};
    for (; left >= 4; left -= 4, at += 4 * in.stride)
      for (size_t k = 0; k < 4; ++k) sums[k] += Load::at(at + k * in.stride);
    for (; left > 0; --left, at += in.stride) sums[0] += Load::at(at);
    out[g] = sums[0] + sums[1] + sums[2] + sums[3];
  }
}

template <class T>
void sum_floats(const group_rows& in, uint64_t* out) {
  for (size_t g = 0; g < in.num_groups(); ++g) {
    double sum = g == 0 && in.open ? std::bit_cast<double>(in.carried) : 0.0;
    for (size_t i = in.starts[g]; i < in.starts[g + 1]; ++i)
      sum += static_cast<double>(load<T>(in.column + i * in.stride));
    out[g] = std::bit_cast<uint64_t>(sum);
  }
}

enum class number_order { plain, flipped_sign, floating };

template <uint32_t NumBytes, number_order Order>
uint64_t ordered_at(const std::byte* from) {
  const uint64_t bits = load_unsigned<NumBytes>::at(from);
  if constexpr (Order == number_order::plain) return bits;
  constexpr uint64_t sign = uint64_t{1} << (8 * NumBytes - 1);
  if constexpr (Order == number_order::flipped_sign) return bits ^ sign;
  constexpr uint64_t mask = sign | (sign - 1);
  return (bits & sign) != 0 ? ~bits & mask : bits | sign;
}

template <uint32_t NumBytes, number_order Order, bool IsMax>
void extremes(const group_rows& in, uint64_t* out) {
  for (size_t g = 0; g < in.num_groups(); ++g) {
    uint64_t best = g == 0 && in.open ? in.carried : IsMax ? 0 : ~uint64_t{0};
    for (size_t i = in.starts[g]; i < in.starts[g + 1]; ++i) {
      const uint64_t value = ordered_at<NumBytes, Order>(in.column + i * in.stride);
      best = IsMax ? (value > best ? value : best) : (value < best ? value : best);
    }
    out[g] = best;
  }
}

template <bool IsMax>
void extremes(type_kind kind, uint32_t num_bytes, const group_rows& in, uint64_t* out) {
  using enum number_order;
  switch (kind) {
    case type_kind::i8: return extremes<1, flipped_sign, IsMax>(in, out);
    case type_kind::i16: return extremes<2, flipped_sign, IsMax>(in, out);
    case type_kind::date:
    case type_kind::i32: return extremes<4, flipped_sign, IsMax>(in, out);
    case type_kind::timestamp:
    case type_kind::decimal:
    case type_kind::i64: return extremes<8, flipped_sign, IsMax>(in, out);
    case type_kind::f32: return extremes<4, floating, IsMax>(in, out);
    case type_kind::f64: return extremes<8, floating, IsMax>(in, out);
    default: break;
  }
  switch (num_bytes) {
    case 1: return extremes<1, plain, IsMax>(in, out);
    case 2: return extremes<2, plain, IsMax>(in, out);
    case 3: return extremes<3, plain, IsMax>(in, out);
    case 4: return extremes<4, plain, IsMax>(in, out);
    case 5: return extremes<5, plain, IsMax>(in, out);
    case 6: return extremes<6, plain, IsMax>(in, out);
    default: return extremes<8, plain, IsMax>(in, out);
  }
}

void sum(type_kind kind, uint32_t num_bytes, const group_rows& in, uint64_t* out) {
  switch (kind) {
    case type_kind::i8: return sum_integers<load_signed<int8_t>>(in, out);
    case type_kind::i16: return sum_integers<load_signed<int16_t>>(in, out);
    case type_kind::i32: return sum_integers<load_signed<int32_t>>(in, out);
    case type_kind::f32: return sum_floats<float>(in, out);
    case type_kind::f64: return sum_floats<double>(in, out);
    default: break;
  }
  switch (num_bytes) {
    case 1: return sum_integers<load_unsigned<1>>(in, out);
    case 2: return sum_integers<load_unsigned<2>>(in, out);
    case 3: return sum_integers<load_unsigned<3>>(in, out);
    case 4: return sum_integers<load_unsigned<4>>(in, out);
    case 5: return sum_integers<load_unsigned<5>>(in, out);
    case 6: return sum_integers<load_unsigned<6>>(in, out);
    default: return sum_integers<load_unsigned<8>>(in, out);
  }
}

void first_or_last(bool last, uint32_t num_bytes, const group_rows& in, uint64_t* out) {
  for (size_t g = 0; g < in.num_groups(); ++g) {
    const uint32_t from = in.starts[g];
    const uint32_t to = in.starts[g + 1];
    if (g == 0 && in.open && (!last || from == to))
      out[g] = in.carried;
    else
      out[g] = record::load_unsigned(in.column + (last ? to - 1 : from) * in.stride, num_bytes);
  }
}

// In each group, the rows that differ from the row before; `same(i)`: row i doesn't.
template <class Same>
void count_changes(const group_rows& in, const Same& same, uint64_t* out) {
  for (size_t g = 0; g < in.num_groups(); ++g) {
    size_t i = in.starts[g];
    const size_t end = in.starts[g + 1];
    const bool goes_on = g == 0 && in.open;
    uint64_t count = goes_on ? in.carried : 0;
    if (!goes_on && i < end) {
      ++count;
      ++i;
    }
    for (; i < end; ++i) count += same(i) ? 0 : 1;
    out[g] = count;
  }
}

std::string_view text_at(const record::column& column, const std::byte* row, const std::byte* heap) {
  const std::byte* field = row + column.offset;
  if (column.type.is_string()) return record::load_string(field, heap);
  return {reinterpret_cast<const char*>(field), column.type.num_bytes};
}

void add_texts(const column_aggregate& what, const record::batch& rows, const std::vector<uint32_t>& starts, bool open,
               std::string_view carried, std::vector<std::string_view>& out) {
  const auto at = [&](size_t i) { return text_at(what.argument, rows.row(i), rows.heap); };
  for (size_t g = 0; g + 1 < starts.size(); ++g) {
    size_t from = starts[g];
    const size_t to = starts[g + 1];
    std::string_view best = g == 0 && open ? carried : at(from++);
    switch (what.kind) {
      case aggregate_kind::last:
        if (from < to) best = at(to - 1);
        break;
      case aggregate_kind::min:
        for (; from < to; ++from) best = std::min(best, at(from));
        break;
      case aggregate_kind::max:
        for (; from < to; ++from) best = std::max(best, at(from));
        break;
      default: break;  // first
    }
    out.push_back(best);
  }
}

// Among the lanes of this file, those that give a text.
bool is_text(const column_aggregate& a) {
  return !a.outside && a.kind != aggregate_kind::count && a.kind != aggregate_kind::distinct &&
         a.argument.type.is_text();
}

}  // namespace

aggregation::aggregation(std::vector<column_aggregate> aggregates, const record::row_type& output, size_t first_column,
                         record::batch_pool& pool, uint64_t most_bytes)
    : row_bytes_(output.row_bytes()), most_bytes_(most_bytes) {
  const auto is_outside = [](const column_aggregate& a) { return a.outside.has_value(); };
  const auto num_outside = static_cast<size_t>(std::count_if(aggregates.begin(), aggregates.end(), is_outside));
  for (size_t i = 0; i < aggregates.size(); ++i) {
    lane l;
    l.what = std::move(aggregates[i]);
    l.offset = output[first_column + i].offset;
    if (l.what.outside)
      l.outside = std::make_unique<outside_lane>(*l.what.outside, l.what.result, pool, most_bytes, num_outside);
    has_outside_ = has_outside_ || l.outside != nullptr;
    lanes_.push_back(std::move(l));
  }
}

void aggregation::add(const record::batch& rows, const std::vector<uint32_t>& starts, bool open) {
  compute(rows, starts, open);
  started_ = true;
  made_from_ = made_end_ = 0;
  uint64_t kept = row_bytes_;
  for (lane& l : lanes_) {
    if (l.outside) {
      kept += l.what.outside->state_bytes;
      if (kept > most_bytes_) throw record::row_too_large(kept, most_bytes_);
      l.outside->add(rows, starts, open);
    }
    if (!is_text(l.what)) continue;
    if (l.what.result.is_string()) kept += l.texts.back().size();
    if (kept > most_bytes_) throw record::row_too_large(kept, most_bytes_);
    l.keep_last_text();
  }
}

void aggregation::lane::count_values(const record::batch& rows, const std::vector<uint32_t>& starts, bool open) {
  const group_rows in{rows.rows + what.argument.offset, rows.row_bytes, starts, open, open_value};
  if (what.argument.type.is_text()) {
    const auto at = [&](size_t i) { return text_at(what.argument, rows.row(i), rows.heap); };
    count_changes(
        in, [&](size_t i) { return at(i) == (i == 0 ? std::string_view(open_text) : at(i - 1)); }, values.data());
    texts.assign(1, at(rows.num_rows - 1));
    keep_last_text();
    return;
  }
  const uint32_t num_bytes = what.argument.type.num_bytes;
  const auto at = [&](size_t i) { return record::load_unsigned(in.column + i * in.stride, num_bytes); };
  count_changes(
      in, [&](size_t i) { return at(i) == (i == 0 ? last_value : at(i - 1)); }, values.data());
  last_value = at(rows.num_rows - 1);
}

// The texts of the last group are kept until the next add(), and those of complete groups refer to what was kept
// before.
void aggregation::lane::keep_last_text() {
  constexpr size_t short_text = 64 * 1024;
  const std::string_view text = texts.back();
  if (!text.empty() && text.data() == kept_text.data())
    open_text.swap(kept_text);  // the group goes on, and so does its text
  else if (open_text.capacity() > 2 * std::max(text.size(), short_text))
    std::string(text).swap(open_text);  // an assignment would keep the memory of the long text
  else
    open_text.assign(text);
}

void aggregation::store_all(const record::batch& rows, std::byte* to, record::batch_builder& into) {
  const std::vector<uint32_t> starts = {0, static_cast<uint32_t>(rows.num_rows)};
  if (row_bytes_ > most_bytes_) throw record::row_too_large(row_bytes_, most_bytes_);  // states may be wide
  compute(rows, starts, false);
  for (lane& l : lanes_)
    if (l.outside) l.outside->add_whole(rows, starts);
  made_from_ = made_end_ = 0;
  static_cast<void>(make(0, 1));
  into.expect_texts(text_bytes(0, 1));
  store(0, 1, to, into);
}

size_t aggregation::make(size_t from, size_t count) {
  if (!has_outside_) return count;
  if (from < made_from_ || from >= made_end_) {
    for (const lane& l : lanes_)
      if (l.outside) count = std::min(count, l.outside->most_at_once());
    size_t made = count;
    for (lane& l : lanes_)
      if (l.outside) made = std::min(made, l.outside->make(from, count));
    made_from_ = from;
    made_end_ = from + made;
  }
  return std::min(count, made_end_ - from);
}

size_t aggregation::text_bytes(size_t from, size_t count) const {
  size_t total = 0;
  for (const lane& l : lanes_)
    if (l.outside)
      total += l.outside->text_bytes(from, count);
    else if (is_text(l.what) && l.what.result.is_string())
      for (size_t g = from; g < from + count; ++g) total += l.texts[g].size();
  return total;
}

void aggregation::compute(const record::batch& rows, const std::vector<uint32_t>& starts, bool open) {
  const size_t num_groups = starts.size() - 1;
  for (lane& l : lanes_) {
    const column_aggregate& what = l.what;
    if (l.outside) continue;
    if (is_text(what)) {
      l.texts.clear();
      l.kept_text.swap(l.open_text);
      add_texts(what, rows, starts, open, l.kept_text, l.texts);
      continue;
    }
    l.values.resize(num_groups);
    const group_rows in{rows.rows + what.argument.offset, rows.row_bytes, starts, open, l.open_value};
    uint64_t* out = l.values.data();
    const uint32_t num_bytes = what.argument.type.num_bytes;
    switch (what.kind) {
      case aggregate_kind::count:
        for (size_t g = 0; g < num_groups; ++g) out[g] = starts[g + 1] - starts[g];
        if (open) out[0] += l.open_value;
        break;
      case aggregate_kind::sum: sum(what.argument.type.kind, num_bytes, in, out); break;
      case aggregate_kind::min: extremes<false>(what.argument.type.kind, num_bytes, in, out); break;
      case aggregate_kind::max: extremes<true>(what.argument.type.kind, num_bytes, in, out); break;
      case aggregate_kind::first: first_or_last(false, num_bytes, in, out); break;
      case aggregate_kind::last: first_or_last(true, num_bytes, in, out); break;
      case aggregate_kind::distinct: l.count_values(rows, starts, open); break;
      case aggregate_kind::outside: break;
    }
    l.open_value = out[num_groups - 1];
  }
}

namespace {

// What a lane holds as the bits of the result.
uint64_t result_bits(const column_aggregate& what, uint64_t value) {
  const bool ordered =
      (what.kind == aggregate_kind::min || what.kind == aggregate_kind::max) && !what.argument.type.is_unsigned();
  return ordered ? record::from_order_bits(what.argument.type.kind, what.argument.type.num_bytes, value) : value;
}

template <uint32_t NumBytes>
void store_column(const uint64_t* values, size_t count, std::byte* field, size_t stride) {
  for (size_t i = 0; i < count; ++i) std::memcpy(field + i * stride, values + i, NumBytes);
}

}  // namespace

void aggregation::lane::store_values(size_t from, size_t count, std::byte* field, size_t stride) {
  if (what.kind == aggregate_kind::min || what.kind == aggregate_kind::max)
    for (size_t g = from; g < from + count; ++g) values[g] = result_bits(what, values[g]);
  switch (what.result.num_bytes) {
    case 8: return store_column<8>(values.data() + from, count, field, stride);
    case 4: return store_column<4>(values.data() + from, count, field, stride);
    default:
      for (size_t g = from; g < from + count; ++g, field += stride)
        std::memcpy(field, &values[g], what.result.num_bytes);
  }
}

void aggregation::lane::store_text(std::string_view text, std::byte* field, record::batch_builder& into) const {
  if (what.result.is_string()) {
    into.put_string(field, text);
  } else {
    std::memset(field, 0, what.result.num_bytes);
    std::memcpy(field, text.data(), std::min<size_t>(text.size(), what.result.num_bytes));
  }
}

void aggregation::store(size_t from, size_t count, std::byte* to, record::batch_builder& into) {
  for (lane& l : lanes_) {
    std::byte* field = to + l.offset;
    if (l.outside) {
      l.outside->store(from, count, field, row_bytes_, into);
    } else if (is_text(l.what)) {
      for (size_t g = from; g < from + count; ++g, field += row_bytes_) l.store_text(l.texts[g], field, into);
    } else {
      l.store_values(from, count, field, row_bytes_);
    }
  }
}

void aggregation::store_open(std::byte* to, record::batch_builder& into) {
  size_t num_bytes = 0;
  for (const lane& l : lanes_)
    if (l.outside)
      num_bytes += l.outside->open_text_bytes();
    else if (l.what.result.is_string())
      num_bytes += l.open_text.size();
  into.expect_texts(num_bytes);
  for (const lane& l : lanes_) {
    std::byte* field = to + l.offset;
    if (l.outside) {
      l.outside->store_open(field, into);
    } else if (is_text(l.what)) {
      l.store_text(l.open_text, field, into);
    } else {
      const uint64_t bits = started_ ? result_bits(l.what, l.open_value) : 0;
      std::memcpy(field, &bits, l.what.result.num_bytes);
    }
  }
}

void aggregation::write_state(state_writer& out) const {
  out.number(started_ ? 1 : 0);
  for (const lane& l : lanes_) {
    out.number(l.open_value);
    out.number(l.last_value);
    out.text(l.open_text);
  }
}

void aggregation::begin_with(state_reader& in) {
  started_ = in.number() != 0;
  for (lane& l : lanes_) {
    l.open_value = in.number();
    l.last_value = in.number();
    l.open_text = in.text();
  }
}

namespace {

// Arguments that must be columns: of an outside aggregate, constants are none.
std::vector<const expr::expression*> arguments_in_rows(const expr::aggregate& a) {
  std::vector<const expr::expression*> out;
  if (a.argument) out.push_back(&*a.argument);
  if (a.outside)
    for (const expr::expression& argument : a.outside->arguments)
      if (!argument.is_constant()) out.push_back(&argument);
  return out;
}

// `columns`: where its arguments lie, the next one first.
outside_use use_of(const expr::aggregate_call& call, const record::row_type& rows, const size_t* columns) {
  outside_use out{call.bound.aggregate, call.bound.state_bytes, call.bound.is_combinable, {}, false, {}, false};
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    const expr::expression& argument = call.arguments[i];
    outside_argument a;
    a.wanted = call.bound.wanted[i];
    a.is_constant = argument.is_constant();
    if (!a.is_constant) {
      a.column = rows[*columns++];
    } else if (a.wanted.is_text()) {
      a.text = argument.constant_text().value_or("");
    } else {
      a.lane = argument.constant_bits().value_or(0);  // scalars have values before anything runs
    }
    out.arguments.push_back(std::move(a));
  }
  return out;
}

}  // namespace

bool has_ordered(const named_aggregates& aggregates) {
  return std::any_of(aggregates.begin(), aggregates.end(), [](const auto& a) { return a.second.is_ordered(); });
}

aggregation_plan plan_aggregation(const record::row_type& input, const std::vector<std::string>& keys,
                                  const named_aggregates& aggregates, bool keep_row) {
  aggregation_plan out;
  std::vector<const expr::expression*> arguments;
  for (const auto& [name, a] : aggregates)
    for (const expr::expression* argument : arguments_in_rows(a)) arguments.push_back(argument);
  const bool columns_only =
      std::all_of(arguments.begin(), arguments.end(), [](const auto* a) { return a->as_column().has_value(); });
  // Where each argument lies: a column of the input, or one of the projection's own.
  std::vector<size_t> columns;
  if (columns_only) {
    out.rows = input;
    for (const std::string& k : keys) out.keys.push_back(*input.index_of(k));
    for (const expr::expression* argument : arguments) columns.push_back(*argument->as_column());
  } else {
    if (keep_row) out.projection = identity(input);
    for (const std::string& k : keys) {
      const size_t column = *input.index_of(k);
      // A column may be a key twice, under two names.
      const auto before = std::find_if(out.projection.begin(), out.projection.end(),
                                       [&k](const auto& projected) { return projected.first == k; });
      out.keys.push_back(static_cast<size_t>(before - out.projection.begin()));
      if (before == out.projection.end()) out.projection.emplace_back(k, expr::column_expression(input, column));
    }
    for (size_t i = 0; i < arguments.size(); ++i) {
      columns.push_back(out.projection.size());
      out.projection.emplace_back("(" + std::to_string(i) + ")", *arguments[i]);  // no column of a user has such a name
    }
    out.rows = type_of(out.projection);
  }
  const size_t* next = columns.data();
  for (const auto& [name, a] : aggregates) {
    column_aggregate c{a.kind, a.argument ? out.rows[*next] : record::column{}, a.result, {}};
    if (a.outside) c.outside = use_of(*a.outside, out.rows, next);
    next += arguments_in_rows(a).size();
    out.aggregates.push_back(std::move(c));
  }
  return out;
}

bool can_combine(const std::vector<column_aggregate>& aggregates) {
  return std::all_of(aggregates.begin(), aggregates.end(), [](const column_aggregate& a) {
    if (a.outside) return a.outside->is_combinable;
    return a.kind != aggregate_kind::distinct && (a.kind != aggregate_kind::sum || !a.result.is_float());
  });
}

std::vector<column_aggregate> partial_aggregates(const std::vector<column_aggregate>& aggregates) {
  std::vector<column_aggregate> out = aggregates;
  for (column_aggregate& a : out) {
    if (!a.outside) continue;
    a.outside->gives_states = true;
    a.result = record::value_type::fixed_bytes(a.outside->state_bytes);
  }
  return out;
}

std::vector<column_aggregate> combining(const std::vector<column_aggregate>& aggregates,
                                        const record::row_type& partial, size_t first_column) {
  std::vector<column_aggregate> out = aggregates;
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i].kind == aggregate_kind::count) out[i].kind = aggregate_kind::sum;
    out[i].argument = partial[first_column + i];
    if (!out[i].outside) continue;
    out[i].outside->of_states = true;
    out[i].outside->arguments.clear();
    out[i].outside->states = partial[first_column + i];
  }
  return out;
}

}  // namespace flowrun::operators
