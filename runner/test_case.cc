#include "runner/test_case.h"

#include <fmt/format.h>

#include "specs/grammar.h"
#include "specs/value.h"

namespace flowrun::runner {

namespace {

using specs::Entry;
using specs::Value;

constexpr std::string_view rows_form = "a list of rows, or text: all that the file holds";

void read_parameters(const Entry& entry, test_case& test, specs::fault_sink& faults) {
  if (!specs::expect_map(entry, "{parameter: value}", faults)) return;
  for (const Entry& given : entry.value().map().entries())
    if (const std::string* text = specs::expect_text(given, "a value, as -p takes it", faults)) {
      test.parameters[given.key()] = *text;
      test.parameter_positions[given.key()] = given.value().position();
    }
}

// Rows are a list or text. `in_files`: a map of them will do.
bool holds_rows(const Entry& entry, bool in_files, specs::fault_sink& faults) {
  const Value& value = entry.value();
  if (specs::is_list(value)) return true;
  if (specs::is_map(value) && in_files) {
    for (const Entry& file : value.map().entries())
      if (!holds_rows(file, false, faults)) return false;
    return true;
  }
  if (specs::is_scalar(value)) return !specs::is_unresolved(value);
  faults.add(specs::is_null(value) ? entry.key_position() : value.position(),
             fmt::format("the rows of '{}' are {}", specs::quotable(entry.key()), specs::kind_name(value)),
             std::string(rows_form));
  return false;
}

void read_given(const Entry& entry, test_case& test, specs::fault_sink& faults) {
  if (!specs::expect_map(entry, "{source: [row, …]}", faults)) return;
  for (const Entry& rows : entry.value().map().entries())
    if (holds_rows(rows, false, faults)) test.given.push_back({rows.key(), "", rows.key_position(), rows.value()});
}

void read_expected(const Entry& entry, test_case& test, specs::fault_sink& faults) {
  if (!specs::expect_map(entry, "{output: [row, …]} or {node.name: value}", faults)) return;
  for (const Entry& part : entry.value().map().entries()) {
    const size_t dot = part.key().rfind('.');
    if (dot == std::string::npos) {
      if (holds_rows(part, true, faults)) test.expected.push_back({part.key(), "", part.key_position(), part.value()});
    } else if (specs::expect_text(part, "the value that the node reports", faults) != nullptr) {
      test.expected.push_back(
          {part.key().substr(0, dot), part.key().substr(dot + 1), part.key_position(), part.value()});
    }
  }
}

}  // namespace

test_case read_test_case(const specs::TestCase& from, size_t number, specs::fault_sink& faults) {
  test_case test;
  test.name = fmt::format("test {}", number);
  test.position = from.position();
  const Value& value = from.value();
  if (!specs::is_map(value)) return test;  // which the reader has reported
  specs::check_keys(value, "a test", {"name", "params", "given", "expect", "fails", "once"}, faults,
                    {{"parameters", "params"},
                     {"with", "params"},
                     {"input", "given"},
                     {"inputs", "given"},
                     {"in", "given"},
                     {"expected", "expect"},
                     {"output", "expect"},
                     {"out", "expect"},
                     {"error", "fails"},
                     {"doc", "name"},
                     {"description", "name"}});
  if (const Entry* name = specs::find_entry(value, "name"))
    if (const std::string* text = specs::expect_text(*name, "text", faults); text && !text->empty()) test.name = *text;
  if (const Entry* parameters = specs::find_entry(value, "params")) read_parameters(*parameters, test, faults);
  if (const Entry* given = specs::find_entry(value, "given")) read_given(*given, test, faults);
  const Entry* expected = specs::find_entry(value, "expect");
  if (expected) read_expected(*expected, test, faults);
  if (const Entry* fails = specs::find_entry(value, "fails")) {
    if (const std::string* text = specs::expect_text(*fails, "part of the message", faults)) {
      test.fails = *text;
      if (text->empty())
        faults.add(fails->value().position(), "'fails' is empty", "part of the message that the job fails with");
    }
    if (expected) faults.add(fails->key_position(), "a test that fails has no outputs to look at", "expect: or fails:");
  }
  if (const Entry* once = specs::find_entry(value, "once"))
    test.once = specs::expect_number<bool>(*once, specs::to_bool, "true or false", faults).value_or(false);
  return test;
}

}  // namespace flowrun::runner
