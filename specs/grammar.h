// The checks that every section of a job shares: known keys, and values of the right kind.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "specs/fault_sink.h"
#include "specs/value.h"

namespace flowrun::specs {

// What people write for a key, by habit from other tools, and what it is called here.
using habits = std::vector<std::pair<std::string_view, std::string_view>>;

// Reports every key of a map that is not in `known`. `of` names the map in the message: "a node".
void check_keys(const Value& map, std::string_view of, const std::vector<std::string>& known, fault_sink& faults,
                const habits& renamed = {});

// Reports "op:sort", which YAML takes for text: no key ends without a blank behind its colon.
void report_missing_blank(const Position& where, std::string_view word, fault_sink& faults);

// The text of an entry's value. Null when it has none: reported, unless it is unresolved.
const std::string* expect_text(const Entry& entry, std::string_view expected, fault_sink& faults);

// True when the value is a map. Reports anything else, at the key if the value is empty.
bool expect_map(const Entry& entry, std::string_view expected, fault_sink& faults);

// Reports, as `what`, a name that is not an id. True when it is one.
bool expect_id(const Entry& entry, std::string_view what, fault_sink& faults);

// Parses text with one of the to_… functions and reports what doesn't parse.
template <typename Number>
std::optional<Number> expect_number(const Entry& entry, std::optional<Number> (*parse)(const Value&),
                                    std::string_view expected, fault_sink& faults) {
  const std::string* word = expect_text(entry, expected, faults);
  if (!word) return std::nullopt;
  std::optional<Number> number = parse(entry.value());
  if (!number)
    faults.add(entry.value().position(), "'" + quotable(*word) + "' is no value for " + quotable(entry.key()),
               std::string(expected));
  return number;
}

}  // namespace flowrun::specs
