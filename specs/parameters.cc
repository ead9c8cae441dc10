#include "specs/parameters.h"

#include <algorithm>
#include <array>

#include "engine/base/calendar.h"
#include "engine/base/units.h"
#include "specs/grammar.h"
#include "specs/value.h"

namespace flowrun::specs {

namespace {

constexpr std::array<param_type_help, 9> types = {{{"string", "any text"},
                                                   {"int", "a whole number of 64 bits, with or without sign"},
                                                   {"float", "a decimal number"},
                                                   {"bool", "true or false"},
                                                   {"bytes", "a number of bytes: 512, 64MiB, 1.5GiB"},
                                                   {"path", "a path that is not empty"},
                                                   {"enum", "one of `values`"},
                                                   {"date", "a date such as 2026-11-23"},
                                                   {"timestamp", "a time such as 2026-11-23T22:15:03Z"}}};

std::vector<std::string> type_names() {
  std::vector<std::string> out;
  for (const param_type_help& type : types) out.emplace_back(type.name);
  return out;
}

const habits type_habits = {{"str", "string"},     {"text", "string"},  {"integer", "int"},  {"u64", "int"},
                            {"i64", "int"},        {"number", "float"}, {"double", "float"}, {"f64", "float"},
                            {"boolean", "bool"},   {"file", "path"},    {"size", "bytes"},   {"datetime", "timestamp"},
                            {"time", "timestamp"}, {"day", "date"}};

bool read_type(const Entry& entry, Param& param, fault_sink& faults) {
  const std::vector<std::string> names = type_names();
  const std::string* word = expect_text(entry, one_of(names), faults);
  if (!word) return false;
  const auto found = std::find(names.begin(), names.end(), *word);
  if (found != names.end()) {
    param.set_type(static_cast<ParamType>(found - names.begin()));
    return true;
  }
  const std::string message = "unknown type of parameter '" + quotable(*word) + "'";
  const auto habit =
      std::find_if(type_habits.begin(), type_habits.end(), [&](const auto& pair) { return pair.first == *word; });
  if (habit == type_habits.end())
    faults.add_unknown(entry.value().position(), message, *word, names);
  else
    faults.add(entry.value().position(), message, one_of(names),
               "here it is called '" + std::string(habit->second) + "'");
  return false;
}

bool read_values(const Entry* entry, const Entry& declaration, Param& param, fault_sink& faults) {
  if (param.type() != PARAM_ENUM) {
    if (entry) faults.add(entry->key_position(), "only an enum has values", "type: enum");
    return true;
  }
  if (!entry || !is_list(entry->value()) || entry->value().list().items().empty()) {
    faults.add(entry ? entry->key_position() : declaration.key_position(),
               "the enum '" + quotable(param.name()) + "' has no values", "values: [a, b, …]");
    return false;
  }
  for (const Value& item : entry->value().list().items()) {
    if (is_scalar(item) && !is_unresolved(item)) {
      param.add_values(text(item));
    } else {
      faults.add(item.position(), "a value of an enum is " + std::string(kind_name(item)), "text");
      return false;
    }
  }
  return true;
}

// Everything of a declaration but its value. False when it is too broken to have one.
bool read_declaration(const Entry& declaration, Param& param, value_range& range, fault_sink& faults) {
  param.set_name(declaration.key());
  *param.mutable_position() = declaration.key_position();
  bool good = expect_id(declaration, "a parameter", faults);
  if (!expect_map(declaration, "{type: …, default: …}", faults)) return false;
  const Value& value = declaration.value();
  check_keys(value, "a parameter", {"type", "default", "required", "help", "values", "min", "max"}, faults,
             {{"doc", "help"},
              {"description", "help"},
              {"choices", "values"},
              {"enum", "values"},
              {"value", "default"},
              {"minimum", "min"},
              {"least", "min"},
              {"maximum", "max"},
              {"most", "max"}});
  if (const Entry* type = find_entry(value, "type")) {
    good = read_type(*type, param, faults) && good;
  } else {
    faults.add(declaration.key_position(), "the parameter '" + quotable(param.name()) + "' has no type",
               "type: " + one_of(type_names()));
    good = false;
  }
  if (good) good = read_values(find_entry(value, "values"), declaration, param, faults);
  if (good) good = read_range(value, param, range, faults);
  if (const Entry* help = find_entry(value, "help"))
    if (const std::string* words = expect_text(*help, "text", faults)) param.set_help(*words);
  const Entry* fallback = find_entry(value, "default");
  param.set_required(fallback == nullptr);
  if (const Entry* required = find_entry(value, "required")) {
    const std::optional<bool> flag = expect_number<bool>(*required, to_bool, "true or false", faults);
    if (flag && *flag && fallback)
      faults.add(required->value().position(), "a required parameter with a default", "one of the two",
                 "remove required:, or the default");
    else if (flag)
      param.set_required(*flag && !fallback);
  }
  if (fallback && expect_text(*fallback, "text or a number", faults))
    *param.mutable_default_value() = fallback->value();
  else if (fallback)
    good = false;
  return good;
}

std::string option(const std::string& name, const std::string& value) {
  return "-p " + quotable(name) + "=" + quotable(value);
}

// The value for this run, from -p or the default. False when there is none; then a fault says so, here or where it is
// used.
bool read_value(const std::string* given, const value_range& range, Param& param, expander& variables,
                fault_sink& faults) {
  if (given) {
    if (!is_utf8(*given)) {
      faults.add(source_position{"-p " + param.name(), 0, 0}, "the value is not UTF-8", "text in UTF-8");
      return false;
    }
    const std::string expected = misfit(param, *given, range);
    if (!expected.empty()) {
      faults.add(
          source_position{option(param.name(), *given), 0, 0}, misfit_message(param, *given), expected,
          param.type() == PARAM_ENUM ? did_you_mean(*given, {param.values().begin(), param.values().end()}) : "");
      return false;
    }
    param.set_value(*given);
    return true;
  }
  if (param.has_default_value()) {
    const Value& fallback = param.default_value();
    if (is_unresolved(fallback)) return false;
    const std::string expected = misfit(param, text(fallback), range);
    if (!expected.empty()) {
      faults.add(fallback.position(), "the default " + misfit_message(param, text(fallback)), expected);
      return false;
    }
    param.set_value(text(fallback));
    return true;
  }
  if (param.required()) {
    std::string kind(param_type_name(param.type()));
    std::transform(kind.begin(), kind.end(), kind.begin(), [](char c) { return static_cast<char>(c - 'a' + 'A'); });
    faults.add(param.position(), "the parameter '" + param.name() + "' is required and has no value", "",
               "give it with -p " + param.name() + "=" + kind);
    return false;
  }
  variables.define_broken(param.name(), "the parameter '" + param.name() + "' has no value in this run");
  return false;
}

}  // namespace

std::string_view param_type_name(ParamType type) {
  const auto index = static_cast<size_t>(type);
  return index < types.size() ? types[index].name : "string";
}

std::span<const param_type_help> param_types() { return types; }

namespace {

// A text that doesn't look like a time is answered by an example, others by what is wrong with them.
std::string time_help(ParamType type, const std::string& why) {
  const std::string help(types[static_cast<size_t>(type)].values);
  return why.starts_with("a date ") || why.starts_with("a timestamp ") ? help : help + "; " + why;
}

std::string type_misfit(const Param& param, const std::string& text) {
  int64_t time = 0;
  switch (param.type()) {
    case PARAM_INT: {
      if (to_int(text) || to_uint(text)) return "";
      if (looks_octal(text)) return "a number without leading zeros";
      const std::string_view digits = std::string_view(text).substr(text.starts_with('-') ? 1 : 0);
      const bool is_whole = !digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos;
      return is_whole ? "a whole number from -9223372036854775808 to 18446744073709551615" : "a whole number";
    }
    case PARAM_FLOAT: return to_double(text) ? "" : "a number";
    case PARAM_BOOL: return to_bool(text) ? "" : "true or false";
    case PARAM_BYTES: return parse_bytes(text) ? "" : "a number of bytes: 512, 64MiB, 1.5GiB";
    case PARAM_DATE:
      return calendar::parse_date(text, time) ? "" : time_help(param.type(), calendar::why_no_date(text));
    case PARAM_TIMESTAMP:
      return calendar::parse_timestamp(text, time) ? "" : time_help(param.type(), calendar::why_no_timestamp(text));
    case PARAM_PATH: return !text.empty() && text.find('\0') == std::string::npos ? "" : "a path that is not empty";
    case PARAM_ENUM:
      return std::find(param.values().begin(), param.values().end(), text) != param.values().end()
                 ? ""
                 : one_of({param.values().begin(), param.values().end()});
    default: return "";
  }
}

}  // namespace

std::string misfit(const Param& param, const std::string& text, const value_range& range) {
  const std::string expected = type_misfit(param, text);
  return expected.empty() && !in_range(param.type(), text, range) ? range_text(range) : expected;
}

std::string misfit_message(const Param& param, const std::string& text) {
  return "'" + quotable(text) + "' is " +
         (type_misfit(param, text).empty() ? "out of range" : "no " + std::string(param_type_name(param.type()))) +
         " for the parameter '" + quotable(param.name()) + "'";
}

void read_parameters(const Entry* section, const std::map<std::string, std::string>& given, JobSpec& job,
                     expander& variables, value_ranges& ranges, fault_sink& faults) {
  std::vector<std::string> names;
  const bool readable = !section || is_null(section->value()) ||
                        expect_map(*section, "NAME: {type: …, default: …} for each parameter", faults);
  if (readable && section) {
    for (const Entry& entry : section->value().map().entries()) variables.announce(entry.key());
    for (const Entry& entry : section->value().map().entries()) {
      Entry declaration = entry;
      variables.expand(*declaration.mutable_value());
      Param& param = *job.add_params();
      names.push_back(entry.key());
      const auto option_given = given.find(entry.key());
      // Broken until it has a value, so that its uses are not reported as unknown on top.
      value_range& range = ranges[entry.key()];
      const bool good = read_declaration(declaration, param, range, faults);
      const std::string* const value = option_given == given.end() ? nullptr : &option_given->second;
      if (good && read_value(value, range, param, variables, faults))
        variables.define(param.name(), param.value());
      else if (!good || param.required() || param.has_default_value() || option_given != given.end())
        variables.define_broken(param.name());
    }
  }
  if (!readable) return;
  for (const auto& [name, value] : given) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    faults.add_unknown(source_position{option(name, value), 0, 0}, "the job has no parameter '" + quotable(name) + "'",
                       name, names);
  }
}

}  // namespace flowrun::specs
