#include "specs/grammar.h"

#include <fmt/format.h>

#include <algorithm>

namespace flowrun::specs {

void report_missing_blank(const Position& where, std::string_view word, fault_sink& faults) {
  const size_t behind = word.find(':') + 1;
  faults.add(where, fmt::format("a space is missing after the colon in '{}'", quotable(word)),
             quotable(word.substr(0, behind)) + " " + quotable(word.substr(behind)));
}

void check_keys(const Value& map, std::string_view of, const std::vector<std::string>& known, fault_sink& faults,
                const habits& renamed) {
  for (const Entry& entry : map.map().entries()) {
    const std::string& key = entry.key();
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    std::string message = fmt::format("unknown key '{}' in {}", quotable(key), of);
    const size_t colon = key.find(':');  // {op:sort}
    if (colon != std::string::npos && std::find(known.begin(), known.end(), key.substr(0, colon)) != known.end()) {
      report_missing_blank(entry.key_position(), key, faults);
      continue;
    }
    const auto habit =
        std::find_if(renamed.begin(), renamed.end(), [&](const auto& pair) { return pair.first == key; });
    if (habit != renamed.end())
      faults.add(entry.key_position(), std::move(message), one_of(known),
                 fmt::format("here it is called '{}'", habit->second));
    else
      faults.add_unknown(entry.key_position(), std::move(message), key, known);
  }
}

const std::string* expect_text(const Entry& entry, std::string_view expected, fault_sink& faults) {
  const Value& value = entry.value();
  if (is_unresolved(value)) return nullptr;
  if (is_scalar(value)) return &value.scalar().text();
  if (is_null(value))
    faults.add(entry.key_position(), fmt::format("'{}' has no value", quotable(entry.key())), std::string(expected));
  else
    faults.add(value.position(), fmt::format("'{}' is {}", quotable(entry.key()), kind_name(value)),
               std::string(expected));
  return nullptr;
}

bool expect_map(const Entry& entry, std::string_view expected, fault_sink& faults) {
  const Value& value = entry.value();
  if (is_map(value)) return true;
  if (is_unresolved(value)) return false;
  if (is_null(value))
    faults.add(entry.key_position(), fmt::format("'{}' has no value", quotable(entry.key())), std::string(expected));
  else
    faults.add(value.position(), fmt::format("'{}' is {}", quotable(entry.key()), kind_name(value)),
               std::string(expected));
  return false;
}

bool expect_id(const Entry& entry, std::string_view what, fault_sink& faults) {
  if (is_id(entry.key())) return true;
  faults.add(entry.key_position(), fmt::format("'{}' is no name for {}", quotable(entry.key()), what),
             "a letter or _, then letters, digits, _ and -");
  return false;
}

}  // namespace flowrun::specs
