#include "engine/expr/checker.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/counted.h"
#include "engine/base/fault.h"
#include "engine/expr/arithmetic.h"
#include "engine/expr/coerce.h"
#include "engine/expr/conversion.h"
#include "engine/expr/decimals.h"
#include "engine/expr/exact.h"
#include "engine/expr/function_table.h"
#include "engine/expr/functions.h"
#include "engine/expr/known_elsewhere.h"
#include "engine/expr/lane.h"
#include "engine/expr/like_pattern.h"
#include "engine/expr/literal_length.h"
#include "engine/expr/membership.h"
#include "engine/expr/named_parameter.h"
#include "engine/expr/outside_function.h"
#include "engine/expr/scalars.h"
#include "engine/expr/text_cut.h"
#include "engine/expr/times.h"
#include "engine/expr/words_of_sql.h"

namespace flowrun::expr {

namespace {

constexpr size_t most_listed = 12;  // of the names that a fault says would be right

using record::type_kind;
using record::value_type;

// What recurses keeps its frame small: trees are deep, and a sanitizer's frames are large.
#define FLOWRUN_OWN_FRAME [[gnu::noinline]]

class checker {
 public:
  checker(const scope& names, std::vector<problem>& problems) : names_(names), problems_(problems) {}

  node_ptr check(const syntax& s) try {
    switch (s.kind) {
      case syntax_kind::integer: return number_node(value_type::of(type_kind::u64), s.integer, true);
      case syntax_kind::real: return real_literal_node(lane::f(s.integer), s.text);
      case syntax_kind::text: return text_node(s.text);
      case syntax_kind::name: return name(s);
      case syntax_kind::call: return call(s);
      case syntax_kind::unary: return unary(s);
      case syntax_kind::binary: return binary(s);
      case syntax_kind::among: return among(s);
      case syntax_kind::between: return between(s);
      case syntax_kind::tuple: return lone_tuple(s);
      case syntax_kind::index: return index(s);
      case syntax_kind::slice: return slice(s);
      case syntax_kind::member: return member(s);
      case syntax_kind::nothing: break;
    }
    return nullptr;
  } catch (const call_failed& no) {  // over constants it is computed at once
    return fault(s.offset, no.what(), "", no.hint());
  }

 private:
  node_ptr fault(size_t offset, std::string message, std::string expected = {}, std::string hint = {}) {
    problems_.push_back({offset, std::move(message), std::move(expected), std::move(hint)});
    return nullptr;
  }

  std::vector<std::string> known_names() const {
    std::vector<std::string> out;
    for (const variable& v : names_.state) out.push_back(v.name);
    if (names_.row != nullptr)
      for (const record::column& c : names_.row->columns()) out.push_back(c.name);
    if (names_.row_number) out.push_back("row_number");
    if (!names_.index_name.empty()) out.push_back(names_.index_name);
    for (const constant& c : names_.constants) out.push_back(c.name);
    return out;
  }

  bool has_rows() const {
    return names_.row != nullptr || !names_.state.empty() || names_.row_number || !names_.index_name.empty();
  }

  // Null when there is none of that name.
  node_ptr scalar(const std::string& name) const {
    for (const constant& c : names_.constants)
      if (c.name == name) return unbound_scalar_node(c.name, c.type);
    return nullptr;
  }

  // What a name, or a name and one of its ports, says: "new", "new.rest". Empty for everything else.
  static std::string spelled(const syntax& s) {
    if (s.kind == syntax_kind::name) return s.text;
    const bool port = s.kind == syntax_kind::member && s.children[0]->kind == syntax_kind::name;
    return port ? s.children[0]->text + "." + s.text : std::string();
  }

