#include "operators/parts/text/csv_formatter.h"

#include <algorithm>
#include <span>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/excerpt.h"
#include "engine/io/encoding.h"
#include "operators/parts/text/csv_value.h"
#include "operators/parts/text/growing_text.h"

namespace flowrun::operators {

namespace {

// What readers of files take for something else when it is the first there.
bool begins_unlike_text(std::string_view field) {
  return field.starts_with(byte_order_mark) || io::recognise(std::as_bytes(std::span(field))) != io::encoding::plain;
}

// Within quotes, each quote twice.
char* put_quoted(std::string_view field, char quote, char* to) {
  *to++ = quote;
  for (const char c : field) {
    if (c == quote) *to++ = quote;
    *to++ = c;
  }
  *to++ = quote;
  return to;
}

}  // namespace

csv_formatter::csv_formatter(std::vector<record::column> columns, csv_format format)
    : csv_formatter(written_missing{std::move(columns)}, format, {}) {}

csv_formatter::csv_formatter(written_missing columns, csv_format format, std::string null_text)
    : columns_(std::move(columns)), format_(format), null_text_(std::move(null_text)) {
  for (size_t i = 0; i < columns_.columns.size(); ++i)
    number_chars_ +=
        (columns_.columns[i].type.is_text() ? 1 : max_value_chars + 3) + (columns_.tells(i) ? null_text_.size() : 0);
}

// No number has a delimiter or a quote in it, but a time of day has colons.
bool csv_formatter::may_need_quotes(const record::value_type& type) const {
  return type.is_text() || (type.is_timestamp() && (format_.delimiter == ':' || format_.quote == ':'));
}

void csv_formatter::refuse_unquoted(std::string_view field, size_t column) const {
  const std::string& name = columns_.columns[column].name;
  if (!needs_quotes(field, column))
    throw error(error_kind::bad_data,
                fmt::format("column '{}' holds {}, which without quotes would be read as a missing value", name,
                            quoted_excerpt(field)),
                "leave `quote` out, or choose a `null_text` that no text is");
  throw error(error_kind::bad_data,
              fmt::format("column '{}' holds {}, which can't be written without quotes", name, quoted_excerpt(field)),
              "leave `quote` out, or choose a delimiter that no text contains");
}

text_block csv_formatter::format(const record::batch& in, record::batch_pool& pool, uint64_t most_bytes,
                                 std::vector<size_t>* ends) const {
  growing_text out(pool);
  char* to = nullptr;
  size_t num_rows = 0;
  const size_t usual = std::max<size_t>(in.num_rows * columns_.columns.size() * 8 + in.heap_bytes, 64);
  out.reserve(to, std::min<uint64_t>(usual, std::max<uint64_t>(most_bytes, 64)));
  for (; num_rows < in.num_rows && out.size(to) < most_bytes; ++num_rows) {
    const std::byte* const row = in.row(num_rows);
    out.reserve(to, number_chars_);
    for (size_t i = 0; i < columns_.columns.size(); ++i) {
      const record::column& c = columns_.columns[i];
      const std::byte* const at = row + c.offset;
      if (columns_.is_missing(i, row)) {
        to = std::copy(null_text_.begin(), null_text_.end(), to);
      } else if (!may_need_quotes(c.type)) {
        to = format_value(c.type, at, to);
      } else {
        char time[max_value_chars];
        const std::string_view field = c.type.is_string() ? record::load_string(at, in.heap)
                                       : c.type.is_timestamp()
                                           ? std::string_view(time, format_value(c.type, at, time))
                                           : std::string_view(reinterpret_cast<const char*>(at), c.type.num_bytes);
        const bool in_quotes = needs_quotes(field, i) || (columns_.tells(i) && field == null_text_);
        // Each byte of it may be a quote; and what the rest of the row's numbers may take.
        const size_t most = (in_quotes ? 2 * field.size() + 2 : field.size()) + number_chars_;
        out.reserve(to, most);
        if (in_quotes) {
          if (!format_.quote) refuse_unquoted(field, i);
          to = put_quoted(field, *format_.quote, to);
        } else if (!field.empty()) {
          std::memcpy(to, field.data(), field.size());
          to += field.size();
        }
      }
      *to++ = format_.delimiter;
    }
    to[-1] = '\n';
    if (ends != nullptr) ends->push_back(out.size(to));
  }
  return out.take(to, num_rows);
}

bool csv_formatter::needs_quotes(std::string_view field, size_t column) const {
  return (column == 0 && begins_unlike_text(field)) ||
         contains_any(field, format_.delimiter, format_.quote.value_or('\n'), '\n', '\r');
}

std::string csv_formatter::header(const std::vector<std::string>& names) const {
  std::string line;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) line += format_.delimiter;
    if (!needs_quotes(names[i], i)) {
      line += names[i];
      continue;
    }
    if (!format_.quote) refuse_unquoted(names[i], i);
    std::string quoted(2 * names[i].size() + 2, '\0');
    quoted.resize(static_cast<size_t>(put_quoted(names[i], *format_.quote, quoted.data()) - quoted.data()));
    line += quoted;
  }
  return line + '\n';
}

}  // namespace flowrun::operators
