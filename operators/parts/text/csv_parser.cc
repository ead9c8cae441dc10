#include "operators/parts/text/csv_parser.h"

#include <algorithm>
#include <utility>

#include "engine/base/error.h"
#include "operators/parts/text/csv_value.h"

namespace flowrun::operators {

namespace {

// Up to eight digits that end at the delimiter or '\n', all at once: stores the number and returns its end. Null when
// the field is anything else, or the text is too near its end to be loaded as a whole.
const char* parse_short_number(const char* p, const char* end, char delimiter, uint32_t num_bytes, std::byte* to) {
  constexpr uint64_t zeros = 0x3030303030303030;
  if (end - p < 9) return nullptr;
  uint64_t word;
  std::memcpy(&word, p, sizeof word);
  const uint64_t found = equal_bytes(word, delimiter) | equal_bytes(word, '\n');
  const uint32_t num_digits = found == 0 ? 8 : static_cast<uint32_t>(std::countr_zero(found)) / 8;
  if (num_digits == 0 || (num_digits == 8 && p[8] != delimiter && p[8] != '\n')) return nullptr;
  // The digits go to the upper end, with zeros in front of them.
  if (num_digits < 8) word = (word << (64 - 8 * num_digits)) | (zeros >> (8 * num_digits));
  if ((((word + 0x4646464646464646) | (word - zeros)) & 0x8080808080808080) != 0) return nullptr;
  word -= zeros;
  word = word * 10 + (word >> 8);  // pairs of digits
  const uint64_t number =
      ((word & 0x000000FF000000FF) * 0x000F424000000064 + (word >> 16 & 0x000000FF000000FF) * 0x0000271000000001) >> 32;
  const uint64_t value = number & 0xFFFFFFFF;
  if (num_bytes < 4 && value >> (8 * num_bytes) != 0) return nullptr;
  std::memcpy(to, &value, num_bytes);
  return p + num_digits;
}

}  // namespace

// The batch in the making. Both buffers are as large as the rest of the text can make it, so storing needs no checks.
class csv_parser::filler {
 public:
  filler(const record::row_type& type, record::batch_pool& pool, size_t batch_bytes, std::vector<record::batch>& out)
      : type_(type), pool_(pool), shape_(record::shape_for(type, batch_bytes)), out_(out) {}

  // A row to fill; `text_left` are the bytes of text from its record on.
  std::byte* begin_row(size_t text_left) {
    if (num_rows_ == capacity_ || heap_used_ >= shape_.target_heap_bytes) {
      flush();
      // A record has a byte for each field, but for the last field of the last record.
      capacity_ = std::min(shape_.max_rows, text_left / std::max<size_t>(type_.num_columns(), 1) + 1);
      rows_ = pool_.take(capacity_ * std::max<size_t>(type_.row_bytes(), 1));
      if (type_.has_strings()) heap_ = pool_.take(std::max<size_t>(text_left, 1));
    }
    row_start_heap_ = heap_used_;
    return rows_.get() + num_rows_ * type_.row_bytes();
  }
  void end_row() { ++num_rows_; }
  void drop_row() { heap_used_ = row_start_heap_; }
  // Of the batches that are finished.
  uint64_t num_bytes() const { return num_bytes_; }

  // `text` is part of the text that begin_row was told of.
  void put_string(std::byte* field, std::string_view text) {
    const record::string_ref ref{static_cast<uint32_t>(heap_used_), static_cast<uint32_t>(text.size())};
    std::memcpy(field, &ref, sizeof ref);
    if (!text.empty()) std::memcpy(heap_.get() + heap_used_, text.data(), text.size());
    heap_used_ += text.size();
  }

  void flush() {
    if (num_rows_ > 0) {
      record::batch b;
      b.rows = rows_.get();
      b.num_rows = num_rows_;
      b.row_bytes = type_.row_bytes();
      b.heap = heap_.get();
      b.heap_bytes = heap_used_;
      num_bytes_ += b.num_bytes();
      if (heap_) {
        b.owner = std::make_shared<std::pair<buffer, buffer>>(std::move(rows_), std::move(heap_));
      } else {
        b.owner = std::move(rows_);
      }
      out_.push_back(std::move(b));
    }
    rows_.reset();
    heap_.reset();
    num_rows_ = capacity_ = heap_used_ = 0;
  }