  FLOWRUN_OWN_FRAME node_ptr name(const syntax& s) {
    if (s.text == "true" || s.text == "false")
      return number_node(value_type::of(type_kind::boolean), s.text == "true" ? 1 : 0);
    for (size_t i = 0; i < names_.state.size(); ++i)
      if (names_.state[i].name == s.text) return state_node(i, names_.state[i].type);
    if (names_.row != nullptr)
      if (const auto column = names_.row->index_of(s.text)) return column_node(*column, (*names_.row)[*column].type);
    if (!names_.index_name.empty() && s.text == names_.index_name) return row_number_node();
    if (s.text == "row_number") {
      if (names_.row_number) return row_number_node();
      return fault(s.offset, "row_number is not known here");
    }
    if (node_ptr value = scalar(s.text)) return value;
    if (s.text == "row") {
      if (names_.before > 0 || names_.after > 0)
        return fault(s.offset, "'row' needs a distance and a column", "for example row[-1].x");
      return fault(s.offset, "neighbouring rows are not known here", "",
                   "a window with before: 1, or after: 1, gives row[-1].x and row[1].x");
    }
    const std::vector<std::string> known = known_names();
    std::string hint = parameter_hint(names_.parameters, s.text);
    if (hint.empty()) hint = did_you_mean(s.text, known);
    // SQL calls current_date without parentheses.
    if (const std::string small = in_small_letters(s.text); hint.empty() && small.starts_with("current_"))
      hint = known_elsewhere(small);
    for (const function_help& f : functions())
      if (hint.empty() && f.name == s.text) hint = fmt::format("'{}' is a function: {}", f.name, f.signature);
    if (known.empty())
      return fault(
          s.offset, fmt::format("unknown name '{}'", s.text), "a constant: no columns are known here",
          hint.empty() ? fmt::format("a text would need quotes beside those of YAML: \"'{}'\"", s.text) : hint);
    return fault(s.offset, fmt::format("unknown {} '{}'", has_rows() ? "column" : "scalar", s.text),
                 one_of(known, most_listed), std::move(hint));
  }

  FLOWRUN_OWN_FRAME node_ptr call(const syntax& s) {
    if (s.children.size() == 1 && !names_.constants.empty())
      if (node_ptr value = scalar(fmt::format("{}({})", s.text, spelled(*s.children[0])))) return value;
    call_site site{s, {}, problems_};
    bool whole = true;
    for (const auto& child : s.children) {
      site.args.push_back(check(*child));
      whole = whole && site.args.back() != nullptr;
    }
    if (const outside_function* f = outside(s.text)) return whole ? outside(*f, site) : nullptr;
    const auto& table = functions();
    if (std::none_of(table.begin(), table.end(), [&](const function_help& f) { return f.name == s.text; })) {
      if (is_aggregate(s.text))
        return fault(s.offset, fmt::format("'{}' is an aggregate and no function", s.text), "",
                     "aggregates stand alone, in the 'let' of group, in 'combine' of sort and in reduce; expressions "
                     "can name what a reduce gives: scalars: NODE beside in:, and NODE.column");
      std::vector<std::string> known;
      for (const function_help& f : table) known.push_back(f.name);
      if (names_.functions != nullptr)
        for (const function_help& f : names_.functions->help()) known.push_back(f.name);
      std::string hint = slice_elsewhere(s);
      if (hint.empty()) hint = known_elsewhere(in_small_letters(s.text));
      if (std::string aggregate = aggregate_known_elsewhere(in_small_letters(s.text));
          hint.empty() && !aggregate.empty())
        hint = fmt::format("an aggregate, in the 'let' of group, in 'combine' of sort or in reduce: {}", aggregate);
      if (hint.empty()) hint = in_capitals(s.text, known);
      if (hint.empty()) hint = did_you_mean(s.text, known);
      const size_t point = s.text.find('.');
      if (hint.empty() && point != std::string::npos) hint = words_of_plugin(s.text.substr(0, point));
      if (!hint.empty())
        return fault(s.offset, fmt::format("unknown function '{}'", s.text), "a function of the expression language",
                     std::move(hint));
      std::sort(known.begin(), known.end());
      return fault(s.offset, fmt::format("unknown function '{}'", s.text), one_of(known, known.size()),
                   "`flowrun ops expressions` says what they do");
    }
    if (!whole) return nullptr;
    node_ptr result;
    build_call(site, result);
    return result;
  }

