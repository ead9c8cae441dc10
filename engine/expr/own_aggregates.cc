#include "engine/expr/own_aggregates.h"

#include <map>

namespace flowrun::expr {

namespace {

class table_aggregate final : public outside_aggregate {
 public:
  explicit table_aggregate(const own_aggregate& a)
      : aggregate_(a), help_{std::string(a.name), std::string(a.signature), std::string(a.help)} {}
  const function_help& help() const override { return help_; }
  size_t min_args() const override { return aggregate_.min_args; }
  size_t max_args() const override { return aggregate_.max_args; }
  std::variant<aggregate_binding, binding_fault> bind(const std::vector<given_argument>& args) const override {
    return aggregate_.bind(args);
  }

 private:
  const own_aggregate& aggregate_;
  function_help help_;
};

const std::vector<std::span<const own_aggregate>>& families() {
  static const std::vector<std::span<const own_aggregate>> all = {moment_aggregates(), distinct_aggregates(),
                                                                  quantile_aggregates()};
  return all;
}

}  // namespace

const outside_aggregate* find_own_aggregate(std::string_view name) {
  static const std::map<std::string_view, table_aggregate> by_name = [] {
    std::map<std::string_view, table_aggregate> out;
    for (const auto& family : families())
      for (const own_aggregate& a : family) out.try_emplace(a.name, a);
    return out;
  }();
  const auto found = by_name.find(name);
  return found == by_name.end() ? nullptr : &found->second;
}

const std::vector<function_help>& own_aggregates() {
  static const std::vector<function_help> help = [] {
    std::vector<function_help> out;
    for (const auto& family : families())
      for (const own_aggregate& a : family)
        out.push_back({std::string(a.name), std::string(a.signature), std::string(a.help)});
    return out;
  }();
  return help;
}

}  // namespace flowrun::expr
