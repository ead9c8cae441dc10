#include "operators/parts/text/json_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "engine/base/error.h"
#include "engine/base/excerpt.h"
#include "engine/base/units.h"
#include "operators/parts/text/csv_value.h"
#include "operators/parts/text/json_text.h"

namespace flowrun::operators {

namespace {

struct path_fault {
  std::string message, expected;
};
using keys = std::vector<std::string>;

constexpr size_t most_keys = 128;  // of a path: what reads and writes calls itself for each

std::variant<keys, path_fault> keys_of(std::string_view path) {
  keys out(1);
  for (size_t i = 0; i < path.size(); ++i) {
    if (path[i] == '.') {
      out.emplace_back();
      continue;
    }
    if (path[i] == '\\') {
      ++i;
      if (i == path.size() || (path[i] != '.' && path[i] != '\\'))
        return path_fault{
            fmt::format("a backslash in the path {} is before neither a dot nor a backslash", quoted_excerpt(path)),
            "\\. for a dot that is part of a key, \\\\ for a backslash"};
    }
    out.back() += path[i];
  }
  for (const std::string& key : out)
    if (key.empty())
      return path_fault{fmt::format("the path {} has an empty key", quoted_excerpt(path)),
                        "keys with a dot between them, such as user.id"};
  if (out.size() > most_keys)
    return path_fault{fmt::format("the path {} has {} keys", quoted_excerpt(path), format_count(out.size())),
                      fmt::format("{} keys at most", most_keys)};
  return out;
}

json_layout::entry* find(json_layout::object& object, const std::string& key) {
  const auto found =
      std::find_if(object.entries.begin(), object.entries.end(), [&](const auto& e) { return e.key == key; });
  return found == object.entries.end() ? nullptr : &*found;
}

json_layout::entry& add(json_layout& layout, size_t object, const std::string& key) {
  json_layout::entry& out = layout.objects[object].entries.emplace_back();
  out.key = key;
  out.quoted = json_text(key);
  out.number = static_cast<uint32_t>(layout.num_entries++);
  return out;
}

// The column whose value lies in the entry, or the first of those in the object there.
size_t first_column(const json_layout& layout, const json_layout::entry& e) {
  return e.column ? *e.column : first_column(layout, layout.objects[e.object].entries.front());
}

// The column that has the value, or a part of it, already; nothing where the path is free.
std::optional<size_t> place(json_layout& layout, const keys& path, size_t column) {
  size_t object = 0;
  for (size_t i = 0; i + 1 < path.size(); ++i) {
    if (json_layout::entry* const there = find(layout.objects[object], path[i])) {
      if (there->column) return there->column;
      object = there->object;
      continue;
    }
    add(layout, object, path[i]).object = layout.objects.size();
    const std::string outer = layout.objects[object].path;
    object = layout.objects.size();
    layout.objects.emplace_back().path = outer.empty() ? path[i] : outer + "." + path[i];
  }
  if (const json_layout::entry* const there = find(layout.objects[object], path.back()))
    return first_column(layout, *there);
  add(layout, object, path.back()).column = column;
  return std::nullopt;
}

}  // namespace

plan::parameter_declaration json_names_parameter() {
  plan::parameter_declaration out;
  out.name = "names";
  out.kind = plan::parameter_kind::column_texts;
  out.help =
      "The key of a column's value where that isn't the column's name, such as {amount: \"Amount (EUR)\"}. A dot leads "
      "into an object: {id: user.id} is the key id of the object user; \\. is a dot in a key.";
  return out;
}

json_layout read_json_layout(plan::node_checker& node, const record::row_type& type) {
  json_layout out;
  out.objects.emplace_back();
  out.paths = type.names();
  std::vector<bool> named(type.num_columns());
  for (const auto& [column, path] : node.column_texts("names", type)) {
    const size_t i = *type.index_of(column);
    named[i] = true;
    out.paths[i] = path;
  }
  for (size_t i = 0; i < type.num_columns(); ++i) {
    keys path = {type[i].name};
    if (named[i]) {
      auto made = keys_of(out.paths[i]);
      if (const auto* no = std::get_if<path_fault>(&made)) {
        node.fault_at_parameter("names." + type[i].name, no->message, no->expected);
        continue;
      }
      path = std::get<keys>(std::move(made));
    }
    if (const std::optional<size_t> other = place(out, path, i))
      node.fault_at_parameter(
          "names." + (named[i] ? type[i].name : type[*other].name),
          fmt::format("the columns '{}' and '{}' would both have the value at {}, or a part of it", type[*other].name,
                      type[i].name,
                      quoted_excerpt(out.paths[out.paths[i].size() < out.paths[*other].size() ? i : *other])),
          "a path of its own for each column; map gives a column a second name");
  }
  return out;
}

json_layout json_layout_of(const std::vector<std::string>& paths) {
  json_layout out;
  out.objects.emplace_back();
  out.paths = paths;
  for (size_t i = 0; i < paths.size(); ++i) {
    const std::optional<size_t> other = place(out, std::get<keys>(keys_of(paths[i])), i);
    FLOWRUN_CHECK(!other);
  }
  return out;
}

}  // namespace flowrun::operators