  bool is_aggregate(std::string_view name) const {
    const auto& own = aggregates();
    return std::any_of(own.begin(), own.end(), [&](const function_help& a) { return a.name == name; }) ||
           (names_.functions != nullptr && names_.functions->find_aggregate(name) != nullptr);
  }

  // What a function `plugin`.WORD that isn't there may have been meant to be.
  std::string words_of_plugin(const std::string& plugin) const {
    std::vector<std::string> words;
    if (names_.functions != nullptr)
      for (const function_help& f : names_.functions->help())
        if (f.name.starts_with(plugin + ".")) words.push_back(f.name);
    if (words.empty()) return fmt::format("a job names the plugins that it needs: plugins: [{}]", plugin);
    return fmt::format("the plugin {} has {}", plugin, joined(words, ", "));
  }

  const outside_function* outside(std::string_view name) const {
    return names_.functions == nullptr ? nullptr : names_.functions->find(name);
  }

  node_ptr outside(const outside_function& f, const call_site& site) {
    if (!require_count(site, f.help(), f.min_args(), f.max_args())) return nullptr;
    return bound_call_of(f, site);
  }

  static std::string type_name(const node_ptr& value) { return record::to_string(value->type); }

  static std::string number_hint(const node_ptr& value, bool integer) {
    if (value->type.is_time()) return std::string(number_of_time_hint(value->type));
    if (value->type.is_decimal()) return std::string(integer_of_decimal_hint);
    if (!value->type.is_text()) return "write u8(x) to count true as 1";
    return integer ? "write to_u64(x) or to_i64(x) to read a number from a text"
                   : "write to_u64(x), to_i64(x) or to_f64(x) to read a number from a text";
  }

  bool require_boolean(const syntax& s, const node_ptr& value, std::string_view op) {
    if (value->type.is_boolean()) return true;
    fault(s.first, fmt::format("'{}' needs bool, this is {}", op, type_name(value)), "bool",
          value->type.is_text()   ? "write x == 'text'"
          : value->type.is_time() ? "compare it: x >= '2026-11-23'"
                                  : "write x != 0");
    return false;
  }

  bool require_number(const syntax& s, const node_ptr& value, std::string_view op, bool integer,
                      std::string_view hint_for_bools = {}) {
    if (integer ? value->type.is_integer() : value->type.is_number()) return true;
    std::string hint = value->type.is_float() ? "write u64(x) or i64(x)" : number_hint(value, integer);
    if (op == "+" && value->type.is_text()) hint = "write concat(a, b) to join texts";
    if (op == "~" && value->type.is_boolean()) hint = "write not x";
    if (!hint_for_bools.empty()) hint = hint_for_bools;
    fault(s.first, fmt::format("'{}' needs {}, this is {}", op, integer ? "integers" : "numbers", type_name(value)),
          integer ? "an integer" : "a number", std::move(hint));
    return false;
  }

  FLOWRUN_OWN_FRAME node_ptr unary(const syntax& s) {
    const syntax& child = *s.children[0];
    const node_ptr value = check(child);
    if (value == nullptr) return nullptr;
    if (s.text == "not") return require_boolean(child, value, s.text) ? not_node(value) : nullptr;
    return with_sign(s, value);
  }

  FLOWRUN_OWN_FRAME node_ptr with_sign(const syntax& s, const node_ptr& value) {
    const syntax& child = *s.children[0];
    if (value->type.is_decimal() && s.text != "~") return s.text == "+" ? value : negative_of(s, value);
    if (!require_number(child, value, s.text, s.text == "~")) return nullptr;
    const lane_kind kind = lane_kind_of(value->type);
    if (s.text == "+") return value;
    if (s.text == "~") return op_node(opcode::bit_not, wide_type(kind), {value});
    if (kind == lane_kind::real)
      return with_exact_digits("-", literal_node(0), value, op_node(opcode::neg_f, wide_type(kind), {value}));
    if (is_known_integer(*value)) return negative(s, *value);
    if (value->type == value_type::of(type_kind::u64))
      return fault(s.offset, "'-' of u64: no integer type holds all of its values", "a signed or a narrower number",
                   "write -i64(x)");
    return op_node(opcode::neg_i, value_type::of(type_kind::i64), {value});
  }

