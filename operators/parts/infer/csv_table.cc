#include "operators/parts/infer/csv_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "engine/base/counted.h"
#include "engine/base/error.h"
#include "engine/base/excerpt.h"
#include "engine/base/units.h"
#include "operators/parts/infer/column_decision.h"
#include "operators/parts/infer/column_names.h"
#include "operators/parts/text/csv_value.h"
#include "specs/source_text.h"

namespace flowrun::operators {

namespace {

// Of its lines, one in so many may be malformed.
constexpr uint64_t most_malformed = 10;

// A column that is taken: its field, and what was decided.
struct taken_column {
  size_t field;
  std::string name;
  column_decision decided;
};

std::string shown_byte(char c) {
  if (c == '\t') return "a tab";
  if (c == ' ') return "a blank";
  return quoted_excerpt(std::string_view(&c, 1));
}

class composition {
 public:
  explicit composition(const csv_table& table) : table_(table) {}

  inferred_source take() {
    out_.format = "csv";
    out_.op = "file.read_csv";
    out_.sink_op = "file.write_csv";
    refuse_other_lines();
    choose_columns();
    decide();
    choose_missing();
    add_settings();
    describe();
    return std::move(out_);
  }

 private:
  void refuse_other_lines() const {
    const uint64_t all = table_.num_rows + table_.malformed_lines;
    if (table_.malformed_lines * most_malformed <= all || table_.malformed.empty()) return;
    const malformed_line& first = table_.malformed.front();
    throw error(
        error_kind::bad_data,
        fmt::format("{}: {}; {} of {} lines don't have {} fields", place_text(first.path, first.where), first.reason,
                    format_count(table_.malformed_lines), format_count(all), table_.columns.size()),
        table_.has_open_quote
            ? "a quote that begins a field and is never closed takes all the lines behind it: mend it there, or "
              "read the file with quote: \"\" where quotes mean nothing"
            : "--delimiter if the fields stand between other bytes, --as lines for a text that is no table");
  }

  // All but those that can't be taken by their names.
  void choose_columns() {
    const size_t num_fields = table_.columns.size();
    std::vector<std::string> headers = table_.headers;
    if (!table_.has_header)
      for (size_t i = 0; i < num_fields; ++i) headers.push_back(fmt::format("column_{}", i + 1));
    const std::vector<std::string> names = column_names(headers);
    for (size_t i = 0; i < num_fields; ++i) {
      const auto same = std::count(headers.begin(), headers.end(), headers[i]);
      if (same > 1) {
        const auto first = static_cast<size_t>(std::find(headers.begin(), headers.end(), headers[i]) - headers.begin());
        if (first == i)
          out_.questions.push_back(
              fmt::format("the header has {} {} times: these columns can't be told apart by it, and are "
                          "left out; give them different names",
                          quoted_excerpt(headers[i]), same));
      } else if (!specs::is_utf8(headers[i])) {
        out_.questions.push_back(
            fmt::format("the name of column {} is not UTF-8, and the column is left out; "
                        "iconv -f latin1 -t utf-8 may mend the file",
                        i + 1));
      } else {
        taken_.push_back({i, names[i], {}});
      }
    }
    if (taken_.empty())
      throw error(error_kind::bad_data, "the header has no name that is there once", "mend it, or --header no");
  }

  void decide() {
    std::optional<bool> day_first;  // as a column tells that has a day above 12
    for (const taken_column& t : taken_) {
      const column_evidence& seen = table_.columns[t.field];
      if (seen.forms.any() && seen.values > 0 && !day_first) day_first = seen.forms.day_first();
    }
    for (taken_column& t : taken_) t.decided = decide_column(table_.columns[t.field], t.name, day_first);
  }

