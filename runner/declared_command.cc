#include "runner/declared_command.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <utility>

namespace flowrun::runner {

declared_option& declared_option::for_experts() {
  option_->group("For experts");
  return *this;
}

declared_option& declared_option::one_of(std::vector<std::string> choices) {
  facts_->choices = std::move(choices);
  return *this;
}

declared_option& declared_option::may_be_empty() {
  facts_->may_be_empty = true;
  return *this;
}

bool option_value::is_path() const {
  return form == "PATH" || form.starts_with("FILE") || form.starts_with("DIR") || form.starts_with("JOB");
}

bool declared_command::has(const std::string& name) const { return app_->get_option_no_throw(name) != nullptr; }

std::optional<option_value> declared_command::value_of(const std::string& name) const {
  const CLI::Option* const option = std::as_const(*app_).get_option_no_throw(name);
  if (option == nullptr || option->get_items_expected_max() == 0) return std::nullopt;
  const auto facts = facts_.find(option);  // --help is CLI11's own
  return option_value{name, option->get_type_name(), facts != facts_.end() && facts->second.may_be_empty};
}

declared_option declared_command::flag(const std::string& names, bool& to, const std::string& help) {
  return added(*app_->add_flag(names, to, help));
}

declared_option declared_command::flag(const std::string& names, std::function<void()> then, const std::string& help) {
  return added(*app_->add_flag_callback(names, std::move(then), help));
}

declared_option declared_command::word(const std::string& names, std::string& to, const std::string& value,
                                       const std::string& help) {
  return added(*app_->add_option(names, to, help)
                    ->type_name(value)
                    ->allow_extra_args(false)
                    ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast));
}

declared_option declared_command::words(const std::string& names, std::vector<std::string>& to,
                                        const std::string& value, const std::string& help) {
  return added(*app_->add_option(names, to, help)->type_name(value)->allow_extra_args(false));
}

declared_option declared_command::argument(const std::string& name, std::string& to, const std::string& help) {
  return added(*app_->add_option(name, to, help)->type_name(" "));
}

declared_option declared_command::argument(const std::string& name, std::vector<std::string>& to,
                                           const std::string& help) {
  return added(*app_->add_option(name, to, help)->type_name(" "));
}

described_command declared_command::described() const {
  described_command out;
  out.name = app_->get_name();
  out.aliases = app_->get_aliases();
  out.help = app_->get_description();
  out.notes = app_->get_footer();
  for (const CLI::Option* option : std::as_const(*app_).get_options()) {
    if (option->get_positional()) {
      out.arguments.push_back({option->get_name(true), option->get_description(), facts_.at(option).choices});
      continue;
    }
    described_option o;
    for (const std::string& name : option->get_snames()) o.names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) o.names.push_back("--" + name);
    if (option->get_items_expected_max() > 0) o.value = option->get_type_name();
    o.help = option->get_description();
    o.group = option->get_group();
    const auto facts = facts_.find(option);  // --help is CLI11's own
    if (facts != facts_.end()) o.choices = facts->second.choices;
    out.options.push_back(std::move(o));
  }
  return out;
}

}  // namespace flowrun::runner