 private:
  using buffer = std::shared_ptr<std::byte[]>;
  const record::row_type& type_;
  record::batch_pool& pool_;
  record::batch_shape shape_;
  std::vector<record::batch>& out_;
  buffer rows_;
  buffer heap_;
  size_t num_rows_ = 0;
  size_t capacity_ = 0;
  size_t heap_used_ = 0;
  size_t row_start_heap_ = 0;
  uint64_t num_bytes_ = 0;
};

struct csv_parser::failure {
  const char* where = nullptr;  // first byte of the field at fault
  std::string reason;
};

csv_parser::csv_parser(record::row_type type, csv_format format) : type_(std::move(type)), format_(format) {}

csv_parser::progress csv_parser::parse(std::string_view text, uint64_t first_line, record::batch_pool& pool,
                                       size_t batch_bytes, std::vector<record::batch>& rows,
                                       const std::function<bool(const malformed_record&)>& reject,
                                       uint64_t most_bytes) const {
  if (text.size() > UINT32_MAX)
    throw error(error_kind::bad_data, fmt::format("line {}: longer than 4 GiB", first_line + 1),
                "split the line or store it as several rows");
  const char* p = text.data();
  const char* const end = p + text.size();
  filler to(type_, pool, batch_bytes, rows);
  failure why;
  progress done;
  uint64_t rejected_bytes = 0;
  uint64_t lines = first_line;  // up to `counted`
  const char* counted = p;
  while (p != end && to.num_bytes() + rejected_bytes < most_bytes) {
    ++done.num_records;
    std::byte* const row = to.begin_row(static_cast<size_t>(end - p));
    const char* const next = parse_record(p, end, row, to, why);
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

// Behind the record's line end; null and `why` when it is malformed.
const char* csv_parser::parse_record(const char* p, const char* end, std::byte* row, filler& to, failure& why) const {
  const auto fail = [&why](const char* where, std::string reason) -> const char* {
    why.where = where;
    why.reason = std::move(reason);
    return nullptr;
  };
  const char delimiter = format_.delimiter;
  const size_t num_columns = type_.num_columns();
  std::string unescaped;
  for (size_t c = 0; c < num_columns; ++c) {
    const record::column& column = type_[c];
    const char* const start = p;
    if (column.type.is_unsigned()) {
      if (const char* const behind =
              parse_short_number(p, end, delimiter, column.type.num_bytes, row + column.offset)) {
        p = behind;
        const bool last = c + 1 == num_columns;
        if (last == (*p == '\n')) {
          ++p;
          if (last) return p;
          continue;
        }
        p = start;  // too many or too few fields: said below
      }
    }
    std::string_view field;
    if (p != end && format_.quote && *p == *format_.quote) {
      bool escaped = false;
      const char* const closing = find_closing_quote(p + 1, end, *format_.quote, escaped);
      if (closing == end) return fail(start, "a quoted field is never closed");
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
      if (p != end && *p != delimiter && *p != '\n') return fail(start, "text after a closing quote");
    } else {
      p = find_either(p, end, delimiter, '\n');
      const char* behind = p;
      if ((p == end || *p == '\n') && behind != start && behind[-1] == '\r' && delimiter != '\r') --behind;
      field = {start, behind};
    }
    const bool line_ends = p == end || *p == '\n';
    const bool last = c + 1 == num_columns;
    if (line_ends && !last) return fail(start, fmt::format("expected {} fields, got {}", num_columns, c + 1));
    if (column.type.is_string()) {
      to.put_string(row + column.offset, field);
    } else if (!parse_value(column.type, field, row + column.offset)) {
      return fail(start, refusal(column.type, field));
    }
    if (last) {
      if (line_ends) return p == end ? end : p + 1;
      size_t fields = num_columns;
      const char* const extra = p + 1;
      bool quoted = false;
      for (const char* q = p; q != end && *q != '\n'; ++fields) {  // count them all for the message
        ++q;
        if (q != end && format_.quote && *q == *format_.quote)
          q = find_closing_quote(q + 1, end, *format_.quote, quoted);
        q = find_either(q, end, delimiter, '\n');
      }
      return fail(extra, fmt::format("expected {} fields, got {}", num_columns, fields));
    }
    ++p;  // the delimiter
  }
  return fail(p, "no columns");  // a type has at least one
}

}  // namespace flowrun::operators
