// Reading a node's parameters that name columns or hold expressions.
//
// A problem inside an expression points into the YAML text: where the value starts, one more for the quote, and the
// offset within the expression. Blocks of text and values from the command line only have a start.
#include <fmt/format.h>

#include <algorithm>

#include "engine/plan/node_checker.h"
#include "engine/plan/sub_graphs.h"
#include "specs/value.h"

namespace flowrun::plan {

namespace {

// The entries of a map parameter, or the free columns of a node.
std::vector<const specs::Entry*> entries_of(const specs::Value* v) {
  std::vector<const specs::Entry*> out;
  if (v)
    for (const specs::Entry& entry : v->map().entries()) out.push_back(&entry);
  return out;
}

// The items of a list parameter; a single text is a list of one.
std::vector<const specs::Value*> items_of(const specs::Value* v) {
  std::vector<const specs::Value*> out;
  if (v && specs::is_scalar(*v)) out.push_back(v);
  if (v)
    for (const specs::Value& item : v->list().items()) out.push_back(&item);
  return out;
}

bool is_whole_number(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// SQL's ORDER BY 2. Nothing where there is no such column.
std::string column_at_position(const std::string& text, const record::row_type* row) {
  const bool descending = text[0] == '-';
  const std::string digits = text.substr(descending ? 1 : 0);
  for (size_t i = 0; row != nullptr && i < row->num_columns(); ++i)
    if (digits == std::to_string(i + 1))
      return fmt::format("column {} is called {}: write {}{}", digits, (*row)[i].name, descending ? "-" : "",
                         (*row)[i].name);
  return {};
}

specs::Position position_within(const specs::Value& value, size_t offset) {
  specs::Position p = value.position();
  const specs::Scalar& scalar = value.scalar();
  if (p.line() <= 0 || !p.origin().empty() || scalar.text().find('\n') != std::string::npos) return p;
  p.set_column(p.column() + static_cast<int>(offset) + (scalar.quoted() ? 1 : 0));
  return p;
}

}  // namespace

void node_checker::add_problems(const specs::Value& value, const std::vector<expr::problem>& problems) {
  for (const expr::problem& p : problems) {
    // {status: 'new'}: YAML takes the quotes, and a word is left.
    const bool quotes_are_gone =
        p.hint.empty() && value.scalar().quoted() && p.message.starts_with("unknown column") &&
        p.message.size() == std::string_view("unknown column ''").size() + specs::text(value).size();
    add(position_within(value, p.offset), p.message, p.expected,
        quotes_are_gone ? fmt::format("a text needs quotes beside those of YAML: \"'{}'\"", specs::text(value))
                        : p.hint);
  }
}

void node_checker::fault_in_parameter(const std::string& name, size_t offset, std::string message, std::string expected,
                                      std::string hint) {
  const specs::Value* v = value(name);
  add(v ? position_within(*v, offset) : specs::Position(), std::move(message), std::move(expected), std::move(hint));
}

expr::scope node_checker::with_names(const expr::scope& scope) const {
  expr::scope all = scope;
  all.functions = graph_.functions.get();
  all.parameters = graph_.parameters.get();
  all.is_node = [this](const std::string& name) { return is_other_node(name); };
  all.constants.insert(all.constants.end(), own_scalars_.begin(), own_scalars_.end());
  all.constants.insert(all.constants.end(), graph_.scalars.begin(), graph_.scalars.end());
  return all;
}

// A node of this graph or of the job around it, of which no input comes: the columns of those are names themselves.
bool node_checker::is_other_node(const std::string& name) const {
  for (size_t i = 0; i < num_inputs(); ++i)
    if (split_endpoint(input_name(i)).node == name) return false;
  if (graph_.find(name) != nullptr) return true;
  return graph_.job != nullptr && std::any_of(graph_.job->nodes().begin(), graph_.job->nodes().end(),
                                              [&](const specs::Node& n) { return n.id() == name; });
}

const parameter_declaration* node_checker::declared(const std::string& name) const {
  for (const parameter_declaration& p : node_.declaration->parameters)
    if (p.name == name) return &p;
  return nullptr;
}

void node_checker::add_unknown_column(const specs::Position& where, const std::string& column, size_t input) {
  const std::vector<std::string> names = input_type(input).names();
  add(where, fmt::format("'{}' has no column '{}'", input_name(input), column), one_of(names),
      did_you_mean(column, names));
}

bool node_checker::known_column(const specs::Value& value, size_t input) {
  if (input_type(input).index_of(specs::text(value))) return true;
  add_unknown_column(value.position(), specs::text(value), input);
  return false;
}

std::vector<std::string> node_checker::columns(const std::string& name, size_t input) {
  return columns_in(value(name), input);
}

std::vector<std::pair<std::string, std::vector<std::string>>> node_checker::named_columns(const std::string& name) {
  std::vector<std::pair<std::string, std::vector<std::string>>> out;
  for (const specs::Entry* entry : entries_of(value(name)))
    out.emplace_back(entry->key(), columns_in(&entry->value(), 0));
  return out;
}

std::vector<std::string> node_checker::columns_in(const specs::Value* list, size_t input) {
  std::vector<std::string> out;
  for (const specs::Value* item : items_of(list)) {
    const std::string& column = specs::text(*item);
    if (!known_column(*item, input)) continue;
    if (std::find(out.begin(), out.end(), column) != out.end())
      add(item->position(), fmt::format("the column '{}' is named twice", column), "each column once", {});
    else
      out.push_back(column);
  }
  return out;
}

std::vector<std::pair<std::string, std::string>> node_checker::column_pairs(const std::string& name) {
  std::vector<std::pair<std::string, std::string>> out;
  const specs::Value* v = value(name);
  auto add_pair = [&](const specs::Position& where, const std::string& left, const specs::Value& right) {
    const bool left_known = input_type(0).index_of(left).has_value();
    if (!left_known) add_unknown_column(where, left, 0);
    if (!known_column(right, 1) || !left_known) return;
    const auto twice = std::find_if(out.begin(), out.end(), [&](const auto& pair) {
      return pair.first == left || pair.second == specs::text(right);
    });
    if (twice != out.end())
      add(where, fmt::format("the column '{}' is named twice", twice->first == left ? left : twice->second),
          "each column once", {});
    else
      out.emplace_back(left, specs::text(right));
  };
  if (v && specs::is_map(*v)) {
    for (const specs::Entry& entry : v->map().entries()) add_pair(entry.key_position(), entry.key(), entry.value());
  } else {
    for (const specs::Value* item : items_of(v)) add_pair(item->position(), specs::text(*item), *item);
  }
  return out;
}

std::optional<sort_key> node_checker::compiled_key(const specs::Value& value, const expr::scope& scope) {
  expr::compiled_sort_term term = expr::compile_sort_term(specs::text(value), with_names(scope));
  note_scalars(value, scope, term.problems);
  add_problems(value, term.problems);
  if (!term.value) return std::nullopt;
  sort_key key{term.value->value, term.value->descending, std::nullopt, {}, value.position()};
  if (scope.row) {
    const record::row_type& row = *scope.row;
    if (const auto column = key.value.as_column())
      key.term = order_term{row[*column].name, key.descending};
    else if (const auto slice = key.value.as_slice())
      key.term = order_term{row[slice->column].name, key.descending, slice->from, slice->length};
  }
  gave_expressions_ = gave_expressions_ || !key.term;
  if (key.value.uses_row_number()) facts().names_row_number = true;
  return key;
}

std::vector<sort_key> node_checker::sort_keys(const std::string& name, const expr::scope& scope) {
  std::vector<sort_key> out;
  const auto take = [&](const specs::Value& value, const std::string& key_name) {
    if (std::optional<sort_key> key = compiled_key(value, scope)) {
      key->name = key_name;
      out.push_back(std::move(*key));
    }
  };
  const specs::Value* const given = value(name);
  std::vector<const specs::Value*> items = items_of(given);
  if (given && specs::is_map(*given)) items = {given};
  for (const specs::Value* item : items) {
    if (specs::is_scalar(*item) && is_whole_number(specs::text(*item)))
      add(item->position(), fmt::format("the key {} is the same for all rows", specs::text(*item)),
          "a column, or an expression of columns, such as [x, -y]", column_at_position(specs::text(*item), scope.row));
    else if (!specs::is_map(*item))
      take(*item, {});
    else
      for (const specs::Entry* entry : entries_of(item)) take(entry->value(), entry->key());
  }
  return out;
}

std::optional<expr::expression> node_checker::compiled(const specs::Value& v, const expr::scope& scope,
                                                       bool condition) {
  const expr::scope names = with_names(scope);
  expr::compiled result =
      condition ? expr::compile_condition(specs::text(v), names) : expr::compile(specs::text(v), names);
  note_scalars(v, scope, result.problems);
  add_problems(v, result.problems);
  if (!result.problems.empty()) return std::nullopt;
  gave_expressions_ = gave_expressions_ || result.value;
  if (result.value && result.value->uses_row_number()) facts().names_row_number = true;
  return result.value;
}

std::optional<expr::expression> node_checker::expression(const std::string& name, const expr::scope& scope) {
  const specs::Value* v = value(name);
  return v ? compiled(*v, scope, false) : std::nullopt;
}

std::optional<expr::expression> node_checker::condition(const std::string& name, const expr::scope& scope) {
  const specs::Value* v = value(name);
  return v ? compiled(*v, scope, true) : std::nullopt;
}

node_checker::expression_columns node_checker::named_expressions(const std::string& name, const expr::scope& scope) {
  expression_columns out;
  const bool free = name.empty();
  for (const specs::Entry* entry : entries_of(free ? &node_.spec->with() : value(name))) {
    if (free && declared(entry->key())) continue;
    if (auto e = compiled(entry->value(), scope, false)) out.emplace_back(entry->key(), std::move(*e));
  }
  return out;
}

std::vector<node_checker::expression_columns> node_checker::expression_rows(const std::string& name,
                                                                            const expr::scope& scope) {
  std::vector<expression_columns> out;
  const specs::Value* v = value(name);
  if (!v) return out;
  for (const specs::Value& row : v->list().items()) {
    expression_columns& columns = out.emplace_back();
    for (const specs::Entry* entry : entries_of(&row))
      if (auto e = compiled(entry->value(), scope, false)) columns.emplace_back(entry->key(), std::move(*e));
  }
  return out;
}

std::vector<node_checker::rule> node_checker::rules(const std::string& name, const expr::scope& scope) {
  std::vector<rule> out;
  const specs::Value* v = value(name);
  if (!v) return out;
  for (const specs::Value& one : v->list().items()) {
    rule& r = out.emplace_back();
    for (const specs::Entry* entry : entries_of(&one)) {
      const specs::Value& part = entry->value();
      if (entry->key() == "from") r.from = specs::text(part);
      if (entry->key() == "to") r.to = specs::text(part);
      if (entry->key() == "when") r.when = compiled(part, scope, true);
      expression_columns* columns = entry->key() == "set"    ? &r.set
                                    : entry->key() == "push" ? &r.push
                                    : entry->key() == "emit" ? &r.emit
                                                             : nullptr;
      if (columns == nullptr) continue;
      for (const specs::Entry* column : entries_of(&part))
        if (auto e = compiled(column->value(), scope, false)) columns->emplace_back(column->key(), std::move(*e));
    }
  }
  return out;
}

node_checker::expression_columns node_checker::named_conditions(const std::string& name, const expr::scope& scope) {
  expression_columns out;
  for (const specs::Entry* entry : entries_of(value(name)))
    if (auto e = compiled(entry->value(), scope, true)) out.emplace_back(entry->key(), std::move(*e));
  return out;
}

std::vector<std::pair<std::string, expr::aggregate>> node_checker::aggregates(const std::string& name,
                                                                              const expr::scope& scope) {
  std::vector<std::pair<std::string, expr::aggregate>> out;
  const expr::scope names = with_names(scope);
  for (const specs::Entry* entry : entries_of(value(name))) {
    expr::compiled_aggregate result = expr::compile_aggregate(specs::text(entry->value()), names);
    note_scalars(entry->value(), scope, result.problems);
    add_problems(entry->value(), result.problems);
    gave_expressions_ = gave_expressions_ || result.value;
    if (result.value) out.emplace_back(entry->key(), *result.value);
  }
  return out;
}

}  // namespace flowrun::plan
