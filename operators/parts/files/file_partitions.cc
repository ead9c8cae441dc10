#include "operators/parts/files/file_partitions.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "engine/base/fault.h"
#include "engine/record/key.h"
#include "operators/parts/files/name_text.h"
#include "operators/parts/text/csv_value.h"

namespace flowrun::operators {

namespace {

constexpr std::string_view default_max_files = "10000";
constexpr uint64_t most_files = 1'000'000'000;

// False after a fault.
bool check_column(plan::node_checker& node, const plan::path_template::part& part) {
  const record::row_type& type = node.input_type();
  const auto index = type.index_of(part.column);
  if (!index) {
    const std::string similar = did_you_mean(part.column, type.names());
    if (part.column.find_first_of("+-*/%()[]. ") != std::string::npos) {
      node.fault_in_parameter("path", part.at, fmt::format("'{}' is no name of a column", part.column),
                              one_of(type.names()),
                              "a path names columns: compute one in a map in front, such as {part: EXPRESSION}, and "
                              "write {part}; path_columns: leave_out keeps it out of the files; a brace that belongs "
                              "to the name is written twice");
      return false;
    }
    node.fault_in_parameter("path", part.at, fmt::format("'{}' has no column '{}'", node.input_name(0), part.column),
                            one_of(type.names()),
                            similar.empty() ? "a brace that belongs to the name is written twice: {{ and }}" : similar);
    return false;
  }
  if (!type[*index].type.is_float()) return true;
  node.fault_in_parameter(
      "path", part.at,
      fmt::format("column '{}' is {}, and no two of its values need be the same", part.column,
                  to_string(type[*index].type)),
      "a column of numbers without a fraction, text, dates or bool",
      fmt::format("make a column that says which file is meant in a map: i64(floor({}))", part.column));
  return false;
}

// Of a path that names no column.
void refuse_needless(plan::node_checker& node) {
  for (const char* name : {"max_files", "path_columns"})
    if (node.has(name))
      node.fault_at_parameter(name, "the path names no column, so there is one file", "a path with {column}",
                              fmt::format("leave {} out", name));
}

std::string_view text_of(const record::column& c, const std::byte* row, const std::byte* heap, char* buffer) {
  const std::byte* const field = row + c.offset;
  if (c.type.is_string()) return record::load_string(field, heap);
  if (c.type.is_bytes()) return {reinterpret_cast<const char*>(field), c.type.num_bytes};
  return {buffer, format_value(c.type, field, buffer)};
}

// Numbers groups in the order in which they come.
class group_numbers {
 public:
  explicit group_numbers(size_t num_rows) : slots_(std::bit_ceil(2 * num_rows + 2), none) {}

  // The number of the group that `is_same(number)` says of, or a new one.
  template <class IsSame>
  uint32_t find(uint64_t hash, uint32_t num_groups, IsSame&& is_same) {
    const size_t mask = slots_.size() - 1;
    for (size_t at = hash & mask;; at = (at + 1) & mask) {
      if (slots_[at] == none) slots_[at] = num_groups;
      if (slots_[at] == num_groups || is_same(slots_[at])) return slots_[at];
    }
  }

