#include "engine/expr/named_parameter.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/fault.h"
#include "engine/expr/node.h"

namespace flowrun::expr {

namespace {

std::string whole(const std::string& name) { return fmt::format("{}.{}", parameters_name, name); }

// Parameters may be called more than expressions can say.
bool can_be_named(const parameter& p) { return p.name.find('-') == std::string::npos; }

// How the text of a parameter is put in, so that the expression is right at once: texts and times stand in quotes.
std::string put_in(const parameter& p) {
  const bool quoted = p.value != nullptr && (p.value->type.is_text() || p.value->type.is_time());
  return quoted ? fmt::format("'${{{}}}'", p.name) : fmt::format("${{{}}}", p.name);
}

problem has_minus(const parameter& p) {
  std::string plain = p.name;
  std::replace(plain.begin(), plain.end(), '-', '_');
  problem out;
  out.message = fmt::format("'{}' is no name in expressions", whole(p.name));
  out.hint = fmt::format("'-' is a minus in expressions: write {}, or call the parameter {} and write {}", put_in(p),
                         plain, whole(plain));
  return out;
}

problem no_parameter(const std::vector<parameter>& parameters, const std::string& name) {
  problem out;
  out.message = fmt::format("there is no parameter '{}'", name);
  std::vector<std::string> names;
  for (const parameter& p : parameters) {
    if (p.name.starts_with(name + "-")) {
      out.hint = has_minus(p).hint;
      return out;
    }
    if (can_be_named(p)) names.push_back(whole(p.name));
  }
  constexpr size_t most_listed = 12;
  out.expected = names.empty() ? "a parameter declared in params:" : one_of(names, most_listed);
  out.hint = did_you_mean(whole(name), names);
  return out;
}

}  // namespace

named_parameter find_parameter(const std::vector<parameter>& parameters, const std::string& name,
                               const std::vector<std::string>& known) {
  const auto found =
      std::find_if(parameters.begin(), parameters.end(), [&](const parameter& p) { return p.name == name; });
  if (found == parameters.end()) {
    const bool others =
        std::any_of(known.begin(), known.end(), [](const std::string& other) { return other.starts_with(whole({})); });
    if (others) return {};
    return {nullptr, no_parameter(parameters, name)};
  }
  problem why;
  if (std::find(known.begin(), known.end(), whole(name)) != known.end()) {
    why.message = fmt::format("'{}' is a parameter of the job, and another value here", whole(name));
    why.expected = "another name for one of the two";
  } else if (found->value == nullptr) {
    why.message = fmt::format("the parameter '{}' has no value in this run", name);
    why.expected = "a value";
    why.hint = fmt::format("give it a default:, or a value with -p {}=…", name);
  } else {
    return {found->value, {}};
  }
  return {nullptr, std::move(why)};
}

std::optional<problem> parameter_with_minus(const std::vector<parameter>& parameters, const std::string& name) {
  const auto found =
      std::find_if(parameters.begin(), parameters.end(), [&](const parameter& p) { return p.name == name; });
  if (found == parameters.end() || can_be_named(*found)) return std::nullopt;
  return has_minus(*found);
}

std::string parameter_hint(const std::vector<parameter>* parameters, const std::string& name) {
  if (parameters == nullptr) return {};
  const auto found = std::find_if(parameters->begin(), parameters->end(), [&](const parameter& p) {
    return can_be_named(p) && (p.name == name || name == parameters_name);
  });
  if (found == parameters->end()) return {};
  return found->name == name ? fmt::format("write {} for the job's parameter", whole(name))
                             : fmt::format("{} is a parameter's value", whole(found->name));
}

}  // namespace flowrun::expr