  node_ptr negative_of(const syntax& s, const node_ptr& decimal) {
    if (node_ptr result = negative_decimal(decimal)) return result;
    return fault(s.offset, fmt::format("minus this number does not fit in {}", type_name(decimal)), "",
                 "write -f64(x)");
  }

  // Minus a constant, as on paper.
  node_ptr negative(const syntax& s, const node& value) {
    const exact_number result = -exact_value(value);
    const value_type type = value_type::of(type_kind::i64);
    if (value.literal)
      if (node_ptr literal = literal_node(result)) return literal;
    if (!holds(type, result))
      return fault(s.offset, fmt::format("{} does not fit in i64", result), range_of(type), "write -f64(x)");
    return number_node(type, static_cast<uint64_t>(result));
  }

  // "my-who" of params.my-who, which is read as a difference. Empty for everything else.
  static std::string parameter_in_difference(const syntax& s) {
    if (s.kind == syntax_kind::member && s.children[0]->kind == syntax_kind::name)
      return s.children[0]->text == parameters_name ? s.text : std::string();
    if (s.kind != syntax_kind::binary || s.text != "-" || s.children[1]->kind != syntax_kind::name) return {};
    const std::string first = parameter_in_difference(*s.children[0]);
    return first.empty() ? first : first + "-" + s.children[1]->text;
  }

  FLOWRUN_OWN_FRAME node_ptr binary(const syntax& s) {
    const std::string& op = s.text;
    const bool comparison = op == "==" || op == "!=" || op == "<" || op == "<=" || op == ">" || op == ">=";
    const syntax& left = *s.children[0];
    const syntax& right = *s.children[1];
    if (comparison && (left.kind == syntax_kind::tuple || right.kind == syntax_kind::tuple))
      return tuples(op, s.offset, left, right);
    if (op == "-" && names_.parameters != nullptr)
      if (auto why = parameter_with_minus(*names_.parameters, parameter_in_difference(s)))
        return fault(s.first, std::move(why->message), "", std::move(why->hint));
    const size_t problems_before = problems_.size();
    const node_ptr a = check(left), b = check(right);
    if (comparison && (a == nullptr) != (b == nullptr) && problems_.size() == problems_before + 1)
      advise_word(a == nullptr ? left : right, a == nullptr ? right : left, a == nullptr ? b : a, op == "!=");
    if (a == nullptr || b == nullptr) return nullptr;
    if (op == "like") return like_node({s, {a, b}, problems_});
    return comparison ? compared(op, s.offset, {left, a}, {right, b}) : combine(s, a, b);
  }

  // A value, and where it stands.
  struct operand {
    const syntax& at;
    const node_ptr& value;
  };

  // What was meant by an unknown name that is compared: a text without quotes, or null.
  void advise_word(const syntax& word, const syntax& other, const node_ptr& value, bool unequal) {
    if (word.kind != syntax_kind::name || !problems_.back().hint.empty()) return;
    if (means_null(word.text))
      problems_.back().hint = instead_of_null(other.kind == syntax_kind::name ? other.text : "x", unequal);
    else if (value->type.is_text())
      problems_.back().hint = fmt::format("a text needs quotes: '{}'", word.text);
  }

  FLOWRUN_OWN_FRAME node_ptr compared(const std::string& op, size_t offset, const operand& a, const operand& b) {
    if (auto never = never_equal(op, a.value, b.value))
      return fault((never->argument == 0 ? a : b).at.first, std::move(never->message), std::move(never->expected),
                   std::move(never->hint));
    if (asks_for_sign(op, *a.value, *b.value)) return fault(offset, unsigned_difference, {}, signed_difference_hint);
    return comparable(op, offset, a, b);
  }