  // Which texts are missing values, in all columns but those of text, which keep theirs as they are.
  void choose_missing() {
    std::set<size_t> words;
    for (const taken_column& t : taken_) words.insert(t.decided.missing.begin(), t.decided.missing.end());
    if (words.empty()) return;
    for (const size_t word : words) null_values_.emplace_back(missing_words[word]);
    free_names names;
    for (const taken_column& t : taken_) names.take(t.name);
    for (taken_column& t : taken_) {
      if (t.decided.type.is_text()) continue;
      const column_evidence& seen = table_.columns[t.field];
      const bool has_one = std::any_of(words.begin(), words.end(),
                                       [&](size_t word) { return seen.missing[word] + seen.quoted_missing[word] > 0; });
      if (has_one) {
        const std::string told_by = names.take(t.name + "_missing");
        told_.emplace_back(t.name, told_by);
      }
    }
  }

  void add_settings() {
    if (table_.format.delimiter != ',') add("delimiter").text = std::string(1, table_.format.delimiter);
    if (table_.format.quote != std::optional<char>('"'))
      add("quote").text = table_.format.quote ? std::string(1, *table_.format.quote) : "";
    if (table_.has_header) add("columns").text = "header";
    pairs other_names, forms;
    for (const taken_column& t : taken_) {
      if (table_.has_header && table_.headers[t.field] != t.name)
        other_names.emplace_back(t.name, table_.headers[t.field]);
      if (!t.decided.form.empty()) forms.emplace_back(t.name, t.decided.form);
    }
    if (!other_names.empty()) add("names").map = std::move(other_names);
    if (!forms.empty()) add("format").map = std::move(forms);
    if (!null_values_.empty()) add("null_values").list = null_values_;
    if (!told_.empty()) add("missing").map = told_;
  }

  void describe() {
    const std::string quote = !table_.format.quote          ? ", no quotes"
                              : *table_.format.quote == '"' ? ""
                                                            : ", quoted with " + shown_byte(*table_.format.quote);
    out_.notes.push_back(fmt::format("{} a line, {} between them{}, {}", counted(table_.columns.size(), "field"),
                                     shown_byte(table_.format.delimiter), quote,
                                     table_.has_header ? "line 1 is a header" : "no header"));
    out_.questions.insert(out_.questions.begin(), table_.questions.begin(), table_.questions.end());
    if (table_.num_malformed > 0) {
      out_.skips_malformed = true;
      std::string list;
      for (const malformed_line& bad : table_.malformed)
        list += fmt::format("{}{}: {}", list.empty() ? "" : "; ", place_text(bad.path, bad.where), bad.reason);
      const bool more = table_.num_malformed > table_.malformed.size();
      out_.questions.push_back(fmt::format(
          "{} of {} lines are malformed, and on_error leaves them out: {}{}", format_count(table_.malformed_lines),
          format_count(table_.malformed_lines + table_.num_rows), list, more ? "; …" : ""));
    }
    for (taken_column& t : taken_) {
      inferred_column column;
      column.name = t.name;
      if (table_.has_header) column.header = table_.headers[t.field];
      column.type = t.decided.type;
      column.num_missing = t.decided.num_missing;
      for (const size_t word : t.decided.missing) column.missing_texts.emplace_back(missing_words[word]);
      for (const auto& [name, told_by] : told_)
        if (name == t.name) column.told_by = told_by;
      column.least = t.decided.least;
      column.most = t.decided.most;
      column.notes = t.decided.notes;
      for (const std::string& question : t.decided.questions)
        out_.questions.push_back(fmt::format("'{}': {}", t.name, question));
      out_.columns.push_back(std::move(column));
    }
  }

  using pairs = std::vector<std::pair<std::string, std::string>>;

  inferred_setting& add(const char* name) {
    out_.settings.push_back({name, {}, {}, {}});
    return out_.settings.back();
  }

  const csv_table& table_;
  std::vector<taken_column> taken_;
  std::vector<std::string> null_values_;
  pairs told_;
  inferred_source out_;
};

}  // namespace

std::string place_text(const std::string& path, const field_place& where) {
  return where.line > 0 ? fmt::format("{}:{}", path, where.line)
                        : fmt::format("{}, byte {}", path, format_count(where.byte));
}

inferred_source source_of(const csv_table& table) { return composition(table).take(); }

}  // namespace flowrun::operators
