#include "engine/plan/parameter_shape.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/expr/expression.h"
#include "engine/plan/known_elsewhere.h"
#include "specs/node_reader.h"
#include "specs/type_reader.h"
#include "specs/value.h"

namespace flowrun::plan {

namespace {

using specs::Value;

class shape_checker {
 public:
  shape_checker(const named_types& types, const std::string& file, std::vector<fault>& faults)
      : types_(types), file_(file), faults_(faults) {}

  bool good() const { return good_; }

  void fail(const specs::Position& where, std::string message, std::string expected = {}, std::string hint = {}) {
    faults_.push_back({specs::where(file_, where), std::move(message), std::move(expected), std::move(hint)});
    good_ = false;
  }

  void check(const parameter_declaration& p, const Value& v) {
    switch (p.kind) {
      case parameter_kind::paths:
      case parameter_kind::columns:
      case parameter_kind::sort_keys:
      case parameter_kind::texts: return texts(p, v);
      case parameter_kind::named_sort_keys: return keys(p, v);
      case parameter_kind::row_type: type(v); return;
      case parameter_kind::named_expressions:
      case parameter_kind::named_conditions:
      case parameter_kind::aggregates:
      case parameter_kind::column_texts: return map_of_texts(p, v);
      case parameter_kind::texts_by_name: return ids_with(p, v, false);
      case parameter_kind::carried: return carried(p, v);
      case parameter_kind::new_column:
        scalar(p, v);
        if (specs::is_scalar(v) && !specs::is_null(v) && !specs::is_unresolved(v) && !specs::text(v).empty())
          column_name(v.position(), specs::text(v));
        return;
      case parameter_kind::nodes: return wrong(p, v);  // nodes are no part of `with`, once they are read
      case parameter_kind::column_pairs: return specs::is_map(v) ? map_of_texts(p, v) : texts(p, v);
      case parameter_kind::named_columns:
        if (!specs::is_map(v)) return wrong(p, v);
        for (const specs::Entry& entry : v.map().entries()) {
          column_name(entry);
          parameter_declaration inner = p;
          inner.name = entry.key();
          texts(inner, entry.value());
        }
        return;
      case parameter_kind::new_names:
        if (!specs::is_map(v)) return wrong(p, v);
        for (const specs::Entry& entry : v.map().entries()) {
          column_name(entry);
          new_name(entry);
        }
        return;
      case parameter_kind::expression_rows:
        if (!specs::is_list(v)) return wrong(p, v);
        if (v.list().items().empty()) fail(v.position(), fmt::format("'{}' is an empty list", p.name), describe(p));
        for (const Value& row : v.list().items()) map_of_texts(p, row);
        return;
      case parameter_kind::rules:
        if (!specs::is_list(v)) return wrong(p, v);
        for (const Value& one : v.list().items()) rule(p, one);
        return;
      default: return scalar(p, v);
    }
  }