  // The same, but values of which it is known that they aren't equal may be compared.
  FLOWRUN_OWN_FRAME node_ptr comparable(const std::string& op, size_t offset, const operand& a, const operand& b) {
    if (node_ptr result = compare(op, a.value, b.value)) return result;
    if (!has_own_rules(a.value, b.value)) return incomparable(offset, a.value, b.value);
    const bool times = a.value->type.is_time() || b.value->type.is_time();
    operand_fault why = times ? incomparable_times(a.value, b.value) : incomparable_decimals(a.value, b.value);
    return fault((why.argument == 0 ? a : b).at.first, std::move(why.message), std::move(why.expected),
                 std::move(why.hint));
  }

  FLOWRUN_OWN_FRAME node_ptr among(const syntax& s) {
    const syntax& left = *s.children[0];
    const bool tuple = left.kind == syntax_kind::tuple;
    const size_t before = problems_.size();
    const node_ptr value = tuple ? nullptr : check(left);
    std::vector<node_ptr> equalities;
    for (size_t i = 1; i < s.children.size() && (tuple || value != nullptr); ++i) {
      const syntax& one = *s.children[i];
      if (tuple || one.kind == syntax_kind::tuple) {
        equalities.push_back(tuples("==", one.first, left, one));
        if (equalities.back() == nullptr) return nullptr;  // what is wrong on the left is so for each
        continue;
      }
      const node_ptr other = check(one);
      equalities.push_back(other == nullptr ? nullptr : compared("==", one.first, {left, value}, {one, other}));
    }
    if (problems_.size() != before) return nullptr;
    return one_holds(equalities);
  }

  FLOWRUN_OWN_FRAME node_ptr between(const syntax& s) {
    const syntax &middle = *s.children[0], &low = *s.children[1], &high = *s.children[2];
    node_ptr above, below;
    if (middle.kind == syntax_kind::tuple || low.kind == syntax_kind::tuple || high.kind == syntax_kind::tuple) {
      above = tuples(">=", s.offset, middle, low);
      if (above != nullptr) below = tuples("<=", s.offset, middle, high);
    } else {
      const node_ptr value = check(middle), least = check(low), most = check(high);
      if (value == nullptr || least == nullptr || most == nullptr) return nullptr;
      above = compared(">=", low.first, {middle, value}, {low, least});
      below = compared("<=", high.first, {middle, value}, {high, most});
    }
    return above == nullptr || below == nullptr ? nullptr : and_node(above, below);
  }

  FLOWRUN_OWN_FRAME node_ptr combine(const syntax& s, const node_ptr& a, const node_ptr& b) {
    const std::string& op = s.text;
    const syntax& left = *s.children[0];
    const syntax& right = *s.children[1];
    if (op == "and" || op == "or") {
      const bool first = require_boolean(left, a, op), second = require_boolean(right, b, op);
      if (!first || !second) return nullptr;
      return op == "and" ? and_node(a, b) : or_node(a, b);
    }
    if (a->type.is_time() || b->type.is_time()) {
      operand_fault why;
      node_ptr result = time_arithmetic(op, a, b, why);
      return result != nullptr ? result : operand_problem(s, std::move(why));
    }
    if (a->type.is_decimal() || b->type.is_decimal()) {
      operand_fault why;
      node_ptr result = decimal_arithmetic(op, a, b, why);
      return result != nullptr ? result : operand_problem(s, std::move(why));
    }
    const bool integers = op == "&" || op == "|" || op == "^" || op == "<<" || op == ">>";
    std::string_view hint;
    if (a->type.is_boolean() && b->type.is_boolean())
      hint = op == "&" ? "write a and b" : op == "|" ? "write a or b" : op == "^" ? "write a != b" : "";
    const bool first = require_number(left, a, op, integers, hint),
               second = require_number(right, b, op, integers, hint);
    if (!first || !second) return nullptr;
    return number_arithmetic(op, s.offset, a, b, problems_);
  }

  node_ptr operand_problem(const syntax& s, operand_fault why) {
    return fault(s.children[static_cast<size_t>(why.argument)]->first, std::move(why.message), std::move(why.expected),
                 std::move(why.hint));
  }

