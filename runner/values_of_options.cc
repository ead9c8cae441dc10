#include "runner/values_of_options.h"

#include <fmt/format.h>

#include <optional>

#include "engine/base/error.h"
#include "runner/page_address.h"

namespace flowrun::runner {

namespace {

// An option in a word, and what of its value the word has: --report=x, -ox.
struct found_option {
  option_value value;
  std::optional<std::string> attached;
};

class option_finder {
 public:
  option_finder(const declared_command& program, const declared_command& chosen) : program_(program), chosen_(chosen) {}

  bool is_option(const std::string& word) const {
    const std::string name = word.substr(0, word.find('='));
    return name.starts_with("--") && (chosen_.has(name) || program_.has(name));
  }

  // Nothing: the word is no option, or one without a value.
  std::optional<found_option> find(const std::string& word) const {
    if (word.starts_with("--")) return long_option(word);
    if (word.size() < 2 || word[0] != '-') return std::nullopt;
    // Several letters in one word, of which the last may have a value: -qo FILE, -qoFILE.
    for (size_t i = 1; i < word.size(); ++i) {
      const std::string name = {'-', word[i]};
      if (const std::optional<option_value> value = value_of(name))
        return found_option{*value, i + 1 < word.size() ? std::optional(word.substr(i + 1)) : std::nullopt};
      if (!chosen_.has(name) && !program_.has(name)) break;
    }
    return std::nullopt;
  }

 private:
  std::optional<found_option> long_option(const std::string& word) const {
    const size_t equals = word.find('=');
    const std::optional<option_value> value = value_of(word.substr(0, equals));
    if (!value) return std::nullopt;
    return found_option{*value, equals == std::string::npos ? std::nullopt : std::optional(word.substr(equals + 1))};
  }
  std::optional<option_value> value_of(const std::string& name) const {
    const std::optional<option_value> value = chosen_.value_of(name);
    return value ? value : program_.value_of(name);
  }

  const declared_command& program_;
  const declared_command& chosen_;
};

void refuse_empty(const option_value& option) {
  if (option.may_be_empty) return;
  throw error(error_kind::usage, fmt::format("{} needs a value ({}), and it is empty", option.name, option.form),
              fmt::format("give one, or leave out {}; a shell's variable that isn't set is empty", option.name));
}

void refuse_option(const option_value& option, const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  if (option.is_path())
    throw error(
        error_kind::usage,
        fmt::format("{} needs a {}; '{}' is an option", option.name,
                    option.form.starts_with("DIR") ? "directory" : "file", name),
        fmt::format("write ./{} for a {} of that name", word, option.form.starts_with("DIR") ? "directory" : "file"));
  throw error(error_kind::usage,
              fmt::format("{} needs a value ({}); '{}' is an option", option.name, option.form, name),
              option.name.starts_with("--") ? fmt::format("write {}={} if that is the value", option.name, word)
                                            : fmt::format("give {} its {}", option.name, option.form));
}

}  // namespace

looked_at_words look_at_values(std::vector<std::string> given, size_t command_at, const declared_command& program,
                               const declared_command& chosen) {
  const option_finder options(program, chosen);
  looked_at_words out;
  for (size_t i = 0; i < given.size(); ++i) {
    out.words.push_back(given[i]);
    if (i == command_at) continue;
    if (given[i] == "--") {
      out.words.insert(out.words.end(), given.begin() + static_cast<std::ptrdiff_t>(i) + 1, given.end());
      break;
    }
    const std::optional<found_option> option = options.find(given[i]);
    if (!option) continue;
    if (option->attached) {
      if (option->attached->empty()) refuse_empty(option->value);
      continue;
    }
    const bool is_last = i + 1 == given.size();
    if (option->value.may_be_left_out()) {
      const bool has_address = !is_last && looks_like_page_address(given[i + 1]);
      out.words.back() += std::string("=") + (has_address ? given[i + 1] : default_page_address);
      if (has_address)
        ++i;
      else if (!is_last && !given[i + 1].starts_with('-'))
        out.behind_ui = given[i + 1];
      continue;
    }
    if (is_last) continue;  // the parser tells
    const std::string& value = given[++i];
    if (value.empty()) refuse_empty(option->value);
    if (options.is_option(value)) refuse_option(option->value, value);
    out.words.push_back(value);
  }
  return out;
}

}  // namespace flowrun::runner