  void scalar(const parameter_declaration& p, const Value& v) {
    if (specs::is_unresolved(v)) {
      good_ = false;  // already reported
      return;
    }
    if (specs::is_null(v) && (p.kind == parameter_kind::texts || p.kind == parameter_kind::column_texts))
      return fail(
          v.position(), fmt::format("'{}' is nothing", p.name), "text",
          "YAML takes null, ~ and a missing value for nothing; as texts they stand in quotes, such as \"null\"");
    if (!specs::is_scalar(v)) return wrong(p, v);
    const std::string& text = specs::text(v);
    bool right = true;
    std::string hint;
    switch (p.kind) {
      case parameter_kind::integer:
        right = specs::to_uint(v).has_value() && *specs::to_uint(v) <= static_cast<uint64_t>(INT64_MAX);
        if (!right && specs::looks_octal(text))
          hint = "leave out the leading zeros, or write 0o… for an octal number";
        else if (!right && text.find_first_not_of("0123456789") == std::string::npos)
          hint = fmt::format("the largest is {}", INT64_MAX);
        break;
      case parameter_kind::bytes: right = specs::to_bytes(v).has_value(); break;
      case parameter_kind::number: right = specs::to_double(v).has_value(); break;
      case parameter_kind::boolean: right = specs::to_bool(v).has_value(); break;
      case parameter_kind::choice:
        right = std::find(p.choices.begin(), p.choices.end(), text) != p.choices.end();
        hint = right ? "" : did_you_mean(text, p.choices);
        break;
      case parameter_kind::text:
      case parameter_kind::texts:
      case parameter_kind::column_texts: break;  // also the empty text
      case parameter_kind::path:
      case parameter_kind::paths:  // a blank is a name like any other
        if (text.empty()) return fail(v.position(), fmt::format("'{}' is empty", p.name), describe(p));
        if (text.find('\0') != std::string::npos)
          return fail(v.position(), fmt::format("'{}' has a zero byte, and a path ends there", p.name), describe(p));
        break;
      default:
        if (text.find_first_not_of(" \t\r\n") == std::string::npos)
          return fail(v.position(), fmt::format("'{}' is empty", p.name), describe(p));
    }
    if (!right)
      fail(v.position(), fmt::format("'{}' is not right for '{}'", shortened(text), p.name), describe(p),
           hint.empty() ? hint_for_parameter(text) : hint);
  }

 private:
  // Of a value that is said as expressions say it.
  static std::string hint_for_parameter(std::string_view text) {
    constexpr std::string_view begin = "params.";
    if (!text.starts_with(begin) || !specs::is_id(text.substr(begin.size()))) return {};
    return fmt::format("write \"${{{}}}\": {} is a word of expressions", text.substr(begin.size()), text);
  }

  // For a name that a file's header has: "Order ID".
  static std::string name_hint(const std::string& name) {
    std::string plain;
    for (const char c : name) {
      const bool letter = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z');
      if (letter)
        plain += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
      else if (!plain.empty() && plain.back() != '_')
        plain += '_';
    }
    while (plain.ends_with('_')) plain.pop_back();
    if (!specs::is_column_name(plain) || expr::is_reserved_word(plain) || name.find_first_of("\"\\") != name.npos)
      return {};
    return fmt::format("call it {0}, and say names: {{{0}: \"{1}\"}}, with columns: header for a CSV file", plain,
                       shortened(name));
  }
  static std::string shortened(std::string_view text) {
    std::string out(text.substr(0, text.find('\n')).substr(0, 60));
    return out.size() < text.size() ? out + "…" : out;
  }

  void wrong(const parameter_declaration& p, const Value& v) {
    const bool is_named_key =
        specs::is_map(v) && (p.kind == parameter_kind::columns || p.kind == parameter_kind::sort_keys);
    fail(v.position(), fmt::format("'{}' is {}", p.name, specs::kind_name(v)), describe(p),
         is_named_key ? "a map computes columns; in a sort that combines, keys can be computed" : "");
  }

  // A list of texts; one text stands for a list of one.
  void texts(const parameter_declaration& p, const Value& v) {
    if (specs::is_scalar(v)) return scalar(p, v);
    if (!specs::is_list(v)) return wrong(p, v);
    for (const Value& item : v.list().items()) scalar(p, item);
    if (p.kind == parameter_kind::paths && v.list().items().empty())
      fail(v.position(), fmt::format("'{}' is an empty list", p.name), describe(p));
  }

  // Keys of a sort, or maps that name them.
  void keys(const parameter_declaration& p, const Value& v) {
    if (specs::is_map(v)) return map_of_texts(p, v);
    if (!specs::is_list(v)) return scalar(p, v);
    for (const Value& item : v.list().items()) {
      if (!specs::is_map(item)) {
        scalar(p, item);
        continue;
      }
      if (item.map().entries().empty())
        fail(item.position(), fmt::format("an empty map in '{}'", p.name), "{name: key}");
      map_of_texts(p, item);
    }
  }

