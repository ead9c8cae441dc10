// CSV text. The last bytes of an input choose the format, the columns and where the text is cut.
//
// What holds of every text: however it is cut into chunks and pieces, the same rows come of it, and the same records
// are refused for the same reasons; where all columns are strings, those that a reader finds which takes one byte at a
// time, and the same with some of the columns, taken by header; and rows that are written read as the same rows.
#include <algorithm>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "operators/parts/text/csv_formatter.h"
#include "operators/parts/text/csv_header.h"
#include "operators/parts/text/csv_layout.h"
#include "operators/parts/text/csv_missing.h"
#include "operators/parts/text/csv_parser.h"
#include "operators/parts/text/csv_value.h"
#include "operators/parts/text/text_cutter.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/parsed_text.h"
#include "tests/fuzz/property.h"
#include "tests/fuzz/target.h"

namespace flowrun::fuzz {

namespace {

using operators::csv_format;
using record::row_type;

csv_format format_of(input& in) {
  constexpr std::string_view delimiters = ",;\t| :\"x";
  csv_format out;
  out.delimiter = delimiters[in.below(6)];
  switch (in.below(4)) {
    case 0: out.quote.reset(); break;
    case 1: out.quote = '\''; break;
    default: break;
  }
  return out;
}

row_type type_of(input& in) {
  constexpr const char* types[] = {"string", "u8",   "u32",      "u64",    "i16",  "i64",       "f32",       "f64",
                                   "u24",    "bool", "bytes[3]", "string", "date", "timestamp", "decimal[2]"};
  std::vector<record::column> columns(1 + in.below(4));
  const bool only_strings = in.flag();
  for (size_t i = 0; i < columns.size(); ++i)
    columns[i] = {std::string(1, static_cast<char>('a' + i)),
                  *record::parse_value_type(only_strings ? "string" : types[in.below(std::size(types))])};
  return row_type(std::move(columns));
}

// One piece of whole records, in steps of about `most_bytes`.
void parse_piece(const row_type& type, const csv_format& format, std::string_view text, uint64_t first_line,
                 uint64_t most_bytes, parsed& out, const operators::csv_layout* layout = nullptr,
                 const operators::csv_missing& missing = {}) {
  record::batch_pool pool;
  const operators::csv_parser parser(type, format, missing);
  parse_in_steps(type, text, first_line, out,
                 [&](std::string_view part, uint64_t line, std::vector<record::batch>& rows, const auto& reject) {
                   return parser.parse(part, line, pool, 256, rows, reject, most_bytes, layout);
                 });
}

// Every other column, the last one first, as a header may say it: what the whole records have there.
void look_at_layout(const row_type& type, const csv_format& format, std::string_view text, const parsed& whole) {
  const auto& columns = type.columns();
  if (!std::all_of(columns.begin(), columns.end(), [](const auto& c) { return c.type.is_string(); })) return;
  operators::csv_layout layout;
  layout.num_fields = columns.size();
  const size_t num_taken = (columns.size() + 1) / 2;
  for (size_t i = 0; i < num_taken; ++i) layout.taken.push_back({2 * i, num_taken - 1 - i});
  const row_type taken({columns.begin(), columns.begin() + static_cast<ptrdiff_t>(num_taken)});
  parsed found, expected;
  parse_piece(taken, format, text, 0, ~uint64_t{0}, found, &layout);
  for (const values& row : whole.rows) {
    values& chosen = expected.rows.emplace_back(num_taken);
    for (const auto& f : layout.taken) chosen[f.column] = row[f.field];
  }
  must_hold(found.rows == expected.rows, "{} rows by header, {} whole", found.rows.size(), expected.rows.size());
  must_hold(found.bad == whole.bad, "{} records are refused by header, {} whole", found.bad.size(), whole.bad.size());
}

// A reader that looks for missing values, and finds none that has a default, reads the same rows.
void look_at_missing(const row_type& type, const csv_format& format, std::string_view text, const parsed& whole) {
  operators::csv_missing missing;
  missing.texts = {"7", "a text that no input has"};
  missing.any_number = true;
  missing.columns.resize(type.num_columns());
  missing.values.resize(type.row_bytes());
  missing.default_texts = "texts of defaults";
  parsed found;
  parse_piece(type, format, text, 0, ~uint64_t{0}, found, nullptr, missing);
  must_hold(found.rows.size() + found.bad.size() == whole.rows.size() + whole.bad.size(), "{} records, and {} whole",
            found.rows.size() + found.bad.size(), whole.rows.size() + whole.bad.size());
  size_t at = 0;
  for (const values& row : whole.rows) {  // but for those with a 7, which are refused
    if (at < found.rows.size() && found.rows[at] == row)
      ++at;
    else
      must_hold(std::any_of(row.begin(), row.end(),
                            [](const std::string& field) { return field == "7" || field == "7.00"; }),  // of a decimal
                "a row is not read that has no missing value");
  }
  must_hold(at == found.rows.size(), "{} rows of {}", at, found.rows.size());
}

parsed parse_in_pieces(const row_type& type, const csv_format& format, std::string_view text, size_t chunk_bytes,
                       size_t piece_bytes) {
  record::batch_pool pool;
  operators::cutter_options options;
  options.format = format;
  options.piece_bytes = piece_bytes;
  operators::text_cutter cutter(options, pool);
  cutter.begin_file("in.csv");
  std::vector<operators::text_piece> pieces;
  for (size_t from = 0; from < text.size(); from += chunk_bytes) {
    const std::string_view part = text.substr(from, chunk_bytes);
    // Exactly as long as it is, so that what is read beyond its end is seen.
    const auto chunk = std::make_shared<const std::vector<char>>(part.begin(), part.end());
    cutter.feed(chunk, {chunk->data(), chunk->size()}, pieces);
  }
  cutter.finish(pieces);
  parsed out;
  std::string all;
  for (const operators::text_piece& piece : pieces) {
    must_hold(piece.offset == all.size(), "a piece says it is at {}, and is at {}", piece.offset, all.size());
    all += piece.text;
    parse_piece(type, format, piece.text, piece.first_line, ~uint64_t{0}, out);
  }
  must_hold(all == text, "the pieces are not the text");
  return out;
}

// Byte by byte. `width`: how many fields a row has. What is refused is a record's whole text.
void read_slowly(const std::string& text, const csv_format& format, size_t width, std::vector<values>& rows,
                 std::vector<std::string>& bad) {
  for (size_t i = 0; i < text.size();) {
    const size_t start = i;
    values row;
    bool good = true, open = true;
    while (open) {
      std::string value, plain;
      bool quoted = false;
      if (i < text.size() && format.quote && text[i] == *format.quote) {
        quoted = true;
        bool closed = false;
        for (++i; i < text.size() && !closed; ++i) {
          closed = text[i] == *format.quote && (i + 1 == text.size() || text[i + 1] != *format.quote);
          if (closed) continue;
          if (text[i] == *format.quote) ++i;
          value += text[i];
        }
        good = good && closed;
      }
      while (i < text.size() && text[i] != format.delimiter && text[i] != '\n') plain += text[i++];
      const bool at_end = i == text.size() || text[i] == '\n';
      if (at_end && plain.ends_with('\r')) plain.pop_back();
      if (quoted && !plain.empty()) good = false;
      row.push_back(quoted ? value : plain);
      open = !at_end;
      if (i < text.size()) ++i;
    }
    if (good && row.size() == width) {
      rows.push_back(std::move(row));
      continue;
    }
    std::string raw = text.substr(start, i - start);
    if (raw.ends_with('\n')) raw.pop_back();
    if (raw.ends_with('\r')) raw.pop_back();
    bad.push_back(std::move(raw));
  }
}

void look_at_strings(const row_type& type, const csv_format& format, std::string_view text, const parsed& found) {
  const auto& columns = type.columns();
  if (!std::all_of(columns.begin(), columns.end(), [](const auto& c) { return c.type.is_string(); })) return;
  std::vector<values> rows;
  std::vector<std::string> bad, found_bad;
  read_slowly(std::string(text), format, columns.size(), rows, bad);
  for (const refused& one : found.bad) found_bad.push_back(one.text);
  must_hold(found.rows == rows, "{} rows, and {} byte by byte", found.rows.size(), rows.size());
  must_hold(found_bad == bad, "{} records are refused, and {} byte by byte", found_bad.size(), bad.size());
}

void look_at_writing(const row_type& type, const csv_format& format, const parsed& found, uint64_t most_bytes) {
  const operators::csv_formatter formatter(type.columns(), format);
  record::batch_pool pool;
  std::string text;
  try {
    for (record::batch left : found.batches)
      while (left.num_rows > 0) {
        const operators::text_block block = formatter.format(left, pool, most_bytes);
        must_hold(block.num_rows > 0, "no row was written");
        text += block.text();
        left = left.slice(block.num_rows, left.num_rows - block.num_rows);
      }
  } catch (const error& refused) {
    must_hold(refused.kind() == error_kind::bad_data && !format.quote, "rows can't be written: {}", refused.what());
    return;
  }
  parsed again;
  parse_piece(type, format, text, 0, ~uint64_t{0}, again);
  must_hold(again.bad.empty(), "what was written is refused: {}", again.bad.empty() ? "" : again.bad[0].reason);
  must_hold(again.rows == found.rows, "what was written reads as other rows:\n{}", text);
}

void look_at_header(const row_type& type, const csv_format& format, std::string_view text) {
  const char* const end = operators::record_end(text.data(), text.data() + text.size(), format);
  try {
    const std::string_view record(text.data(), static_cast<size_t>(end - text.data()));
    const operators::csv_layout layout = operators::layout_by_header("in.csv", record, type.names(), format);
    must_hold(layout.taken.size() == type.num_columns() && layout.num_fields >= layout.taken.size(), "{} of {} fields",
              layout.taken.size(), layout.num_fields);
    operators::check_csv_header("in.csv", record, type, format);
  } catch (const error& refused) {
    must_hold(refused.kind() == error_kind::bad_data, "a header is refused: {}", refused.what());
  }
}

}  // namespace

void try_input(std::string_view bytes) {
  input in(bytes);
  const csv_format format = format_of(in);
  const row_type type = type_of(in);
  const size_t chunk_bytes = 1 + in.byte(), piece_bytes = 1 + in.byte();
  const uint64_t most_bytes = 1 + in.byte();
  const std::string_view text = in.rest();
  parsed whole, stepwise;
  parse_piece(type, format, text, 0, ~uint64_t{0}, whole);
  parse_piece(type, format, text, 0, most_bytes, stepwise);
  must_hold(whole.rows == stepwise.rows && whole.bad == stepwise.bad, "{} rows at once, {} in steps", whole.rows.size(),
            stepwise.rows.size());
  const parsed pieces = parse_in_pieces(type, format, text, chunk_bytes, piece_bytes);
  must_hold(whole.rows == pieces.rows && whole.bad == pieces.bad, "{} rows at once, {} in pieces", whole.rows.size(),
            pieces.rows.size());
  look_at_strings(type, format, text, whole);
  look_at_layout(type, format, text, whole);
  look_at_missing(type, format, text, whole);
  look_at_writing(type, format, whole, most_bytes);
  look_at_header(type, format, text);
}

}  // namespace flowrun::fuzz
