#include "runner/sort_command_job.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/machine.h"
#include "engine/base/units.h"
#include "engine/plan/path_template.h"
#include "runner/exact_bytes.h"
#include "specs/value.h"

namespace flowrun::runner {

namespace {

using specs::Value;

// Text as it is: no parameter is put into it.
Value literal(std::string text) {
  Value out;
  out.mutable_scalar()->set_text(std::move(text));
  out.mutable_scalar()->set_quoted(true);
  return out;
}

// One of the language's own words.
Value word(std::string text) {
  Value out = literal(std::move(text));
  out.mutable_scalar()->set_quoted(false);
  return out;
}

Value literals(const std::vector<std::string>& texts) {
  Value out;
  out.mutable_list();
  for (const std::string& text : texts) *out.mutable_list()->add_items() = literal(text);
  return out;
}

// The value of a new key; `origin`: the option that it comes from.
Value& add(Value& map, const std::string& key, Value value, const char* origin = "flowrun sort") {
  specs::Entry& entry = *map.mutable_map()->add_entries();
  entry.set_key(key);
  entry.mutable_key_position()->set_origin(origin);
  Value& added = *entry.mutable_value();
  added = std::move(value);
  added.mutable_position()->set_origin(origin);
  if (is_list(added))
    for (Value& item : *added.mutable_list()->mutable_items()) item.mutable_position()->set_origin(origin);
  return added;
}

// A text literal of the expression language.
std::string byte_literal(char byte) {
  const auto c = static_cast<unsigned char>(byte);
  if (c >= 0x20 && c < 0x7f && c != '\'' && c != '\\') return fmt::format("'{}'", byte);
  return fmt::format("'\\x{:02x}'", c);
}

// The bytes of the line that are the key.
std::string range_of(const line_key& key, const std::optional<char>& separator) {
  const key_ordering& o = key.ordering;
  if (key.last.empty() && !o.first_skips_blanks && (key.first == "1" || key.first == "1.1")) return sort_line_column;
  std::string range = key.first + (o.first_skips_blanks ? "b" : "");
  if (!key.last.empty()) range += "," + key.last + (o.last_skips_blanks ? "b" : "");
  return fmt::format("fields({}, '{}'{})", sort_line_column, range, separator ? ", " + byte_literal(*separator) : "");
}

// The expression whose bytes sort as the key does.
std::string expression_of(const line_key& key, const std::optional<char>& separator) {
  const key_ordering& o = key.ordering;
  std::string out = range_of(key, separator);
  switch (o.kind) {
    case key_kind::numeric: return fmt::format("decimal_key({})", out);
    case key_kind::general_numeric: return fmt::format("real_key({})", out);
    // 1k before 1G, but as large as 1m only if letters are folded.
    case key_kind::human_numeric: return fmt::format("size_key({})", o.fold_case ? fmt::format("upper({})", out) : out);
    case key_kind::month: return fmt::format("month({})", out);
    case key_kind::bytes:
    case key_kind::version: break;
  }
  if (o.dictionary)
    out = fmt::format("keep({}, 'a-zA-Z0-9 \\t\\n')", out);
  else if (o.printable_only)
    out = fmt::format("keep({}, ' -~')", out);
  if (o.fold_case) out = fmt::format("upper({})", out);
  return o.kind == key_kind::version ? fmt::format("version_key({})", out) : out;
}

class job_builder {
 public:
  explicit job_builder(const sort_request& request) : request_(request) {
    for (const line_key& key : request.keys) {
      const std::string expression = expression_of(key, request.separator);
      const std::string sign = key.ordering.reverse ? "-" : "";
      if (expression == sort_line_column) {  // no two lines are equal in it: what follows decides nothing
        by_.push_back(sign + sort_line_column);
        break;
      }
      columns_.push_back(expression);
      by_.push_back(fmt::format("{}key{}", sign, columns_.size()));
    }
    const bool line_decides = !by_.empty() && by_.back().ends_with(sort_line_column);
    if (!line_decides && (by_.empty() || (!request.unique && !request.stable)))
      by_.push_back(fmt::format("{}{}", request.reverse ? "-" : "", sort_line_column));
  }