  void new_name(const specs::Entry& entry) {
    const Value& name = entry.value();
    if (specs::is_unresolved(name))
      good_ = false;  // already reported
    else if (specs::is_scalar(name))
      column_name(name.position(), specs::text(name));
    else
      fail(name.position(), fmt::format("'{}' is {}", entry.key(), specs::kind_name(name)), "the column's new name");
  }

  // A map by ids, of maps or of texts.
  void ids_with(const parameter_declaration& p, const Value& v, bool maps) {
    if (!specs::is_map(v)) return wrong(p, v);
    for (const specs::Entry& entry : v.map().entries()) {
      if (!specs::is_id(entry.key()))
        fail(entry.key_position(), fmt::format("'{}' can't name anything here", entry.key()),
             "a letter or _, then letters, digits, _ and -");
      parameter_declaration inner = p;
      inner.name = entry.key();
      if (!maps)
        scalar(inner, entry.value());
      else if (!specs::is_map(entry.value()))
        wrong(inner, entry.value());
    }
  }

  void carried(const parameter_declaration& p, const Value& v) {
    ids_with(p, v, true);
    for (const specs::Entry& entry : v.map().entries()) {
      const Value* const rows = specs::is_map(entry.value()) ? specs::find(entry.value(), "rows") : nullptr;
      if (rows == nullptr) continue;
      for (const Value& row : rows->list().items())
        for (const specs::Entry& field : row.map().entries()) column_name(field);
    }
  }

  void rule(const parameter_declaration& p, const Value& v) {
    if (!specs::is_map(v)) return wrong(p, v);
    static const std::vector<std::string> parts = {"from", "when", "set", "push", "emit", "to"};
    for (const specs::Entry& entry : v.map().entries()) {
      if (std::find(parts.begin(), parts.end(), entry.key()) == parts.end()) {
        fail(entry.key_position(), fmt::format("a rule has no '{}'", entry.key()), one_of(parts),
             did_you_mean(entry.key(), parts));
        continue;
      }
      parameter_declaration inner;
      inner.name = entry.key();
      const bool is_map = entry.key() == "set" || entry.key() == "push" || entry.key() == "emit";
      inner.kind = is_map                  ? parameter_kind::named_expressions
                   : entry.key() == "when" ? parameter_kind::condition
                                           : parameter_kind::path;  // a word, not empty
      check(inner, entry.value());
    }
  }

  void map_of_texts(const parameter_declaration& p, const Value& v) {
    if (!specs::is_map(v)) return wrong(p, v);
    for (const specs::Entry& entry : v.map().entries()) {
      if (p.kind == parameter_kind::named_conditions) {
        if (!specs::is_id(entry.key()))
          fail(entry.key_position(), fmt::format("'{}' can't name a port", entry.key()),
               "a letter or _, then letters, digits, _ and -");
      } else {
        column_name(entry);
      }
      parameter_declaration inner = p;
      inner.name = entry.key();
      scalar(inner, entry.value());
    }
  }

 public:
  void column_name(const specs::Entry& entry) { column_name(entry.key_position(), entry.key()); }
  void column_name(const specs::Position& where, const std::string& name, std::string hint = {}) {
    if (!specs::is_column_name(name))
      fail(where, fmt::format("'{}' can't name a column", name), "a letter or _, then letters, digits and _",
           std::move(hint));
    else if (expr::is_reserved_word(name))
      fail(where, fmt::format("'{}' can't name a column: expressions use the word", name), "another name");
  }

