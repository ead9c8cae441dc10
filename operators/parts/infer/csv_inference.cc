// CSV: records with the same number of fields.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "operators/parts/infer/column_decision.h"
#include "operators/parts/infer/csv_dialect.h"
#include "operators/parts/infer/csv_table.h"
#include "operators/parts/infer/header_guess.h"
#include "operators/parts/infer/source_format.h"
#include "operators/parts/text/csv_header.h"
#include "operators/parts/text/csv_record.h"
#include "operators/parts/text/csv_value.h"

namespace flowrun::operators {

namespace {

constexpr size_t most_columns = 20'000;
constexpr size_t most_guessed_from = 1000;  // records, for the header
constexpr size_t most_malformed_shown = 3;

// Calls `take` for each record whose end is known, until it returns false. Returns where the next one begins.
template <class Take>
const char* each_record(std::string_view text, bool whole, const csv_format& format, Take&& take) {
  const char* p = text.data();
  const char* const end = p + text.size();
  while (p != end) {
    const char* const behind = record_end(p, end, format);
    if (behind == end && !whole) break;  // (a line end as the last byte may lie within quotes)
    if (!take(std::string_view(p, behind))) break;
    p = behind;
  }
  return p;
}

std::vector<std::vector<csv_field>> first_records(const file_beginning& beginning, const csv_dialect& dialect) {
  std::vector<std::vector<csv_field>> out;
  csv_record record;
  each_record(beginning.text, beginning.whole, dialect.format, [&](std::string_view text) {
    record.cut(text, dialect.format);
    const auto fields = record.fields();
    if (fields.size() == dialect.num_fields) out.emplace_back(fields.begin(), fields.end());
    return out.size() < most_guessed_from;
  });
  return out;
}

class csv_inference final : public source_inference {
 public:
  csv_inference(const csv_dialect& dialect, const header_guess& header) {
    table_.format = dialect.format;
    table_.has_header = header.is_header;
    table_.columns.resize(dialect.num_fields);
    if (!header.question.empty()) table_.questions.push_back(header.question);
  }

  void begin_file(const std::string& path) override {
    path_ = path;
    line_ = 1;
    header_due_ = table_.has_header;
    column_of_.resize(table_.columns.size());
    for (size_t i = 0; i < column_of_.size(); ++i) column_of_[i] = i;
  }

  size_t add(const text_stretch& stretch, uint64_t most_rows) override {
    std::string_view text = stretch.text;
    size_t skipped = 0;
    if (!stretch.begins) {
      skipped = first_record_in(text, stretch.ends);
      text.remove_prefix(skipped);
    }
    const uint64_t before = num_rows();
    const char* const behind = each_record(text, stretch.ends, table_.format, [&](std::string_view record) {
      if (num_rows() - before >= most_rows) return false;
      const auto offset = stretch.offset + skipped + static_cast<uint64_t>(record.data() - text.data());
      take(record, {0, stretch.begins ? line_ : 0, offset});
      if (stretch.begins) line_ += count_byte(record, '\n');
      return true;
    });
    return skipped + static_cast<size_t>(behind - text.data());
  }

  uint64_t num_rows() const override { return table_.num_rows + table_.num_malformed; }

  inferred_source finish() override { return source_of(table_); }

 private:
  void take(std::string_view text, const field_place& where) {
    record_.cut(text, table_.format);
    const auto fields = record_.fields();
    if (header_due_) {
      header_due_ = false;
      return take_header(fields);
    }
    const size_t wanted = table_.columns.size();
    const bool broken = std::any_of(fields.begin(), fields.end(), [](const csv_field& f) { return f.broken; });
    const bool empty = fields.size() == 1 && fields[0].text.empty() && !fields[0].quoted && wanted > 1;
    if (fields.size() == wanted && !broken) {
      for (size_t i = 0; i < wanted; ++i) table_.columns[column_of_[i]].add(fields[i].text, fields[i].quoted, where);
      ++table_.num_rows;
      return;
    }
    // Behind a quote that is never closed all the rest is one record: each of its lines would have been a row. (What is
    // looked at from the middle of a file on may have begun within quotes that are as they should be.)
    const uint64_t num_line_ends = where.line > 0 ? count_byte(text, '\n') : 0;
    ++table_.num_malformed;
    table_.malformed_lines += std::max<uint64_t>(1, num_line_ends + (text.ends_with('\n') ? 0 : 1));
    table_.has_open_quote |= broken && num_line_ends > 1;
    if (table_.malformed.size() < most_malformed_shown)
      table_.malformed.push_back({path_, where,
                                  empty    ? "an empty line"
                                  : broken ? "a quote that isn't closed, or text behind it"
                                           : fmt::format("expected {} fields, got {}", wanted, fields.size())});
  }

  // That of the first file names the columns; in others they may have another order.
  void take_header(std::span<const csv_field> fields) {
    std::vector<std::string> names;
    for (const csv_field& f : fields) names.push_back(f.text);
    if (table_.headers.empty()) {
      if (names.size() != table_.columns.size())
        throw error(error_kind::bad_data,
                    fmt::format("{}:1: the header has {} fields, and the lines behind it have {}", path_, names.size(),
                                table_.columns.size()),
                    "mend it, or --header no");
      table_.headers = std::move(names);
      first_path_ = path_;
      return;
    }
    if (names == table_.headers) return;
    std::vector<size_t> order;
    for (const std::string& name : names) {
      const auto found = std::find(table_.headers.begin(), table_.headers.end(), name);
      if (found != table_.headers.end()) order.push_back(static_cast<size_t>(found - table_.headers.begin()));
    }
    std::vector<size_t> sorted = order;
    std::sort(sorted.begin(), sorted.end());
    const bool permuted = order.size() == table_.headers.size() && names.size() == order.size() &&
                          std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
    if (!permuted)
      throw error(error_kind::bad_data,
                  fmt::format("{}:1: the header says {}; that of {} {}", path_, listed_names(names), first_path_,
                              listed_names(table_.headers)),
                  "one source reads files with the same columns; infer the others apart");
    column_of_ = order;
  }

