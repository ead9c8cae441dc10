#include "engine/expr/aggregate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/base/fault.h"
#include "engine/expr/checker.h"
#include "engine/expr/coerce.h"
#include "engine/expr/functions.h"
#include "engine/expr/parser.h"

namespace flowrun::expr {

namespace {

constexpr std::array<std::string_view, 6> names_of_kinds = {"count", "sum", "min", "max", "first", "last"};

}  // namespace

std::string_view to_string(aggregate_kind kind) { return names_of_kinds[static_cast<size_t>(kind)]; }

compiled_aggregate compile_aggregate(std::string_view text, const scope& names) {
  compiled_aggregate result;
  const auto fault = [&](size_t offset, std::string message, std::string expected = {}, std::string hint = {}) {
    result.problems.push_back({offset, std::move(message), std::move(expected), std::move(hint)});
    return result;
  };
  const auto tree = parse(text, result.problems);
  if (tree == nullptr) return result;
  constexpr const char* known = "one of count(), sum(x), min(x), max(x), first(x), last(x)";
  if (tree->kind == syntax_kind::name) {
    const bool is_aggregate =
        std::find(names_of_kinds.begin(), names_of_kinds.end(), tree->text) != names_of_kinds.end();
    return fault(tree->offset, fmt::format("'{}' is no aggregate", tree->text), known,
                 is_aggregate ? fmt::format("write {}({})", tree->text, tree->text == "count" ? "" : "x")
                              : fmt::format("write first({}) to keep the value of the first row", tree->text));
  }
  if (tree->kind != syntax_kind::call)
    return fault(tree->first, "this is no aggregate", known,
                 "compute inside the aggregate, as in sum(x * 2), or in a map behind");
  const auto kind = std::find(names_of_kinds.begin(), names_of_kinds.end(), tree->text);
  if (kind == names_of_kinds.end())
    return fault(tree->offset, fmt::format("unknown aggregate '{}'", tree->text), known,
                 did_you_mean(tree->text, {names_of_kinds.begin(), names_of_kinds.end()}));
  aggregate value;
  value.kind = static_cast<aggregate_kind>(kind - names_of_kinds.begin());
  const size_t wanted = value.kind == aggregate_kind::count ? 0 : 1;
  if (tree->children.size() != wanted)
    return fault(tree->offset,
                 fmt::format("{} takes {}, not {}", tree->text, wanted == 0 ? "no argument" : "1 argument",
                             tree->children.size()),
                 wanted == 0 ? "count()" : fmt::format("{}(x)", tree->text));
  value.result = record::value_type::of(record::type_kind::u64);
  if (wanted == 1) {
    const syntax& argument = *tree->children[0];
    const node_ptr root = check(argument, names, result.problems);
    if (root == nullptr) return result;
    value.result = root->type;
    if (value.kind == aggregate_kind::sum) {
      if (!root->type.is_number())
        return fault(argument.first, fmt::format("sum: this is {}", record::to_string(root->type)), "a number",
                     root->type.is_boolean() ? "write sum(u8(x)) to count" : "write sum(to_u64(x)) to read numbers");
      value.result = wide_type(lane_kind_of(root->type));
    }
    value.argument.emplace(root, std::string(text.substr(argument.first)));
    // The source of the argument ends before the closing parenthesis.
    std::string source = value.argument->text();
    source = source.substr(0, source.rfind(')'));
    value.argument.emplace(root, std::move(source));
  }
  result.value = std::move(value);
  return result;
}

}  // namespace flowrun::expr