  record::row_type type(const Value& v) {
    if (specs::is_unresolved(v)) {
      good_ = false;
      return record::row_type();
    }
    if (specs::is_scalar(v)) {
      const auto it = types_.find(specs::text(v));
      if (it != types_.end()) return it->second;
      std::vector<std::string> names;
      for (const auto& [name, row] : types_) names.push_back(name);
      fail(v.position(), fmt::format("there is no row type '{}'", shortened(specs::text(v))),
           names.empty() ? "a map {column: type}, or a name declared under types:" : one_of(names),
           did_you_mean(specs::text(v), names));
      return record::row_type();
    }
    if (!specs::is_map(v) || v.map().entries().empty()) {
      fail(v.position(),
           fmt::format("a row type is missing: this is {}", specs::is_map(v) ? "an empty map" : specs::kind_name(v)),
           "the name of a type under types:, or a map {column: type}");
      return record::row_type();
    }
    std::vector<record::column> columns;
    for (const specs::Entry& entry : v.map().entries()) {
      column_name(entry.key_position(), entry.key(), name_hint(entry.key()));
      if (specs::is_unresolved(entry.value())) {
        good_ = false;
        continue;
      }
      const auto parsed = record::parse_value_type(specs::text(entry.value()));
      if (!parsed) {
        fail(entry.value().position(), fmt::format("'{}' is no value type", shortened(specs::text(entry.value()))),
             std::string(record::value_type_names()), specs::value_type_hint(specs::text(entry.value())));
        continue;
      }
      columns.push_back({entry.key(), *parsed});
    }
    return good_ ? record::row_type(std::move(columns)) : record::row_type();
  }

