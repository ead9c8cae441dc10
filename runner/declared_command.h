// A command and its options, as they are declared: once each, with the place where what is given goes. What CLI11 makes
// of it stays in the .cc.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runner/described_commands.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace flowrun::runner {

// An option that has just been declared.
class declared_option {
 public:
  struct facts {
    std::vector<std::string> choices;
    bool may_be_empty = false;
  };
  declared_option(CLI::Option& option, facts& of) : option_(&option), facts_(&of) {}

  // --help lists it behind the others.
  declared_option& for_experts();
  // The words that it takes, for completion; what turns it into a value refuses others.
  declared_option& one_of(std::vector<std::string> choices);
  // An empty value says something, too.
  declared_option& may_be_empty();

 private:
  CLI::Option* option_;
  facts* facts_;
};

// What stands behind an option on the command line.
struct option_value {
  std::string name;  // of the option, with its dashes
  std::string form;  // as --help calls the value: FILE; [ADDRESS] may be left out
  bool may_be_empty = false;

  bool may_be_left_out() const { return form.starts_with('['); }
  bool is_path() const;
};

// What `to` refers to must live for as long as the command, at the same place.
class declared_command {
 public:
  explicit declared_command(CLI::App& app) : app_(&app) {}
  declared_command(const declared_command&) = delete;
  declared_command& operator=(const declared_command&) = delete;

  declared_option flag(const std::string& names, bool& to, const std::string& help);
  declared_option flag(const std::string& names, std::function<void()> then, const std::string& help);
  // `value` is how --help calls what stands behind the option. Where it is given twice, the last one counts.
  declared_option word(const std::string& names, std::string& to, const std::string& value, const std::string& help);
  // May be repeated.
  declared_option words(const std::string& names, std::vector<std::string>& to, const std::string& value,
                        const std::string& help);
  // What stands where no option does: one, or all of them.
  declared_option argument(const std::string& name, std::string& to, const std::string& help);
  declared_option argument(const std::string& name, std::vector<std::string>& to, const std::string& help);

  CLI::App& app() const { return *app_; }
  // Whether an option has that name, -o or --output.
  bool has(const std::string& name) const;
  // The value that the option of that name takes; null: it takes none, or isn't there.
  std::optional<option_value> value_of(const std::string& name) const;
  described_command described() const;

 private:
  declared_option added(CLI::Option& option) { return {option, facts_[&option]}; }

  CLI::App* app_;
  std::map<const CLI::Option*, declared_option::facts> facts_;
};

}  // namespace flowrun::runner