  Value build() {
    root_.mutable_map();
    add(root_, "flowrun", word("1"));
    add(root_, "name", word("sort"));
    add_resources();
    nodes_ = &add(root_, "nodes", {});
    if (request_.task == sort_task::check) {
      const std::string from = add_keyed_lines(request_.files, "1");
      add_rules(add_node(sort_check_node + std::string("1"), "check", word(from)));
      return std::move(root_);
    }
    if (request_.task == sort_task::merge && request_.files.size() <= most_merged_files)
      add_merge();
    else
      add_sort(add_keyed_lines(request_.files, ""));
    Value& with = add_node("out", "file.write_lines", word("sorted"));
    add(with, "path", literal(plan::path_template::escaped(request_.output)), "-o");
    add(with, "column", word(sort_line_column));
    add_delimiter(with);
    return std::move(root_);
  }

 private:
  void add_resources() {
    Value resources;
    std::optional<uint64_t> memory = request_.memory_bytes;
    if (request_.memory_percent)
      memory = static_cast<uint64_t>(static_cast<double>(usable_memory()) / 100 * *request_.memory_percent);
    if (memory) add(resources, "memory", word(exact_bytes(std::max(*memory, least_sort_memory(request_)))), "-S");
    if (request_.threads) add(resources, "threads", word(std::to_string(*request_.threads)), "--parallel");
    if (!request_.scratch.empty()) add(resources, "scratch", literals(request_.scratch), "-T");
    if (is_map(resources)) add(root_, "resources", std::move(resources));
  }

  // Its `with:`.
  Value& add_node(const std::string& name, const char* op, std::optional<Value> in) {
    Value& node = add(*nodes_, name, {});
    add(node, "op", word(op));
    if (in) add(node, "in", *std::move(in));
    Value& with = add(node, "with", {});
    with.mutable_map();
    return with;
  }

  void add_delimiter(Value& with) const {
    if (request_.zero_terminated) add(with, "delimiter", literal("\\0"), "-z");
  }
  void add_by(Value& with, const char* name) const { add(with, name, literals(by_), "-k"); }

  // A reader, and a map if there are keys beside the line. The name of the last node.
  std::string add_keyed_lines(const std::vector<std::string>& files, const std::string& suffix) {
    const std::string lines = "lines" + suffix;
    Value& reader = add_node(lines, "file.read_lines", std::nullopt);
    add(reader, "path", literals(files));
    add_delimiter(reader);
    if (columns_.empty()) return lines;
    Value& with = add_node("keyed" + suffix, "map", word(lines));
    for (size_t i = 0; i < columns_.size(); ++i) add(with, fmt::format("key{}", i + 1), literal(columns_[i]), "-k");
    add(with, sort_line_column, word(sort_line_column));
    return "keyed" + suffix;
  }

  void add_sort(const std::string& from) {
    Value& with = add_node("sorted", "sort", word(from));
    add_by(with, "by");
    if (request_.unique) add(with, "unique", word("true"), "-u");
    if (request_.stable) add(with, "stable", word("true"), "-s");
  }

  void add_merge() {
    Value inputs;
    for (size_t i = 0; i < request_.files.size(); ++i) {
      const std::string number = std::to_string(i + 1);
      const std::string from = add_keyed_lines({request_.files[i]}, number);
      const std::string checked = sort_check_node + number;
      add_by(add_node(checked, "check", word(from)), "sorted");
      *inputs.mutable_list()->add_items() = word(checked);
    }
    add_by(add_node(request_.unique ? "merged" : "sorted", "merge", std::move(inputs)), "by");
    if (request_.unique) add_sort("merged");  // which is sorted already: it only drops repetitions
  }

  void add_rules(Value& with) const {
    add_by(with, "sorted");
    if (!request_.unique) return;
    std::vector<std::string> columns = by_;
    for (std::string& column : columns)
      if (column.starts_with('-')) column.erase(0, 1);
    add(with, "unique", literals(columns), "-u");
  }

  const sort_request& request_;
  std::vector<std::string> columns_;  // expressions of key1, key2, …
  std::vector<std::string> by_;
  Value root_;
  Value* nodes_ = nullptr;  // in root_
};

}  // namespace

uint64_t least_sort_memory(const sort_request& request) {
  constexpr uint64_t of_a_sort = 16 * MiB, of_a_merged_file = 2 * MiB;
  return of_a_sort + (request.task == sort_task::merge ? request.files.size() * of_a_merged_file : 0);
}

specs::Value sort_job(const sort_request& request) { return job_builder(request).build(); }

}  // namespace flowrun::runner