 private:
  const named_types& types_;
  const std::string& file_;
  std::vector<fault>& faults_;
  bool good_ = true;
};

}  // namespace

std::string describe(const parameter_declaration& p) {
  switch (p.kind) {
    case parameter_kind::text: return "text";
    case parameter_kind::path: return "a path";
    case parameter_kind::paths: return "a path, or a list of paths";
    case parameter_kind::integer: return "a whole number, 0 or more";
    case parameter_kind::bytes: return "a size, such as 64MiB";
    case parameter_kind::number: return "a number";
    case parameter_kind::boolean: return "true or false";
    case parameter_kind::choice: return one_of(p.choices);
    case parameter_kind::row_type: return "the name of a type under types:, or a map {column: type}";
    case parameter_kind::columns: return "a list of columns, such as [src, dst]";
    case parameter_kind::sort_keys: return "a list of keys, such as [src, -dst]";
    case parameter_kind::named_sort_keys: return "a list of keys, such as [src, -dst], or of maps {name: key}";
    case parameter_kind::expression: return "a row expression, such as \"src + 1\"";
    case parameter_kind::condition: return "a condition on a row, such as \"src != dst\"";
    case parameter_kind::named_expressions: return "a map {column: expression}";
    case parameter_kind::named_conditions: return "a map {port: condition}";
    case parameter_kind::aggregates: return "a map {column: aggregate}, such as {n: \"count()\"}";
    case parameter_kind::column_pairs: return "a list of columns, or a map {left column: right column}";
    case parameter_kind::named_columns: return "a map {column: list of columns}, such as {rank: [src, dst]}";
    case parameter_kind::new_names: return "a map {column: new name}";
    case parameter_kind::expression_rows: return "a list of maps {column: expression}";
    case parameter_kind::nodes: return "a map of nodes {id: {op: …}}";
    case parameter_kind::carried:
      return "a map {name: {rows: [{column: value}], type: T}, or {from: INPUT}, or {value: expression}}";
    case parameter_kind::new_column: return "the name of a new column";
    case parameter_kind::texts_by_name: return "a map {name: node or expression}";
    case parameter_kind::texts: return "a text, or a list of texts";
    case parameter_kind::column_texts: return "a map {column: text}";
    case parameter_kind::rules: return "a list of rules {from, when, set, push, emit, to}";
  }
  return {};
}

specs::Value default_value(const parameter_declaration& p) {
  specs::Value value;
  std::string_view text = p.default_text;
  auto trimmed = [](std::string_view t) {
    while (!t.empty() && t.front() == ' ') t.remove_prefix(1);
    while (!t.empty() && t.back() == ' ') t.remove_suffix(1);
    // As it would stand in YAML: quotes are no part of the text.
    if (t.size() >= 2 && (t.front() == '"' || t.front() == '\'') && t.front() == t.back())
      t = t.substr(1, t.size() - 2);
    return std::string(t);
  };
  if (text.size() >= 2 && text.front() == '[' && text.back() == ']') {
    text = text.substr(1, text.size() - 2);
    value.mutable_list();
    while (!text.empty()) {
      const size_t comma = std::min(text.find(','), text.size());
      value.mutable_list()->add_items()->mutable_scalar()->set_text(trimmed(text.substr(0, comma)));
      text.remove_prefix(std::min(comma + 1, text.size()));
    }
  } else {
    value.mutable_scalar()->set_text(trimmed(text));
  }
  return value;
}

record::row_type read_row_type(const specs::Value& value, const named_types& types, const std::string& file,
                               std::vector<fault>& faults) {
  return shape_checker(types, file, faults).type(value);
}

namespace {

bool has_body(const specs::Node& spec, const std::string& name) {
  return std::any_of(spec.bodies().begin(), spec.bodies().end(),
                     [&](const specs::Body& b) { return b.name() == name; });
}

}  // namespace

bool check_parameters(const specs::Node& spec, const operator_declaration& declaration, const named_types& types,
                      const std::string& file, std::vector<fault>& faults) {
  shape_checker checker(types, file, faults);
  const std::vector<parameter_declaration>& parameters = declaration.parameters;
  const specs::Value& with = spec.with();
  std::vector<std::string> names;
  for (const parameter_declaration& p : parameters) names.push_back(p.name);
  if (specs::is_scalar(with) || specs::is_list(with)) {
    checker.fail(with.position(), fmt::format("'with' is {}", specs::kind_name(with)), "a map {parameter: value}");
    return false;
  }
  for (const specs::Entry& entry : with.map().entries()) {
    const auto p =
        std::find_if(parameters.begin(), parameters.end(), [&](const auto& each) { return each.name == entry.key(); });
    if (p != parameters.end()) {
      checker.check(*p, entry.value());
    } else if (declaration.free_columns) {
      checker.column_name(entry);
      parameter_declaration column;
      column.name = entry.key();
      column.kind = parameter_kind::expression;
      if (specs::is_map(entry.value()))
        checker.fail(entry.value().position(), fmt::format("'{}' is a map", entry.key()), describe(column),
                     fmt::format("what is in it stands directly under with:, without '{}'", entry.key()));
      else
        checker.scalar(column, entry.value());
    } else {
      std::string hint = parameter_known_elsewhere(entry.key(), names);
      const std::vector<std::string>& of_node = specs::node_keys();
      if (hint.empty() && std::find(of_node.begin(), of_node.end(), entry.key()) != of_node.end())
        hint = fmt::format("'{}' is a key of the node: it stands beside op:, not under with:", entry.key());
      if (hint.empty()) hint = did_you_mean(entry.key(), names);
      checker.fail(entry.key_position(), fmt::format("'{}' has no parameter '{}'", declaration.name, entry.key()),
                   names.empty() ? "no parameters at all" : one_of(names), std::move(hint));
    }
  }
  for (const specs::Body& body : spec.bodies())
    if (std::none_of(parameters.begin(), parameters.end(), [&](const auto& p) { return p.name == body.name(); }))
      checker.fail(body.position(), fmt::format("'{}' has no nodes '{}' inside", declaration.name, body.name()),
                   names.empty() ? "no parameters at all" : one_of(names));
  for (const parameter_declaration& p : parameters)
    if (p.required && specs::find(with, p.name) == nullptr && !has_body(spec, p.name))
      checker.fail(spec.op_position(), fmt::format("'{}' needs the parameter '{}'", declaration.name, p.name),
                   fmt::format("with: {{{}: …}}, {}", p.name, describe(p)));
  return checker.good();
}

}  // namespace flowrun::plan
