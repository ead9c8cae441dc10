#include "operators/parts/text/csv_parser.h"

#include <algorithm>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/excerpt.h"
#include "operators/parts/text/csv_value.h"
#include "operators/parts/text/short_number.h"

namespace flowrun::operators {

namespace {

// Up to eight digits that end at the delimiter or '\n', all at once: stores the number and returns its end. Null when
// the field is anything else, or the text is too near its end to be loaded as a whole.
inline __attribute__((always_inline)) const char* parse_short_number(const char* p, const char* end, char delimiter,
                                                                     uint32_t num_bytes, std::byte* to) {
  if (end - p < 9) return nullptr;
  uint64_t word;
  std::memcpy(&word, p, sizeof word);
  const uint64_t found = equal_bytes(word, delimiter) | equal_bytes(word, '\n');
  const uint32_t num_digits = found == 0 ? 8 : static_cast<uint32_t>(std::countr_zero(found)) / 8;
  if (num_digits == 0 || (num_digits == 8 && p[8] != delimiter && p[8] != '\n')) return nullptr;
  uint64_t value = 0;
  if (!number_of_digits(word, num_digits, value) || !store_unsigned(value, num_bytes, to)) return nullptr;
  return p + num_digits;
}

}  // namespace

struct csv_parser::failure {
  const char* where = nullptr;  // first byte of the field at fault
  std::string reason;
  std::optional<size_t> column{};  // that `field` has no value of
  std::string field{};

