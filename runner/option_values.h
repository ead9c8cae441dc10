// The words behind options as values. Each throws error(usage) that says what would be right.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/fault.h"

namespace flowrun::runner {

// 64MiB; not 0.
uint64_t bytes_of(const std::string& option, const std::string& text);
// As bytes_of(), of blocks of scratch.
uint64_t block_size_of(const std::string& option, const std::string& text);
// A whole number from `least` to `most`.
uint64_t number_of(const std::string& option, const std::string& text, uint64_t least = 0,
                   uint64_t most = std::numeric_limits<uint64_t>::max());
// Transfers in flight per disk: 1 to 1024.
unsigned depth_of(const std::string& option, const std::string& text);
// One byte, or \\t: what can stand between two fields.
char delimiter_of(const std::string& option, const std::string& text);
// Seconds above 0, at most an hour: 3, 0.5.
double seconds_of(const std::string& option, const std::string& text);
// The parts between commas; an empty one is an error.
std::vector<std::string> list_of(const std::string& option, const std::string& text);
// NAME=VALUE.
std::pair<std::string, std::string> key_and_value(const std::string& option, const std::string& text,
                                                  const std::string& example);

// A few words, and what they mean.
template <class Choice>
using choices = std::vector<std::pair<std::string, Choice>>;

template <class Choice>
std::vector<std::string> names_of(const choices<Choice>& among) {
  std::vector<std::string> out;
  for (const auto& [name, value] : among) out.push_back(name);
  return out;
}

// Words that mean themselves.
choices<std::string> plain_choices(const std::vector<std::string>& names);

// One of a few words.
template <class Choice>
Choice choice_of(const std::string& option, const std::string& text, const choices<Choice>& among) {
  for (const auto& [name, value] : among)
    if (name == text) return value;
  const std::vector<std::string> names = names_of(among);
  const std::string meant = did_you_mean(text, names);
  throw error(error_kind::usage, option + " can't be '" + text + "'", meant.empty() ? one_of(names) : meant);
}

}  // namespace flowrun::runner
