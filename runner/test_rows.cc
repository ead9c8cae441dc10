#include "runner/test_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "engine/base/counted.h"
#include "engine/record/value_text.h"
#include "operators/parts/text/csv_value.h"
#include "specs/value.h"

namespace flowrun::runner {

namespace {

using specs::Entry;
using specs::Value;

// "u32 (0 to 4294967295)"
std::string expected_value(record::value_type type, const std::string& text) {
  constexpr std::string_view lead = "expected ";
  std::string out = operators::refusal(type, text);
  out.resize(std::min(out.size(), out.find(", got ")));
  return out.starts_with(lead) ? out.substr(lead.size()) : out;
}

template <class Float>
void unify_nan(char* at) {
  Float value;
  std::memcpy(&value, at, sizeof value);
  if (!std::isnan(value)) return;
  value = std::numeric_limits<Float>::quiet_NaN();
  std::memcpy(at, &value, sizeof value);
}

class row_packer {
 public:
  row_packer(const record::row_type& type, specs::fault_sink& faults) : type_(type), faults_(faults) {}

  void add(const Value& row) {
    packed_.resize(packed_.size() + type_.row_bytes());
    if (specs::is_unresolved(row)) return;
    if (specs::is_map(row)) return add_map(row);
    if (specs::is_list(row)) return add_list(row);
    if (type_.num_columns() == 1) return put(0, row);
    faults_.add(row.position(), fmt::format("a row of {} is {}", record::to_string(type_), specs::kind_name(row)),
                expected());
  }
  std::string take() { return std::move(packed_); }

 private:
  std::string expected() const {
    std::string map, list;
    for (const std::string& name : type_.names()) {
      map += fmt::format("{}{}: …", map.empty() ? "" : ", ", name);
      list += list.empty() ? "…" : ", …";
    }
    return fmt::format("{{{}}} or [{}]", map, list);
  }

  void add_map(const Value& row) {
    std::vector<bool> seen(type_.num_columns(), false);
    for (const Entry& entry : row.map().entries()) {
      const auto column = type_.index_of(entry.key());
      if (!column) {
        faults_.add_unknown(entry.key_position(),
                            fmt::format("the rows have no column '{}'", specs::quotable(entry.key())), entry.key(),
                            type_.names());
        continue;
      }
      seen[*column] = true;
      if (specs::is_null(entry.value()))
        faults_.add(entry.key_position(), fmt::format("'{}' has no value", entry.key()),
                    record::to_string(type_[*column].type));
      else
        put(*column, entry.value());
    }
    for (size_t i = 0; i < seen.size(); ++i)
      if (!seen[i]) faults_.add(row.position(), fmt::format("the row has no '{}'", type_[i].name), expected());
  }

  void add_list(const Value& row) {
    const auto& items = row.list().items();
    if (static_cast<size_t>(items.size()) != type_.num_columns())
      return faults_.add(row.position(), "a row of " + counted(static_cast<uint64_t>(items.size()), "value"),
                         expected());
    for (int i = 0; i < items.size(); ++i) put(static_cast<size_t>(i), items[i]);
  }

  void put(size_t column, const Value& value) {
    const record::column& c = type_[column];
    std::byte* const row = reinterpret_cast<std::byte*>(packed_.data() + packed_.size() - type_.row_bytes());
    if (specs::is_unresolved(value)) return;
    if (!specs::is_scalar(value))
      faults_.add(value.position(), fmt::format("'{}' is {}", c.name, specs::kind_name(value)),
                  record::to_string(c.type));
    else if (!operators::parse_value(c.type, specs::text(value), row + c.offset))
      faults_.add(value.position(),
                  fmt::format("'{}' is no value for '{}'", specs::quotable(specs::text(value)), c.name),
                  expected_value(c.type, specs::text(value)));
  }

  const record::row_type& type_;
  specs::fault_sink& faults_;
  std::string packed_;
};

}  // namespace

std::string packed_rows(const Value& list, const record::row_type& type, specs::fault_sink& faults) {
  row_packer packer(type, faults);
  for (const Value& row : list.list().items()) packer.add(row);
  return packer.take();
}

std::string with_one_nan(std::string rows, const record::row_type& type) {
  const size_t row_bytes = type.row_bytes();
  for (const record::column& c : type.columns()) {
    if (!c.type.is_float()) continue;
    for (size_t row = 0; row + row_bytes <= rows.size(); row += row_bytes) {
      char* const cell = rows.data() + row + c.offset;
      c.type.kind == record::type_kind::f32 ? unify_nan<float>(cell) : unify_nan<double>(cell);
    }
  }
  return rows;
}

std::vector<std::string> shown_rows(std::string_view bytes, const record::row_type& type) {
  std::vector<std::string> out;
  const size_t row_bytes = type.row_bytes();
  for (; bytes.size() >= row_bytes; bytes.remove_prefix(row_bytes)) {
    const auto* const row = reinterpret_cast<const std::byte*>(bytes.data());
    out.push_back(type.num_columns() == 1 ? record::value_text(type[0].type, row, nullptr)
                                          : record::row_text(type, row, nullptr));
  }
  if (!bytes.empty()) out.push_back(fmt::format("{} of the {} bytes of a row", bytes.size(), row_bytes));
  return out;
}

std::string joined_lines(const Value& list, char delimiter, specs::fault_sink& faults) {
  std::string out;
  for (const Value& item : list.list().items()) {
    if (specs::is_scalar(item))
      (out += specs::text(item)) += delimiter;
    else
      faults.add(item.position(), fmt::format("a line is {}", specs::kind_name(item)), "text",
                 specs::is_null(item) ? "an empty line is \"\"" : "put a line that holds any of [ ] { } , in quotes");
  }
  return out;
}

std::vector<std::string> split_lines(std::string_view text, char delimiter) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const size_t end = text.find(delimiter);
    out.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return out;
}

}  // namespace flowrun::runner