  std::nullptr_t at(const char* place, std::string what) {
    where = place;
    reason = std::move(what);
    column.reset();
    return nullptr;
  }
  std::nullptr_t at(const char* place, std::string what, size_t number, std::string_view text) {
    at(place, std::move(what));
    column = number;
    field = text.substr(0, most_advised_bytes + 1);
    return nullptr;
  }
};

csv_parser::csv_parser(record::row_type type, csv_format format, csv_missing missing, csv_times times)
    : type_(std::move(type)),
      format_(format),
      missing_(std::move(missing)),
      times_(std::move(times)),
      in_order_(csv_layout::in_order(type_.num_columns() - missing_.told_by.size())),
      skip_(format) {
  missing_.columns.resize(type_.num_columns());
}

parse_progress csv_parser::parse(std::string_view text, uint64_t first_line, record::batch_pool& pool,
                                 size_t batch_bytes, std::vector<record::batch>& rows, const record_rejecter& reject,
                                 uint64_t most_bytes, const csv_layout* layout) const {
  if (text.size() > UINT32_MAX - missing_.default_texts.size())
    throw error(error_kind::bad_data, fmt::format("line {}: longer than 4 GiB", first_line + 1),
                "split the line or store it as several rows");
  const char* p = text.data();
  const char* const end = p + text.size();
  const bool in_order = layout == nullptr || *layout == in_order_;
  const bool all = missing_.any() || times_.any();
  if (layout == nullptr) layout = &in_order_;
  // A record has a byte for each field, but for the last field of the last record.
  row_filler to(type_, layout->num_fields, missing_.default_texts, pool, batch_bytes, rows);
  failure why;
  parse_progress done;
  uint64_t rejected_bytes = 0;
  uint64_t lines = first_line;  // up to `counted`
  const char* counted = p;
  while (p != end && to.num_bytes() + rejected_bytes < most_bytes) {
    ++done.num_records;
    std::byte* const row = to.begin_row(static_cast<size_t>(end - p));
    const char* const next = all        ? parse_record<way::with_all>(p, end, *layout, row, to, why)
                             : in_order ? parse_record<way::in_order>(p, end, *layout, row, to, why)
                                        : parse_record<way::by_layout>(p, end, *layout, row, to, why);
    if (next != nullptr) [[likely]] {
      to.end_row();
      p = next;
      continue;
    }
    to.drop_row();
    const char* const behind = record_end(p, end, format_);
    malformed_record bad;
    bad.text = {p, behind};
    if (bad.text.ends_with('\n')) bad.text.remove_suffix(1);
    if (bad.text.ends_with('\r')) bad.text.remove_suffix(1);
    lines += count_byte({counted, why.where}, '\n');
    counted = why.where;
    bad.line = lines + 1;
    const std::string_view before(text.data(), static_cast<size_t>(why.where - text.data()));
    bad.column = before.size() - (before.rfind('\n') + 1) + 1;  // npos + 1 is 0
    bad.reason = std::move(why.reason);
    bad.wrong_column = why.column;
    if (why.column) bad.wrong_field = std::move(why.field);
    rejected_bytes += bad.text.size() + bad.reason.size() + sizeof bad;
    p = behind;
    if (!reject(bad)) {
      p = end;
      break;
    }
  }
  to.flush();
  done.num_bytes = static_cast<size_t>(p - text.data());
  return done;
}

namespace {

std::string wrong_number(size_t expected, size_t got) {
  return fmt::format("expected {} fields, got {}", expected, got);
}

std::string no_value(const std::string& column, std::string_view field) {
  return fmt::format("a missing value ({}) where none is allowed: '{}' has neither `default` nor `missing`",
                     field.empty() ? "an empty field" : quoted_excerpt(field), column);
}

}  // namespace

// The field that begins at `p`: its text, without quotes, and where it ends: before a delimiter or '\n', or at end.
// Null and `why` when it is malformed.
inline __attribute__((always_inline)) const char* csv_parser::read_field(const char* p, const char* end,
                                                                         std::string_view& field,
                                                                         std::string& unescaped, failure& why) const {
  const char* const start = p;
  const char delimiter = format_.delimiter;
  if (p != end && format_.quote && *p == *format_.quote) {
    bool escaped = false;
    const char* const closing = find_closing_quote(p + 1, end, *format_.quote, escaped);
    if (closing == end) return why.at(start, "a quoted field is never closed");
    field = {p + 1, closing};
    if (escaped) {
      unescaped.clear();
      for (size_t i = 0; i < field.size(); ++i) {
        unescaped += field[i];
        if (field[i] == *format_.quote) ++i;
      }
      field = unescaped;
    }
    p = closing + 1;
    const bool crlf = end - p >= 2 && p[0] == '\r' && p[1] == '\n';
    const bool last_cr = end - p == 1 && *p == '\r';
    if (crlf || last_cr) ++p;
    if (p != end && *p != delimiter && *p != '\n') return why.at(start, "text after a closing quote");
    return p;
  }
  p = find_either(p, end, delimiter, '\n');
  const char* behind = p;
  if ((p == end || *p == '\n') && behind != start && behind[-1] == '\r' && delimiter != '\r') --behind;
  field = {start, behind};
  return p;
}

// What is wrong with the fields from number `field` on, which begins at `p`, up to number `next`; or, where that is
// num_fields, with the record's end.
void csv_parser::explain_skip(const char* p, const char* end, size_t field, size_t next, size_t num_fields,
                              failure& why) const {
  std::string_view text;
  std::string unescaped;
  for (;; ++field, ++p) {
    const char* const start = p;
    if (field == next) return void(why.at(start, wrong_number(num_fields, field + count_fields(p, end))));
    p = read_field(p, end, text, unescaped, why);
    if (p == nullptr) return;
    if (p == end || *p == '\n') return void(why.at(start, wrong_number(num_fields, field + 1)));
  }
}

// Of the rest of a record, as far as its quotes tell.
size_t csv_parser::count_fields(const char* p, const char* end) const {
  bool escaped = false;
  for (size_t fields = 1;; ++fields, ++p) {
    if (p != end && format_.quote && *p == *format_.quote) p = find_closing_quote(p + 1, end, *format_.quote, escaped);
    p = find_either(p, end, format_.delimiter, '\n');
    if (p == end || *p == '\n') return fields;
  }
}

// Behind the record's line end; null and `why` when it is malformed.
template <csv_parser::way how>
const char* csv_parser::parse_record(const char* p, const char* end, const csv_layout& layout, std::byte* row,
                                     row_filler& to, failure& why) const {
  constexpr bool in_order = how == way::in_order, with_all = how == way::with_all;
  const char delimiter = format_.delimiter;
  const size_t num_taken = in_order ? type_.num_columns() : layout.taken.size();
  const size_t num_fields = in_order ? num_taken : layout.num_fields;
  std::string unescaped;
  size_t next = 0;  // the field that begins at p
  for (size_t i = 0; i < num_taken; ++i, ++next) {
    if constexpr (in_order) next = i;
    if constexpr (!in_order) {
      const size_t wanted = layout.taken[i].field;
      if (wanted != next) {
        const char* const behind = skip_.fields(p, end, wanted - next);
        if (behind == nullptr) {
          explain_skip(p, end, next, wanted, num_fields, why);
          return nullptr;
        }
        p = behind;
        next = wanted;
      }
    }
    const size_t number = in_order ? i : layout.taken[i].column;
    const record::column& column = type_[number];
    const bool last = next + 1 == num_fields;
    const char* const start = p;
    std::byte* told = nullptr;  // whether it is missing
    if constexpr (with_all) {
      if (const std::optional<size_t> offset = missing_.columns[number].told_by) *(told = row + *offset) = std::byte{0};
    }
    if (column.type.is_unsigned() && !(with_all && missing_.any_number)) {
      if (const char* const behind =
              parse_short_number(p, end, delimiter, column.type.num_bytes, row + column.offset)) {
        p = behind;
        if (last == (*p == '\n')) {
          ++p;
          if (last) return p;
          continue;
        }
        p = start;  // too many or too few fields: said below
      }
    }
    std::string_view field;
    p = read_field(p, end, field, unescaped, why);
    if (p == nullptr) return nullptr;
    const bool line_ends = p == end || *p == '\n';
    if (line_ends && !last) return why.at(start, wrong_number(num_fields, next + 1));
    const bool quoted = with_all && start != end && format_.quote && *start == *format_.quote;
    const bool allowed = with_all && missing_.columns[number].allowed;
    if (with_all && !(column.type.is_text() && (quoted || !allowed)) && missing_.is_missing(field)) {
      if (!allowed) return why.at(start, no_value(column.name, field), number, field);
      std::memcpy(row + column.offset, missing_.values.data() + column.offset, column.type.num_bytes);
      if (told != nullptr) *told = std::byte{1};
    } else if (column.type.is_string()) {
      to.put_string(row + column.offset, field);
    } else if (with_all && times_.has(number)) {
      if (!times_.parse(number, column.type, field, row + column.offset))
        return why.at(start, times_.refusal(number, column.type, field), number, field);
    } else if (!parse_value(column.type, field, row + column.offset)) {
      return why.at(start, refusal(column.type, field), number, field);
    }
    if (last) {
      if (line_ends) return p == end ? end : p + 1;
      return why.at(p + 1, wrong_number(num_fields, num_fields + count_fields(p + 1, end)));
    }
    ++p;  // the delimiter
  }
  const char* const behind = in_order ? nullptr : skip_.last_fields(p, end, num_fields - next);
  if (behind == nullptr) explain_skip(p, end, next, num_fields, num_fields, why);
  return behind;
}

}  // namespace flowrun::operators