  // As the rest of a text in quotes is that was cut within: with a quote that opens nothing.
  bool is_odd(const csv_field& f) const {
    return f.broken || (!f.quoted && table_.format.quote && f.text.find(*table_.format.quote) != std::string::npos);
  }

  // Where a record begins in text from somewhere in a file. A line end may lie within quotes: of the first few, the one
  // is taken behind which the most records have the right number of fields. The text's length where none does.
  size_t first_record_in(std::string_view text, bool ends) {
    constexpr int most_starts = 16;
    constexpr uint64_t looked_at = 64;
    constexpr double least_right = 0.8;
    double best = 0;
    size_t out = text.size();
    size_t at = text.find('\n');
    for (int i = 0; i < most_starts && at != std::string_view::npos && at + 1 < text.size(); ++i) {
      uint64_t right = 0, all = 0;
      each_record(text.substr(at + 1), ends, table_.format, [&](std::string_view record) {
        record_.cut(record, table_.format);
        const auto fields = record_.fields();
        right += fields.size() == table_.columns.size() &&
                 std::none_of(fields.begin(), fields.end(), [&](const csv_field& f) { return is_odd(f); });
        return ++all < looked_at;
      });
      const double share = all == 0 ? 0 : static_cast<double>(right) / static_cast<double>(all);
      if (share > best && share >= least_right) {
        best = share;
        out = at + 1;
      }
      if (best == 1) break;
      at = text.find('\n', at + 1);
    }
    return out;
  }

  csv_table table_;
  csv_record record_;
  std::string path_, first_path_;
  uint64_t line_ = 1;
  bool header_due_ = false;
  std::vector<size_t> column_of_;  // of each field of the file
};

// One field a line: a table only if the values are of a type, since lines of text are read as they are.
bool is_typed_column(const std::vector<std::vector<csv_field>>& records, bool has_header) {
  column_evidence seen;
  for (size_t i = has_header ? 1 : 0; i < records.size(); ++i) seen.add(records[i][0].text, records[i][0].quoted, {});
  return seen.values > 0 && !decide_column(seen, {}, std::nullopt).type.is_string();
}

// Blanks and colons part words as well: some column must have a type, or very many lines as many words.
bool is_likely_with(char delimiter, const std::vector<std::vector<csv_field>>& records, const csv_dialect& dialect,
                    bool has_header) {
  constexpr size_t many = 10;
  if (delimiter != ' ' && delimiter != ':') return true;
  if (records.size() >= many && dialect.agreeing == 1) return true;
  for (size_t column = 0; column < dialect.num_fields; ++column) {
    column_evidence seen;
    for (size_t i = has_header ? 1 : 0; i < records.size(); ++i) seen.add(records[i][column].text, false, {});
    if (seen.values > 0 && !decide_column(seen, {}, std::nullopt).type.is_string()) return true;
  }
  return false;
}

void refuse_preamble(const file_beginning& beginning, const csv_dialect& dialect) {
  csv_record record;
  uint64_t line = 1;
  bool found = false;
  each_record(beginning.text, beginning.whole, dialect.format, [&](std::string_view text) {
    record.cut(text, dialect.format);
    found = record.fields().size() == dialect.num_fields;
    if (!found) line += count_byte(text, '\n');
    return !found;
  });
  if (found && line > 1)
    throw error(
        error_kind::bad_data,
        fmt::format("{}:1: the table of {} fields a line begins in line {}", beginning.path, dialect.num_fields, line),
        fmt::format("drop what stands before it: tail -n +{} FILE | flowrun infer -", line));
}

}  // namespace

std::unique_ptr<source_inference> recognise_csv(const file_beginning& beginning, const infer_options& options,
                                                bool asked) {
  // Commas in objects and lists of JSON part no fields.
  if (!asked && !options.delimiter && are_json_lines(beginning.text, true)) return nullptr;
  const csv_format one_field{',', '"'};
  // A column alone comes first: 2026-11-23 12:00 is one value, and no two with a blank between.
  csv_dialect dialect{one_field, 1, 1, 1, 0};
  if (!options.delimiter) {
    const auto records = first_records(beginning, dialect);
    const header_guess header = options.header ? header_guess{*options.header, {}} : guess_header(records);
    const bool all_one = !records.empty() && guess_dialect(beginning.text, beginning.whole, ',').num_fields == 1;
    if (all_one && is_typed_column(records, header.is_header)) return std::make_unique<csv_inference>(dialect, header);
  }
  dialect = guess_dialect(beginning.text, beginning.whole, options.delimiter);
  const bool forced = asked || options.delimiter;
  if (!forced && !is_table(dialect)) return nullptr;
  if (dialect.num_fields > most_columns)
    throw error(error_kind::bad_data,
                fmt::format("{}:1: {} fields a line", beginning.path, format_count(dialect.num_fields)),
                fmt::format("at most {}; is the delimiter right?", format_count(most_columns)));
  refuse_preamble(beginning, dialect);
  const auto records = first_records(beginning, dialect);
  const header_guess header = options.header ? header_guess{*options.header, {}} : guess_header(records);
  if (!forced && !is_likely_with(dialect.format.delimiter, records, dialect, header.is_header)) return nullptr;
  return std::make_unique<csv_inference>(dialect, header);
}

}  // namespace flowrun::operators