 private:
  static constexpr uint32_t none = ~uint32_t{0};
  std::vector<uint32_t> slots_;
};

// The node's path with the columns that it names; `text` is what the path is where nobody wrote one. Nothing, and a
// fault, where its braces are wrong.
std::optional<plan::path_template> read_template(plan::node_checker& node, const std::string& text) {
  plan::path_template::problem why;
  const specs::Value* const given = node.value("path");
  std::optional<plan::path_template> names =
      given == nullptr ? plan::path_template::parse(text, why) : plan::path_template::parse(*given, why);
  if (!names) node.fault_in_parameter("path", why.at, why.message, why.expected, why.hint);
  return names;
}

}  // namespace

const std::string_view partitions_details =
    "\n\n`path: \"out/{country}.csv\"` writes a file for each value of the column. Several columns may be named, also "
    "in directories (`out/country={country}/{year}.csv`). What a name can't have is written as %XX, as Hive writes it, "
    "and an empty text as __HIVE_DEFAULT_PARTITION__. Columns of f32 and f64 can't be named. All files appear "
    "together; other files in their directories stay, and without rows there are no files.";

plan::parameter_declaration max_files_parameter() {
  plan::parameter_declaration out;
  out.name = "max_files";
  out.kind = plan::parameter_kind::integer;
  out.default_text = default_max_files;
  out.help = "Of a path with {column}: more files than these end the job.";
  return out;
}

plan::parameter_declaration path_columns_parameter() {
  plan::parameter_declaration out;
  out.name = "path_columns";
  out.kind = plan::parameter_kind::choice;
  out.default_text = "write";
  out.choices = {"write", "leave_out"};
  out.help = "Of a path with {column}: whether these columns are written, too. Hive and its readers leave them out.";
  return out;
}

std::optional<file_partitions> read_partitions(plan::node_checker& node, std::string& path) {
  std::optional<plan::path_template> names = read_template(node, path);
  if (!names) return std::nullopt;
  path = names->shown();
  if (!names->names_columns()) {
    refuse_needless(node);
    return std::nullopt;
  }
  for (const plan::path_template::part& part : names->parts())
    if (!check_column(node, part)) return std::nullopt;
  file_partitions out{std::move(*names), {}, node.integer("max_files"), node.text("path_columns") == "leave_out"};
  for (const std::string& column : out.path.columns()) out.columns.push_back(*node.input_type().index_of(column));
  if (out.max_files == 0 || out.max_files > most_files)
    node.fault_at_parameter("max_files", fmt::format("there can't be {} files at most", out.max_files),
                            fmt::format("a number from 1 to {}", most_files));
  if (out.leaves_out && out.written(node.input_type()).empty())
    node.fault_at_parameter("path_columns", "the path names all columns, so none is left to be written",
                            "path_columns: write");
  node.facts().partitions = plan::partition_facts{
      out.path.columns(), out.max_files, plan::adjacent(node.input_order(), out.path.columns()), out.leaves_out};
  return out;
}

std::string read_path_of_one(plan::node_checker& node, const std::string& why) {
  const std::string text = node.text("path");
  const std::optional<plan::path_template> names = read_template(node, text);
  if (names && names->names_columns())
    node.fault_in_parameter("path", names->parts().front().at, why, "a path without columns",
                            "split deals rows out to sinks; file.write_rows, file.write_csv, file.write_lines, "
                            "file.write_json_lines and file.write_protobuf write a file for each value");
  return names ? names->shown() : text;
}

std::vector<record::column> file_partitions::written(const record::row_type& type) const {
  std::vector<record::column> out;
  for (size_t i = 0; i < type.num_columns(); ++i)
    if (!leaves_out || std::find(columns.begin(), columns.end(), i) == columns.end()) out.push_back(type[i]);
  return out;
}

std::string file_partitions::path_of(std::string_view key) const {
  std::vector<std::string_view> values;
  for (size_t from = 0; from <= key.size();) {
    const size_t end = std::min(key.find('/', from), key.size());
    values.push_back(key.substr(from, end - from));
    from = end + 1;
  }
  const std::vector<std::string> names = path.columns();
  std::string out;
  for (const plan::path_template::part& part : path.parts()) {
    out += part.literal;
    out += values[static_cast<size_t>(std::find(names.begin(), names.end(), part.column) - names.begin())];
  }
  return out + path.tail();
}

bool file_partitions::is_ambiguous() const {
  const auto& parts = path.parts();
  return std::any_of(parts.begin() + 1, parts.end(),
                     [](const auto& part) { return part.literal.find('/') == std::string::npos; });
}

row_distribution::row_distribution(const record::row_type& type, const file_partitions& to) {
  for (const size_t column : to.columns) columns_.push_back(type[column]);
}

uint64_t row_distribution::hash(const std::byte* row, const std::byte* heap) const {
  uint64_t out = 0;
  for (const record::column& c : columns_) {
    uint64_t value = 0;
    if (c.type.is_text()) {
      char none[1];
      value = std::hash<std::string_view>()(text_of(c, row, heap, none));
    } else {
      value = record::load_unsigned(row + c.offset, c.type.num_bytes);
    }
    // Fibonacci hashing, twice: the table takes the lowest bits.
    out = (out ^ value) * 0x9E3779B97F4A7C15U;
    out = (out ^ (out >> 32)) * 0x9E3779B97F4A7C15U;
    out ^= out >> 29;
  }
  return out;
}

bool row_distribution::same(const std::byte* a, const std::byte* b, const std::byte* heap) const {
  return std::all_of(columns_.begin(), columns_.end(), [&](const record::column& c) {
    if (c.type.is_string()) return record::load_string(a + c.offset, heap) == record::load_string(b + c.offset, heap);
    return std::memcmp(a + c.offset, b + c.offset, c.type.num_bytes) == 0;
  });
}

std::string row_distribution::key(const std::byte* row, const std::byte* heap) const {
  std::string out;
  char buffer[max_value_chars];
  for (const record::column& c : columns_) {
    if (&c != &columns_.front()) out += '/';
    append_name_text(text_of(c, row, heap, buffer), out);
  }
  return out;
}

partitioned_text row_distribution::distribute(const record::batch& in, text_block text, const std::vector<size_t>& ends,
                                              record::batch_pool& pool) const {
  partitioned_text out;
  const size_t num_rows = ends.size();
  std::vector<uint32_t> group_of(num_rows);
  std::vector<const std::byte*> first;
  group_numbers numbers(num_rows);
  for (size_t i = 0; i < num_rows; ++i) {
    const std::byte* const row = in.row(i);
    uint32_t number = i > 0 ? group_of[i - 1] : 0;
    if (i == 0 || !same(first[number], row, in.heap))
      number = numbers.find(hash(row, in.heap), static_cast<uint32_t>(first.size()),
                            [&](uint32_t g) { return same(first[g], row, in.heap); });
    if (number == first.size()) {
      first.push_back(row);
      out.groups.push_back({key(row, in.heap)});
    }
    group_of[i] = number;
    ++out.groups[number].num_rows;
    out.groups[number].num_bytes += ends[i] - (i > 0 ? ends[i - 1] : 0);
  }
  if (out.groups.size() < 2) {
    out.text = std::move(text);
    return out;
  }
  std::vector<size_t> to(out.groups.size());
  for (size_t g = 1; g < to.size(); ++g) to[g] = to[g - 1] + out.groups[g - 1].num_bytes;
  out.text = {pool.take(text.num_bytes), text.num_bytes, text.num_rows};
  for (size_t i = 0, from = 0; i < num_rows; from = ends[i++]) {
    size_t& place = to[group_of[i]];
    std::memcpy(out.text.owner.get() + place, text.owner.get() + from, ends[i] - from);
    place += ends[i] - from;
  }
  return out;
}

}  // namespace flowrun::operators
