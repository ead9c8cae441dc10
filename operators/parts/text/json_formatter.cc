#include "operators/parts/text/json_formatter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/excerpt.h"
#include "engine/record/value_text.h"
#include "operators/parts/text/csv_value.h"
#include "operators/parts/text/growing_text.h"
#include "operators/parts/text/json_text.h"

namespace flowrun::operators {

namespace {

template <class Float>
bool is_finite(const std::byte* at) {
  Float value;
  std::memcpy(&value, at, sizeof value);
  return std::isfinite(value);
}

char* put_null(char* to) {
  std::memcpy(to, "null", 4);
  return to + 4;
}

// Any value but a text.
char* put_value(record::value_type type, const std::byte* at, char* to) {
  const bool number = type.kind == record::type_kind::f32   ? is_finite<float>(at)
                      : type.kind == record::type_kind::f64 ? is_finite<double>(at)
                                                            : true;
  if (!number) return put_null(to);  // JSON has no such number
  if (!type.is_time()) return format_value(type, at, to);
  *to++ = '"';
  to = format_value(type, at, to);
  *to++ = '"';
  return to;
}

}  // namespace

json_formatter::json_formatter(std::vector<record::column> columns, const json_layout& layout)
    : json_formatter(written_missing{std::move(columns)}, layout, {}) {}

json_formatter::json_formatter(written_missing columns, const json_layout& layout, std::string node)
    : columns_(std::move(columns)), node_(std::move(node)) {
  std::string between;
  add(layout, 0, between);
  behind_ = between + "\n";
  fixed_chars_ = behind_.size();
  for (const value& v : values_) fixed_chars_ += v.before.size() + max_value_chars + 2;
}

void json_formatter::add(const json_layout& layout, size_t object, std::string& between) {
  between += '{';
  bool first = true;
  for (const json_layout::entry& e : layout.objects[object].entries) {
    if (!std::exchange(first, false)) between += ',';
    between += e.quoted + ":";
    if (e.column)
      values_.push_back({std::exchange(between, {}), *e.column});
    else
      add(layout, e.object, between);
  }
  between += '}';
}

void json_formatter::refuse_bytes(std::string_view text, size_t column, const std::byte* row,
                                  const std::byte* heap) const {
  const std::string& name = columns_.columns[column].name;
  throw error(error_kind::bad_data,
              fmt::format("{}column '{}' holds {}, which is no UTF-8, as texts of JSON are; the row is {}",
                          node_.empty() ? std::string() : fmt::format("node '{}': ", node_), name, quoted_excerpt(text),
                          record::row_text(columns_.columns, row, heap)),
              "write a text of the bytes, such as hex(" + name + ") in a map, or use file.write_csv");
}

text_block json_formatter::format(const record::batch& in, record::batch_pool& pool, uint64_t most_bytes,
                                  std::vector<size_t>* ends) const {
  growing_text out(pool);
  char* to = nullptr;
  size_t num_rows = 0;
  const size_t usual = std::max<size_t>(in.num_rows * fixed_chars_ / 2 + in.heap_bytes, 64);
  out.reserve(to, std::min<uint64_t>(usual, std::max<uint64_t>(most_bytes, 64)));
  for (; num_rows < in.num_rows && out.size(to) < most_bytes; ++num_rows) {
    const std::byte* const row = in.row(num_rows);
    out.reserve(to, fixed_chars_);
    for (const value& v : values_) {
      std::memcpy(to, v.before.data(), v.before.size());
      to += v.before.size();
      if (columns_.is_missing(v.column, row)) {
        to = put_null(to);
        continue;
      }
      const record::column& c = columns_.columns[v.column];
      const std::byte* const at = row + c.offset;
      if (!c.type.is_text()) {
        to = put_value(c.type, at, to);
        continue;
      }
      const std::string_view text = c.type.is_string()
                                        ? record::load_string(at, in.heap)
                                        : std::string_view(reinterpret_cast<const char*>(at), c.type.num_bytes);
      if (!is_utf8(text)) refuse_bytes(text, v.column, row, in.heap);
      // And what the rest of the row may take.
      out.reserve(to, json_text_bytes(text) + fixed_chars_);
      to = put_json_text(text, to);
    }
    std::memcpy(to, behind_.data(), behind_.size());
    to += behind_.size();
    if (ends != nullptr) ends->push_back(out.size(to));
  }
  return out.take(to, num_rows);
}

}  // namespace flowrun::operators
