// JSON lines: an object a line, whose keys are columns, also those in objects within.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/excerpt.h"
#include "engine/base/fault.h"
#include "engine/base/units.h"
#include "operators/parts/infer/column_decision.h"
#include "operators/parts/infer/column_names.h"
#include "operators/parts/infer/csv_table.h"
#include "operators/parts/infer/json_evidence.h"
#include "operators/parts/infer/source_format.h"
#include "operators/parts/text/csv_value.h"
#include "operators/parts/text/json_syntax.h"
#include "operators/parts/text/json_tokens.h"
#include "operators/parts/text/text_scan.h"

namespace flowrun::operators {

namespace {

constexpr size_t most_malformed_shown = 3;
constexpr uint64_t most_malformed = 10;  // one line in so many

// A path as `names` has it: user.id, with a backslash before dots of a key.
std::string escaped(const std::string& key) {
  std::string out;
  for (const char c : key) out += c == '.' || c == '\\' ? std::string{'\\', c} : std::string(1, c);
  return out;
}

class json_composition {
 public:
  json_composition(const key_tree& keys, uint64_t num_rows) : keys_(keys), num_rows_(num_rows), paths_(keys.size()) {
    children_.resize(keys.size());
    for (size_t i = 1; i < keys.size(); ++i) {
      children_[keys[i].parent].push_back(i);
      const std::string& outer = paths_[keys[i].parent];
      paths_[i] = (outer.empty() ? "" : outer + ".") + escaped(keys[i].key);
    }
  }

  inferred_source take() {
    out_.format = "json_lines";
    out_.op = "file.read_json_lines";
    out_.sink_op = "file.write_json_lines";
    out_.notes.emplace_back("an object of JSON a line");
    for (const size_t child : children_[0]) look_at(child);
    std::sort(taken_.begin(), taken_.end());
    if (taken_.empty())
      throw error(error_kind::bad_data, "the objects have no key whose values can be a column",
                  "--as lines reads the lines as they are");
    decide();
    add_settings();
    return std::move(out_);
  }

 private:
  // Takes the key as a column, or those in it, or leaves it out.
  void look_at(size_t number) {
    const key_evidence& key = keys_[number];
    std::vector<std::string> kinds;
    for (const auto& [kind, name] :
         {std::pair{json_kind_seen::text, "texts"}, std::pair{json_kind_seen::number, "numbers"},
          std::pair{json_kind_seen::truth, "true and false"}, std::pair{json_kind_seen::object, "objects"},
          std::pair{json_kind_seen::array, "arrays"}})
      if (key.count(kind) > 0) kinds.emplace_back(name);
    if (kinds.empty() && key.count(json_kind_seen::null) == 0) return;  // only in malformed lines
    if (key.key.empty()) return leave_out(number, "no path leads to an empty key");
    if (kinds.size() > 1) return leave_out(number, joined(kinds, " and ") + ", and a column has one of them");
    if (key.count(json_kind_seen::array) > 0) return leave_out(number, "arrays, and a column has one value");
    if (key.count(json_kind_seen::object) == 0) return taken_.push_back(number);
    for (const size_t child : children_[number]) look_at(child);
    if (children_[number].empty()) skips_others_ = true;
  }

  void leave_out(size_t number, const std::string& why) {
    skips_others_ = true;
    out_.questions.push_back(fmt::format("{} is left out: {}", quoted_excerpt(paths_[number]), why));
  }

  uint64_t num_missing(const key_evidence& key) const {
    return num_rows_ - key.count(json_kind_seen::text) - key.count(json_kind_seen::number) -
           key.count(json_kind_seen::truth);
  }

  void decide() {
    std::vector<std::string> headers;
    for (const size_t number : taken_) headers.push_back(paths_[number]);
    names_ = column_names(headers);
    std::optional<bool> day_first;
    for (const size_t number : taken_) {
      const column_evidence& seen = keys_[number].texts;
      if (seen.forms.any() && seen.values > 0 && !day_first) day_first = seen.forms.day_first();
    }
    for (size_t i = 0; i < taken_.size(); ++i) {
      const key_evidence& key = keys_[taken_[i]];
      const bool is_number = key.count(json_kind_seen::number) > 0;
      inferred_column& column = out_.columns.emplace_back();
      column.name = names_[i];
      column.header = paths_[taken_[i]];
      column.num_missing = num_missing(key);
      if (column.num_missing > 0) column.missing_texts = {"null, or no such key"};
      if (key.count(json_kind_seen::truth) > 0) {
        column.type = record::value_type::of(record::type_kind::boolean);
        continue;
      }
      if (column.num_missing == num_rows_) {
        column.type = record::value_type::of(record::type_kind::string);
        column.notes = {"only null"};
        continue;
      }
      column_decision decided = decide_column(is_number ? key.numbers : key.texts, names_[i], day_first,
                                              is_number ? column_kind::numbers : column_kind::texts);
      column.type = decided.type;
      column.least = std::move(decided.least);
      column.most = std::move(decided.most);
      column.notes = std::move(decided.notes);
      for (const std::string& question : decided.questions)
        out_.questions.push_back(fmt::format("'{}': {}", names_[i], question));
      if (!decided.form.empty()) forms_.emplace_back(names_[i], decided.form);
    }
  }

