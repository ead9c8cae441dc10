// A file whose source is inferred. The last bytes of an input choose how the text comes in pieces.
//
// What holds of every text that isn't refused: however it is cut, the same source comes of it; and the reader of CSV,
// with the type and the settings that were found, takes every record, but for those that were told to be malformed.
#include <algorithm>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "operators/parts/infer/source_format.h"
#include "operators/parts/text/csv_layout.h"
#include "operators/parts/text/csv_parser.h"
#include "operators/parts/text/csv_value.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/property.h"
#include "tests/fuzz/target.h"

namespace flowrun::fuzz {

namespace {

using operators::inferred_setting;
using operators::inferred_source;

struct found {
  inferred_source source;
  uint64_t num_rows = 0;
};

// Nothing where it is no CSV, or refused. `step`: bytes that come at once; 0: all.
std::optional<found> inferred(std::string_view text, size_t step, const operators::infer_options& options) {
  const std::string path = "x";
  try {
    const auto made = operators::recognise_csv({path, text, true}, options, false);
    if (made == nullptr) return std::nullopt;
    made->begin_file(path);
    size_t done = 0;
    for (size_t known = step == 0 ? text.size() : step;; known += step) {
      known = std::min(known, text.size());
      const bool ends = known == text.size();
      const size_t taken = made->add({text.substr(done, known - done), done, true, ends}, ~uint64_t{0});
      must_hold(taken <= known - done, "{} bytes taken of {}", taken, known - done);
      done += taken;
      if (ends) break;
    }
    must_hold(done == text.size(), "{} bytes taken of {}", done, text.size());
    return found{made->finish(), made->num_rows()};
  } catch (const error& problem) {
    must_hold(problem.kind() == error_kind::bad_data && !problem.hint().empty(), "refused with '{}'", problem.what());
    return std::nullopt;
  }
}

const inferred_setting* setting(const inferred_source& source, std::string_view name) {
  for (const inferred_setting& s : source.settings)
    if (s.name == name) return &s;
  return nullptr;
}

std::string summary(const inferred_source& source) {
  std::string out;
  for (const operators::inferred_column& c : source.columns) out += c.name + ":" + to_string(c.type) + c.least + c.most;
  for (const inferred_setting& s : source.settings) {
    out += s.name + s.text;
    for (const std::string& text : s.list) out += text;
    for (const auto& [name, text] : s.map) out += name + text;
  }
  for (const std::string& question : source.questions) out += question;
  return out;
}

// The reader's settings as a job with this source would give them.
struct reader {
  explicit reader(const inferred_source& source) {
    std::vector<record::column> columns;
    for (const operators::inferred_column& c : source.columns) {
      columns.push_back({c.name, c.type});
      names.push_back(c.header);
    }
    type = record::row_type(std::move(columns));
    if (const auto* s = setting(source, "delimiter")) format.delimiter = s->text[0];
    if (const auto* s = setting(source, "quote"))
      format.quote = s->text.empty() ? std::nullopt : std::optional<char>(s->text[0]);
    by_header = setting(source, "columns") != nullptr;
    missing.columns.resize(type.num_columns());
    missing.values.resize(type.row_bytes());
    if (const auto* s = setting(source, "null_values")) missing.texts = s->list;
    if (const auto* s = setting(source, "default"))
      for (const auto& [name, text] : s->map) missing.columns[*type.index_of(name)].allowed = true;
    if (const auto* s = setting(source, "missing"))
      for (const auto& [name, told] : s->map) missing.columns[*type.index_of(name)].allowed = true;
    if (const auto* s = setting(source, "format")) {
      times.columns.resize(type.num_columns());
      for (const auto& [name, pattern] : s->map)
        times.columns[*type.index_of(name)] =
            operators::csv_times::form{pattern, std::get<calendar::time_format>(calendar::time_format::of(pattern))};
    }
  }

  record::row_type type;
  std::vector<std::string> names;
  operators::csv_format format;
  operators::csv_missing missing;
  operators::csv_times times;
  bool by_header = false;
};

void read_all(std::string_view text, const found& what) {
  const reader how(what.source);
  std::optional<operators::csv_layout> layout;
  if (how.by_header) {
    const char* const end = text.data() + text.size();
    const char* const behind = operators::record_end(text.data(), end, how.format);
    layout = operators::layout_by_header("x", {text.data(), behind}, how.names, how.format);
    text = {behind, end};
  }
  record::batch_pool pool;
  uint64_t rejected = 0, lines = 0;
  std::string first;
  const operators::csv_parser parser(how.type, how.format, how.missing, how.times);
  std::vector<record::batch> rows;
  const auto done = parser.parse(
      text, 0, pool, size_t{1} << 16, rows,
      [&](const operators::malformed_record& bad) {
        if (rejected++ == 0) first = bad.reason;
        lines += 1 + static_cast<uint64_t>(std::count(bad.text.begin(), bad.text.end(), '\n'));
        return true;
      },
      ~uint64_t{0}, layout ? &*layout : nullptr);
  must_hold(done.num_records == what.num_rows, "{} records are read, {} were seen", done.num_records, what.num_rows);
  must_hold((rejected > 0) == what.source.skips_malformed, "{} records are refused, the first: {}", rejected, first);
  if (rejected == 0) return;
  bool told = false;
  for (const std::string& question : what.source.questions)
    told = told || question.starts_with(fmt::format("{} of ", format_count(lines)));
  must_hold(told, "{} lines are refused, and another number was told", lines);
}

}  // namespace

void try_input(std::string_view bytes) {
  input in(bytes);
  const size_t step = in.byte();
  operators::infer_options options;
  switch (in.below(4)) {
    case 0: options.header = true; break;
    case 1: options.header = false; break;
    default: break;
  }
  const std::string text(in.rest());
  const auto whole = inferred(text, 0, options);
  const auto in_pieces = inferred(text, step + 1, options);
  must_hold(whole.has_value() == in_pieces.has_value(), "cut into pieces it is {} CSV", in_pieces ? "" : "no ");
  if (!whole) return;
  must_hold(summary(whole->source) == summary(in_pieces->source), "pieces of {} bytes give another source", step + 1);
  read_all(text, *whole);
}

}  // namespace flowrun::fuzz
