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
  *choices_ = std::move(choices);
  return *this;
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
      out.arguments.push_back({option->get_name(true), option->get_description(), choices_.at(option)});
      continue;
    }
    described_option o;
    for (const std::string& name : option->get_snames()) o.names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) o.names.push_back("--" + name);
    if (option->get_items_expected_max() > 0) o.value = option->get_type_name();
    o.help = option->get_description();
    o.group = option->get_group();
    const auto choices = choices_.find(option);  // --help is CLI11's own
    if (choices != choices_.end()) o.choices = choices->second;
    out.options.push_back(std::move(o));
  }
  return out;
}

}  // namespace flowrun::runner