  node_ptr incomparable(size_t offset, const node_ptr& a, const node_ptr& b) {
    std::string hint;
    const bool text = a->type.is_text() || b->type.is_text();
    if (text && (a->type.is_number() || b->type.is_number()))
      hint = fmt::format("write {}(text) to compare numbers, or string(number) to compare texts",
                         reader_of_numbers(a->type.is_number() ? *a : *b));
    else if (a->type.is_number() || b->type.is_number())
      hint = "write (x != 0) to make a number a condition";
    else if (text)
      hint = fmt::format("write ({} == 'true') to read a condition from a text",
                         a->type.is_bytes() || b->type.is_bytes() ? "string(x)" : "x");
    return fault(offset, fmt::format("{} and {} can't be compared", type_name(a), type_name(b)),
                 "two numbers, two texts or two bools", std::move(hint));
  }

  FLOWRUN_OWN_FRAME node_ptr lone_tuple(const syntax& s) {
    for (const auto& child : s.children) check(*child);
    return fault(s.offset, "a tuple can only be compared with a tuple", "for example (a, b) < (c, d)");
  }

  // Times and decimals say themselves why they can't be compared.
  static bool has_own_rules(const node_ptr& a, const node_ptr& b) {
    return a->type.is_time() || b->type.is_time() || a->type.is_decimal() || b->type.is_decimal();
  }

  FLOWRUN_OWN_FRAME node_ptr tuples(const std::string& op, size_t offset, const syntax& left, const syntax& right) {
    if (left.kind != syntax_kind::tuple || right.kind != syntax_kind::tuple)
      return fault(offset, "a tuple can only be compared with a tuple", "for example (a, b) < (c, d)");
    if (left.children.size() != right.children.size())
      return fault(
          offset,
          fmt::format("a tuple of {} can't be compared with one of {}", left.children.size(), right.children.size()),
          "tuples of the same length");
    std::vector<node_ptr> a, b;
    bool right_so_far = true;
    for (size_t i = 0; i < left.children.size(); ++i) {
      const syntax &x = *left.children[i], &y = *right.children[i];
      a.push_back(check(x));
      b.push_back(check(y));
      if (a[i] == nullptr || b[i] == nullptr) {
        right_so_far = false;
        continue;
      }
      const node_ptr alike = op == "==" || op == "!=" ? compared(op, y.first, {x, a[i]}, {y, b[i]})
                                                      : comparable("==", y.first, {x, a[i]}, {y, b[i]});
      right_so_far = alike != nullptr && right_so_far;
    }
    return right_so_far ? compare_tuples(op, a, b) : nullptr;
  }

  FLOWRUN_OWN_FRAME node_ptr index(const syntax& s) {
    if (s.children[0]->kind == syntax_kind::name && s.children[0]->text == "row" && !row_is_a_name())
      return fault(s.children[0]->offset, "'row[…]' needs a column", "for example row[-1].x");
    const node_ptr text = check(*s.children[0]), position = check(*s.children[1]);
    return byte_at_node(s, text, position, problems_);
  }

  FLOWRUN_OWN_FRAME node_ptr slice(const syntax& s) {
    const node_ptr text = check(*s.children[0]), from = check(*s.children[1]), to = check(*s.children[2]);
    return slice_node(s, text, from, to, problems_);
  }

  // A column or a state variable may be called "row" in older jobs; then it is an ordinary name.
  bool row_is_a_name() const {
    const std::vector<std::string> known = known_names();
    return std::find(known.begin(), known.end(), "row") != known.end();
  }

  // "a.x" where two rows are compared or combined: the row type has columns with such names.
  FLOWRUN_OWN_FRAME node_ptr qualified(const syntax& s, const std::string& owner, bool& known) {
    const std::string whole = owner + "." + s.text;
    std::vector<std::string> names;
    known = false;
    for (const std::string& name : known_names()) {
      if (name.find('.') == std::string::npos) continue;
      known = true;
      if (name.starts_with(owner + ".")) names.push_back(name);
    }
    if (names_.row != nullptr)
      if (const auto column = names_.row->index_of(whole)) return column_node(*column, (*names_.row)[*column].type);
    if (names.empty()) names = known_names();
    if (known)
      fault(s.children[0]->first, fmt::format("unknown column '{}'", whole), one_of(names, most_listed),
            did_you_mean(whole, names));
    return nullptr;
  }

