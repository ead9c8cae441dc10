#include "engine/expr/outside_aggregate.h"
#include "engine/expr/outside_function.h"

namespace flowrun::expr {

namespace {

template <class Map>
typename Map::mapped_type found_in(const Map& map, std::string_view name) {
  const auto found = map.find(name);
  return found == map.end() ? nullptr : found->second;
}

template <class Map>
std::vector<function_help> help_of(const Map& map) {
  std::vector<function_help> out;
  for (const auto& [name, word] : map) out.push_back(word->help());
  return out;
}

}  // namespace

bool outside_functions::add(const outside_function& function) {
  const std::string& name = function.help().name;
  return find_aggregate(name) == nullptr && by_name_.emplace(name, &function).second;
}

bool outside_functions::add(const outside_aggregate& aggregate) {
  const std::string& name = aggregate.help().name;
  return find(name) == nullptr && aggregates_.emplace(name, &aggregate).second;
}

const outside_function* outside_functions::find(std::string_view name) const { return found_in(by_name_, name); }
const outside_aggregate* outside_functions::find_aggregate(std::string_view name) const {
  return found_in(aggregates_, name);
}

std::vector<function_help> outside_functions::help() const { return help_of(by_name_); }
std::vector<function_help> outside_functions::aggregate_help() const { return help_of(aggregates_); }

}  // namespace flowrun::expr
