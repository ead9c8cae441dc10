#include "specs/expand.h"

namespace flowrun::specs {

namespace {

size_t count_openings(std::string_view text) {
  size_t count = 0;
  for (size_t at = text.find("${"); at != std::string_view::npos; at = text.find("${", at + 1)) ++count;
  return count;
}

}  // namespace

void expander::expand(Value& v) {
  if (is_list(v)) {
    for (Value& item : *v.mutable_list()->mutable_items()) expand(item);
  } else if (is_map(v)) {
    for (Entry& entry : *v.mutable_map()->mutable_entries()) expand(*entry.mutable_value());
  } else if (is_scalar(v) && text(v).find('$') != std::string::npos) {
    Scalar& scalar = *v.mutable_scalar();
    if (std::optional<std::string> expanded = expand_text(text(v), v.position(), *scalar.mutable_inserted()))
      scalar.set_text(std::move(*expanded));
    else
      scalar.set_unresolved(true);
  }
}

std::optional<std::string> expander::expand_text(const std::string& text, const Position& start, spans& inserted) {
  std::string out;
  bool good = true;
  size_t num_openings = 0;  // before i, also those of "$${"
  for (size_t i = 0; i < text.size();) {
    const char next = i + 1 < text.size() ? text[i + 1] : '\0';
    if (text[i] != '$' || (next != '$' && next != '{')) {
      out += text[i++];
    } else if (next == '$') {
      out += '$';
      i += 2;
      if (i < text.size() && text[i] == '{') ++num_openings;
    } else {
      const place at = [&, n = num_openings++] { return source_.nth_variable(start, n); };
      const size_t close = text.find('}', i);
      if (close == std::string::npos) {
        faults_.add(at(), "'${' without '}'", "${name}", "write $${ for a '${' that is not a parameter");
        return std::nullopt;
      }
      const std::string name = text.substr(i + 2, close - i - 2);
      num_openings += count_openings(name);
      if (count_openings(name) > 0) {
        faults_.add(at(), "a '${' inside of another",
                    "${name}, ${env:NAME}, or ${env:NAME:-default} with a plain default",
                    "declare a parameter with one of them as its default:, and use that here");
        if (faults_.full()) return std::nullopt;
        good = false;
        i = close + 1;
        continue;
      }
      const size_t begin = out.size();
      if (!(name.starts_with("env:") ? append_environment(name.substr(4), at, out) : append_variable(name, at, out)))
        good = false;
      if (out.size() > begin) {
        Span& span = *inserted.Add();
        span.set_begin(begin);
        span.set_end(out.size());
      }
      i = close + 1;
    }
    if (faults_.full()) return std::nullopt;
  }
  if (!good) return std::nullopt;
  return out;
}

bool expander::append_variable(const std::string& name, const place& at, std::string& out) {
  if (const auto found = values_.find(name); found != values_.end()) return append(found->second, at, out);
  if (const auto found = broken_.find(name); found != broken_.end()) {
    if (!found->second.empty())
      faults_.add(at(), found->second, "a value", "give it a default:, or a value with -p " + name + "=…");
    return false;
  }
  if (const size_t dash = name.find(":-"); dash != std::string::npos) {
    faults_.add(at(), "a default for a parameter stands in its declaration",
                "${" + quotable(name.substr(0, dash)) + "}",
                "only environment variables have one here: ${env:VAR:-default}");
    return false;
  }
  if (announced_.contains(name)) {
    faults_.add(at(), "the parameter '" + quotable(name) + "' has no value yet: it is declared here or further down",
                "a parameter that is declared further up", "move its declaration up");
    return false;
  }
  std::vector<std::string> names;
  for (const auto& known : values_) names.push_back(known.first);
  for (const auto& known : broken_) names.push_back(known.first);
  if (names.empty()) {
    faults_.add(at(), "there is no parameter '" + quotable(name) + "'", "a parameter declared in params:",
                "declare it in params:, or write $${ for a '${' that is not a parameter");
  } else {
    faults_.add_unknown(at(), "there is no parameter '" + quotable(name) + "'", name, names);
  }
  return false;
}

bool expander::append_environment(const std::string& name, const place& at, std::string& out) {
  const size_t dash = name.find(":-");
  const std::string variable = name.substr(0, dash);
  if (!is_column_name(variable)) {
    faults_.add(at(), "'" + quotable(variable) + "' is no name of an environment variable",
                "${env:NAME} or ${env:NAME:-default}");
    return false;
  }
  const std::optional<std::string> value = env_(variable);
  if (dash != std::string::npos && (!value || value->empty())) return append(name.substr(dash + 2), at, out);
  if (!value) {
    faults_.add(at(), "the environment variable " + variable + " is not set", "",
                "set it, or write ${env:" + variable + ":-default}");
    return false;
  }
  if (!is_utf8(*value)) {
    faults_.add(at(), "the environment variable " + variable + " is not UTF-8", "text in UTF-8");
    return false;
  }
  return append(*value, at, out);
}

bool expander::append(const std::string& value, const place& at, std::string& out) {
  inserted_bytes_ += value.size();
  if (inserted_bytes_ > max_inserted_bytes) {
    faults_.add(at(), "the parameters bring in more than 16 MiB of text", "shorter values");
    return false;
  }
  out += value;
  return true;
}

}  // namespace flowrun::specs