  void add_settings() {
    pairs other_names, defaults, told;
    free_names names;
    for (const std::string& name : names_) names.take(name);
    for (inferred_column& column : out_.columns) {
      if (column.header != column.name) other_names.emplace_back(column.name, column.header);
      if (column.num_missing == 0) continue;
      if (column.type.is_string()) {
        defaults.emplace_back(column.name, "");
        continue;
      }
      column.told_by = names.take(column.name + "_missing");
      told.emplace_back(column.name, column.told_by);
    }
    const auto add = [this](const char* name, pairs map) {
      if (!map.empty()) out_.settings.push_back({name, {}, {}, std::move(map)});
    };
    add("names", std::move(other_names));
    if (skips_others_) out_.settings.push_back({"other_keys", "skip", {}, {}});
    add("format", std::move(forms_));
    add("default", std::move(defaults));
    add("missing", std::move(told));
  }

  using pairs = std::vector<std::pair<std::string, std::string>>;

  const key_tree& keys_;
  const uint64_t num_rows_;
  std::vector<std::string> paths_;
  std::vector<std::vector<size_t>> children_;
  std::vector<size_t> taken_;
  std::vector<std::string> names_;
  pairs forms_;
  bool skips_others_ = false;
  inferred_source out_;
};

class json_lines_inference final : public source_inference {
 public:
  void begin_file(const std::string& path) override {
    path_ = path;
    line_ = 1;
  }

  size_t add(const text_stretch& stretch, uint64_t most_rows) override {
    const char* const begin = stretch.text.data();
    const char* const end = begin + stretch.text.size();
    const char* p = begin;
    if (!stretch.begins) {
      p = find_byte(p, end, '\n');
      if (p != end) ++p;
    }
    for (const uint64_t before = num_rows(); p != end && num_rows() - before < most_rows;) {
      const char* const line_end = find_byte(p, end, '\n');
      if (line_end == end && !stretch.ends) break;
      take({p, line_end}, {0, stretch.begins ? line_ : 0, stretch.offset + static_cast<uint64_t>(p - begin)});
      if (stretch.begins) ++line_;
      p = line_end == end ? end : line_end + 1;
    }
    return static_cast<size_t>(p - begin);
  }

  uint64_t num_rows() const override { return num_good_ + num_malformed_; }

  inferred_source finish() override {
    if (!malformed_.empty() && num_malformed_ * most_malformed > num_rows())
      throw error(error_kind::bad_data,
                  fmt::format("{}: {}; {} of {} lines are no JSON objects",
                              place_text(malformed_.front().path, malformed_.front().where), malformed_.front().reason,
                              format_count(num_malformed_), format_count(num_rows())),
                  "--as lines for a text that is none; where the file is one array, jq -c '.[]' makes lines of it");
    inferred_source out = json_composition(keys_, num_good_).take();
    if (num_malformed_ == 0) return out;
    out.skips_malformed = true;
    std::string list;
    for (const malformed_line& bad : malformed_)
      list += fmt::format("{}{}: {}", list.empty() ? "" : "; ", place_text(bad.path, bad.where), bad.reason);
    out.questions.push_back(fmt::format("{} of {} lines are malformed, and on_error leaves them out: {}{}",
                                        format_count(num_malformed_), format_count(num_rows()), list,
                                        num_malformed_ > malformed_.size() ? "; …" : ""));
    return out;
  }

 private:
  void take(std::string_view line, const field_place& where) {
    if (line.find_first_not_of(json_blanks) == std::string_view::npos) return;
    std::string reason = listener_.hear(line);
    if (reason.empty()) reason = repeated_key();
    if (!reason.empty()) {
      ++num_malformed_;
      if (malformed_.size() < most_malformed_shown) malformed_.push_back({path_, where, std::move(reason)});
      return;
    }
    ++num_good_;
    for (const json_line_listener::value& v : listener_.values()) {
      key_evidence& key = keys_[v.key];
      ++key.counts[static_cast<size_t>(v.kind)];
      if (v.kind == json_kind_seen::text) key.texts.add(v.text, true, where);
      if (v.kind == json_kind_seen::number) key.numbers.add(v.text, false, where);
    }
  }

  // Of a key that is there twice; empty: there is none.
  std::string repeated_key() {
    ++num_looked_at_;
    for (const json_line_listener::value& v : listener_.values())
      if (std::exchange(keys_[v.key].last_line, num_looked_at_) == num_looked_at_)
        return fmt::format("the key {} is there twice", quoted_excerpt(keys_[v.key].key));
    return {};
  }

  key_tree keys_;
  json_line_listener listener_{keys_};
  std::string path_;
  uint64_t line_ = 1;
  uint64_t num_looked_at_ = 0, num_good_ = 0, num_malformed_ = 0;
  std::vector<malformed_line> malformed_;  // the first few
};

}  // namespace

bool are_json_lines(std::string_view text, bool also_lists) {
  constexpr size_t most_lines = 20;
  size_t lines = 0, right = 0;
  while (!text.empty() && lines < most_lines) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    ++lines;
    const bool object = line.starts_with('{') && line.ends_with('}');
    const bool list = also_lists && line.starts_with('[') && line.ends_with(']');
    right += object || list || (text.empty() && line.starts_with('{'));  // the last one may be cut
  }
  return lines > 0 && right == lines;
}

std::unique_ptr<source_inference> recognise_json_lines(const file_beginning& beginning, const infer_options& options,
                                                       bool asked) {
  const bool other = options.delimiter || options.header;
  if (!asked && (other || !are_json_lines(beginning.text, false))) return nullptr;
  const size_t end = beginning.text.find('\n');
  const bool is_whole = beginning.whole || end != std::string_view::npos;
  if (!asked && is_whole && json_fault_in(beginning.text.substr(0, end))) return nullptr;
  return std::make_unique<json_lines_inference>();
}

}  // namespace flowrun::operators
