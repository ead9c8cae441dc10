#include "engine/expr/aggregate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/base/fault.h"
#include "engine/expr/aggregate_call.h"
#include "engine/expr/checker.h"
#include "engine/expr/coerce.h"
#include "engine/expr/functions.h"
#include "engine/expr/known_elsewhere.h"
#include "engine/expr/outside_function.h"
#include "engine/expr/own_aggregates.h"
#include "engine/expr/parser.h"
#include "engine/expr/words_of_sql.h"

namespace flowrun::expr {

namespace {

constexpr std::array<std::string_view, 7> names_of_kinds = {"count", "sum",  "min",           "max",
                                                            "first", "last", "count_distinct"};

// What a user wrote as argument `i`.
std::string source_of(std::string_view text, const syntax& call, size_t i) {
  const size_t from = call.children[i]->first;
  const bool is_last = i + 1 == call.children.size();
  const size_t next = is_last ? text.size() : call.children[i + 1]->first;
  const std::string_view source = text.substr(from, next - from);
  return std::string(source.substr(0, source.rfind(is_last ? ')' : ',')));
}

class aggregate_compiler {
 public:
  aggregate_compiler(std::string_view text, const scope& names) : text_(text), names_(names) {}

  compiled_aggregate run() {
    const auto tree = parse(text_, result_.problems);
    if (tree != nullptr) compile(*tree);
    return std::move(result_);
  }

 private:
  static constexpr const char* known =
      "one of count(), count(condition), sum(x), avg(x), min(x), max(x), first(x), last(x), variance(x), stddev(x), "
      "count_distinct(x), approx_count_distinct(x), approx_quantile(x, q)";

  void fault(size_t offset, std::string message, std::string expected = {}, std::string hint = {}) {
    result_.problems.push_back({offset, std::move(message), std::move(expected), std::move(hint)});
  }

  void compile(const syntax& tree) {
    if (tree.kind == syntax_kind::name) {
      const bool is_aggregate =
          find_own_aggregate(tree.text) != nullptr ||
          std::find(names_of_kinds.begin(), names_of_kinds.end(), tree.text) != names_of_kinds.end();
      return fault(tree.offset, fmt::format("'{}' is no aggregate", tree.text), known,
                   is_aggregate ? fmt::format("write {}({})", tree.text, tree.text == "count" ? "" : "x")
                                : fmt::format("write first({}) to keep the value of the first row", tree.text));
    }
    if (tree.kind != syntax_kind::call)
      return fault(tree.first, "this is no aggregate", known,
                   "compute inside the aggregate, as in sum(x * 2), or in a map behind");
    if (const outside_aggregate* found = outside(tree.text)) return compile_outside(tree, *found);
    const auto kind = std::find(names_of_kinds.begin(), names_of_kinds.end(), tree.text);
    if (kind == names_of_kinds.end()) return refuse_unknown(tree);
    compile_own(tree, static_cast<aggregate_kind>(kind - names_of_kinds.begin()));
  }

  const outside_aggregate* outside(std::string_view name) const {
    if (const outside_aggregate* own = find_own_aggregate(name)) return own;
    return names_.functions == nullptr ? nullptr : names_.functions->find_aggregate(name);
  }

  void refuse_unknown(const syntax& tree) {
    const bool is_function = names_.functions != nullptr && names_.functions->find(tree.text) != nullptr;
    if (is_function)
      return fault(tree.offset, fmt::format("'{}' is a function and no aggregate", tree.text), known,
                   fmt::format("compute inside the aggregate, as in first({}(x)), or in a map behind", tree.text));
    if (std::string other = aggregate_known_elsewhere(in_small_letters(tree.text)); !other.empty())
      return fault(tree.offset, fmt::format("unknown aggregate '{}'", tree.text), known, std::move(other));
    std::vector<std::string> words;
    for (const function_help& f : aggregates()) words.push_back(f.name);
    if (names_.functions != nullptr)
      for (const function_help& f : names_.functions->aggregate_help()) words.push_back(f.name);
    std::string hint = in_capitals(tree.text, words);
    if (hint.empty()) hint = did_you_mean(tree.text, words);
    if (const size_t point = tree.text.find('.'); hint.empty() && point != std::string::npos)
      hint = words_of_plugin(tree.text.substr(0, point));
    fault(tree.offset, fmt::format("unknown aggregate '{}'", tree.text), known, std::move(hint));
  }

  std::string words_of_plugin(const std::string& plugin) const {
    std::string words;
    if (names_.functions != nullptr)
      for (const function_help& f : names_.functions->aggregate_help())
        if (f.name.starts_with(plugin + ".")) words += (words.empty() ? "" : ", ") + f.name;
    if (!words.empty()) return fmt::format("the plugin {} has {}", plugin, words);
    return fmt::format("a job names the plugins that it needs: plugins: [{}]; flowrun plugins lists what they have",
                       plugin);
  }

