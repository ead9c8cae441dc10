#include "runner/sort_command_job.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "engine/base/machine.h"
#include "engine/base/units.h"
#include "runner/machine_configuration.h"

namespace flowrun::runner {

namespace {

// A double-quoted YAML scalar that no parameter is put into.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c == '"' || c == '\\')
      out += fmt::format("\\{}", text[i]);
    else if (c < 0x20 || c == 0x7f)
      out += fmt::format("\\x{:02x}", c);
    else if (c == '$' && i + 1 < text.size() && text[i + 1] == '{')
      out += "$$";
    else
      out += text[i];
  }
  return out + "\"";
}

std::string quoted_list(const std::vector<std::string>& items) {
  std::string out;
  for (const std::string& item : items) out += (out.empty() ? "" : ", ") + quoted(item);
  return "[" + out + "]";
}

// A text literal of the expression language.
std::string literal(char byte) {
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
  return fmt::format("fields({}, '{}'{})", sort_line_column, range, separator ? ", " + literal(*separator) : "");
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

class job_writer {
 public:
  explicit job_writer(const sort_request& request) : request_(request) {
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

  std::string write() {
    out_ = "flowrun: 1\nname: sort\n";
    resources();
    out_ += "nodes:\n";
    if (request_.task == sort_task::check) {
      const std::string from = keyed_lines(request_.files, "1");
      out_ += fmt::format("  {}1: {{op: check, in: {}, with: {{{}}}}}\n", sort_check_node, from, rules());
      return out_;
    }
    if (request_.task == sort_task::merge && request_.files.size() <= most_merged_files)
      merge();
    else
      sort(keyed_lines(request_.files, ""));
    out_ += fmt::format("  out: {{op: file.write_lines, in: sorted, with: {{path: {}, column: {}{}}}}}\n",
                        quoted(request_.output), sort_line_column, delimiter());
    return out_;
  }

 private:
  void resources() {
    std::string inside;
    const auto add = [&](const std::string& item) { inside += (inside.empty() ? "" : ", ") + item; };
    std::optional<uint64_t> memory = request_.memory_bytes;
    if (request_.memory_percent)
      memory = static_cast<uint64_t>(static_cast<double>(usable_memory()) / 100 * *request_.memory_percent);
    if (memory) add("memory: " + quoted(exact_bytes(std::max(*memory, least_sort_memory(request_)))));
    if (request_.threads) add(fmt::format("threads: {}", *request_.threads));
    if (!request_.scratch.empty()) add("scratch: " + quoted_list(request_.scratch));
    if (!inside.empty()) out_ += "resources: {" + inside + "}\n";
  }

  std::string delimiter() const { return request_.zero_terminated ? ", delimiter: '\\0'" : ""; }
  std::string by() const { return quoted_list(by_); }

  // A reader, and a map if there are keys beside the line. The name of the last node.
  std::string keyed_lines(const std::vector<std::string>& files, const std::string& suffix) {
    out_ += fmt::format("  lines{}: {{op: file.read_lines, with: {{path: {}{}}}}}\n", suffix, quoted_list(files),
                        delimiter());
    if (columns_.empty()) return "lines" + suffix;
    out_ += fmt::format("  keyed{0}:\n    op: map\n    in: lines{0}\n    with:\n", suffix);
    for (size_t i = 0; i < columns_.size(); ++i) out_ += fmt::format("      key{}: {}\n", i + 1, quoted(columns_[i]));
    out_ += fmt::format("      {0}: {0}\n", sort_line_column);
    return "keyed" + suffix;
  }

  void sort(const std::string& from) {
    out_ += fmt::format("  sorted: {{op: sort, in: {}, with: {{by: {}{}{}}}}}\n", from, by(),
                        request_.unique ? ", unique: true" : "", request_.stable ? ", stable: true" : "");
  }

  void merge() {
    std::vector<std::string> inputs;
    for (size_t i = 0; i < request_.files.size(); ++i) {
      const std::string number = std::to_string(i + 1);
      const std::string from = keyed_lines({request_.files[i]}, number);
      inputs.push_back(sort_check_node + number);
      out_ += fmt::format("  {}: {{op: check, in: {}, with: {{sorted: {}}}}}\n", inputs.back(), from, by());
    }
    out_ += fmt::format("  {}: {{op: merge, in: [{}], with: {{by: {}}}}}\n", request_.unique ? "merged" : "sorted",
                        fmt::join(inputs, ", "), by());
    if (request_.unique) sort("merged");  // which is sorted already: it only drops repetitions
  }

  std::string rules() const {
    std::string out = "sorted: " + by();
    if (!request_.unique) return out;
    std::vector<std::string> columns = by_;
    for (std::string& column : columns)
      if (column.starts_with('-')) column.erase(0, 1);
    return out + ", unique: " + quoted_list(columns);
  }

  const sort_request& request_;
  std::vector<std::string> columns_;  // expressions of key1, key2, …
  std::vector<std::string> by_;
  std::string out_;
};

}  // namespace

uint64_t least_sort_memory(const sort_request& request) {
  constexpr uint64_t of_a_sort = 16 * MiB, of_a_merged_file = 2 * MiB;
  return of_a_sort + (request.task == sort_task::merge ? request.files.size() * of_a_merged_file : 0);
}

std::string sort_job_text(const sort_request& request) { return job_writer(request).write(); }

}  // namespace flowrun::runner