  // What was meant by owner.column, which isn't known. Behind the name of a node the column of that node is meant: to
  // drop the name would compare the input's column with itself, and leave no rows in silence.
  std::string instead_of_member(const std::string& owner, const std::string& column,
                                const std::vector<std::string>& known) const {
    const bool is_node = names_.is_node && names_.is_node(owner);
    if (!is_node && std::find(known.begin(), known.end(), column) != known.end())
      return fmt::format("write {} alone", column);
    std::string hint = is_node ? std::string() : did_you_mean(column, known);
    if (hint.empty() && has_rows())
      hint = fmt::format("scalars: {} beside in: names the values of a node that gives one row", owner);
    return hint;
  }

  FLOWRUN_OWN_FRAME node_ptr member(const syntax& s) {
    const syntax& owner = *s.children[0];
    if (owner.kind == syntax_kind::name && owner.text == parameters_name && names_.parameters != nullptr) {
      named_parameter found = find_parameter(*names_.parameters, s.text, known_names());
      if (found.why) return fault(s.first, found.why->message, found.why->expected, found.why->hint);
      if (found.value != nullptr) return found.value;
    }
    if (node_ptr value = scalar(spelled(s))) return value;
    if (owner.kind == syntax_kind::name) {
      bool known = false;
      node_ptr value = qualified(s, owner.text, known);
      if (known) return value;
    }
    if (owner.kind != syntax_kind::index || owner.children[0]->kind != syntax_kind::name ||
        owner.children[0]->text != "row") {
      const std::vector<std::string> known = known_names();
      std::string hint =
          owner.kind == syntax_kind::name ? instead_of_member(owner.text, s.text, known) : did_you_mean(s.text, known);
      return fault(s.offset, "only row[…] has columns", "for example row[-1].x", std::move(hint));
    }
    if (names_.row == nullptr || (names_.before == 0 && names_.after == 0))
      return fault(owner.first, "neighbouring rows are not known here", "",
                   "a window with before: 1, or after: 1, gives row[-1].x and row[1].x");
    const node_ptr at = check(*owner.children[1]);
    const auto column = names_.row->index_of(s.text);
    if (!column) {
      const std::vector<std::string> columns = names_.row->names();
      return fault(s.offset, fmt::format("unknown column '{}'", s.text), one_of(columns, most_listed),
                   did_you_mean(s.text, columns));
    }
    if (at == nullptr) return nullptr;
    if (!at->type.is_integer() || !at->constant)
      return fault(owner.children[1]->first, "the distance of a neighbour must be a constant integer",
                   "for example row[-1].x");
    const bool below = at->type.is_signed() && static_cast<int64_t>(at->imm) < 0;
    const uint64_t distance = below ? 0 - at->imm : at->imm;
    const int reach = below ? names_.before : names_.after;
    if (distance > static_cast<uint64_t>(reach))
      return fault(owner.first, fmt::format("row[{}{}] reaches beyond the window", below ? "-" : "", distance),
                   fmt::format("row[{}] … row[{}]", -names_.before, names_.after),
                   distance > scope::most_neighbours ? fmt::format("at most {}", counted(scope::most_neighbours, "row"))
                   : below                           ? "make 'before' larger"
                                                     : "make 'after' larger");
    const value_type type = (*names_.row)[*column].type;
    if (distance == 0) return column_node(*column, type);
    return neighbour_node(s.text, below ? -static_cast<int>(distance) : static_cast<int>(distance), type);
  }

  const scope& names_;
  std::vector<problem>& problems_;
};

#undef FLOWRUN_OWN_FRAME

}  // namespace

node_ptr check(const syntax& tree, const scope& names, std::vector<problem>& problems) {
  return checker(names, problems).check(tree);
}

}  // namespace flowrun::expr