  void compile_own(const syntax& tree, aggregate_kind kind) {
    if (kind == aggregate_kind::count && tree.children.size() == 1) return count_where(tree);
    aggregate value;
    value.kind = kind;
    const size_t wanted = kind == aggregate_kind::count ? 0 : 1;
    if (kind == aggregate_kind::sum && tree.children.size() == 2)
      return fault(tree.children[1]->first, "sum takes 1 argument, not 2", "sum(x)",
                   fmt::format("write sum(if({}, {}, 0)) to sum up where a condition holds", source_of(text_, tree, 1),
                               source_of(text_, tree, 0)));
    if (tree.children.size() != wanted)
      return fault(tree.offset,
                   fmt::format("{} takes {}, not {}", tree.text,
                               wanted == 0 ? "no argument or a condition" : "1 argument", tree.children.size()),
                   wanted == 0 ? "count() or count(condition)" : fmt::format("{}(x)", tree.text));
    value.result = record::value_type::of(record::type_kind::u64);
    if (wanted == 1) {
      const syntax& argument = *tree.children[0];
      const node_ptr root = check(argument, names_, result_.problems);
      if (root == nullptr) return;
      if (kind != aggregate_kind::distinct) value.result = root->type;
      if (kind == aggregate_kind::sum && root->type.is_decimal()) return compile_outside(tree, decimal_sum());
      if (kind == aggregate_kind::sum) {
        if (!root->type.is_number())
          return fault(
              argument.first, fmt::format("sum: this is {}", record::to_string(root->type)), "a number",
              root->type.is_time()
                  ? "write sum(date_diff('second', from, to)) for lengths of time; min(x) and max(x) take times"
              : root->type.is_boolean()
                  ? "write count(x) to count those for which it is true"
                  : fmt::format("write sum(to_f64({})) to read numbers", source_of(text_, tree, 0)));
        value.result = wide_type(lane_kind_of(root->type));
      }
      value.argument.emplace(root, source_of(text_, tree, 0));
    }
    result_.value = std::move(value);
  }

  // count(condition): the sum of what is 1 where it holds.
  void count_where(const syntax& tree) {
    const syntax& argument = *tree.children[0];
    const node_ptr root = check(argument, names_, result_.problems);
    if (root == nullptr) return;
    if (!root->type.is_boolean())
      return fault(argument.first, fmt::format("count: this is {}", record::to_string(root->type)),
                   "a condition, as in count(x > 3), or nothing",
                   "count() counts all rows, since no value is missing; count_distinct(x) counts different values");
    aggregate value;
    value.kind = aggregate_kind::sum;
    value.result = record::value_type::of(record::type_kind::u64);
    value.argument.emplace(cast(root, value.result), source_of(text_, tree, 0));
    result_.value = std::move(value);
  }

  void compile_outside(const syntax& tree, const outside_aggregate& function) {
    std::vector<expression> given;
    call_site site{tree, {}, result_.problems};
    for (size_t i = 0; i < tree.children.size(); ++i) {
      site.args.push_back(check(*tree.children[i], names_, result_.problems));
      if (site.args.back() != nullptr) given.emplace_back(site.args.back(), source_of(text_, tree, i));
    }
    if (given.size() != tree.children.size()) return;
    if (!require_count(site, function.help(), function.min_args(), function.max_args())) return;
    auto made = make_aggregate_call(function, std::move(given));
    if (binding_fault* no = std::get_if<binding_fault>(&made)) {
      if (no->argument)
        site.fault(*no->argument, std::move(no->message), std::move(no->expected), std::move(no->hint));
      else
        fault(tree.offset, fmt::format("{}: {}", tree.text, no->message), std::move(no->expected), std::move(no->hint));
      return;
    }
    aggregate value;
    value.kind = aggregate_kind::outside;
    value.outside = std::get<aggregate_call>(std::move(made));
    value.result = value.outside->bound.result;
    result_.value = std::move(value);
  }

  const std::string_view text_;
  const scope& names_;
  compiled_aggregate result_;
};

}  // namespace

bool aggregate::is_ordered() const {
  if (outside) return outside->bound.is_ordered;
  return kind == aggregate_kind::first || kind == aggregate_kind::last;
}

void aggregate::bind(const scalar_values& values) {
  expr::bind(argument, values);
  if (outside) outside->bind(values);
}

compiled_aggregate compile_aggregate(std::string_view text, const scope& names) {
  return aggregate_compiler(text, names).run();
}

}  // namespace flowrun::expr
