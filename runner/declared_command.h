// A command and its options, as they are declared: once each, with the place where what is given goes. What CLI11 makes
// of it stays in the .cc.
#pragma once

#include <functional>
#include <map>
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
  declared_option(CLI::Option& option, std::vector<std::string>& choices) : option_(&option), choices_(&choices) {}

  // --help lists it behind the others.
  declared_option& for_experts();
  // The words that it takes, for completion; what turns it into a value refuses others.
  declared_option& one_of(std::vector<std::string> choices);

 private:
  CLI::Option* option_;
  std::vector<std::string>* choices_;
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
  described_command described() const;

 private:
  declared_option added(CLI::Option& option) { return {option, choices_[&option]}; }

  CLI::App* app_;
  std::map<const CLI::Option*, std::vector<std::string>> choices_;
};

}  // namespace flowrun::runner
