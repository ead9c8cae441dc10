#include "runner/plugins_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runner/option_values.h"
#include "runner/plugin_templates.h"

namespace flowrun::runner {

namespace {

constexpr const char* hint_for_help = "flowrun plugins --help";

const choices<std::string>& actions() {
  static const choices<std::string> all = plain_choices({"check", "new"});
  return all;
}

choices<std::string> kinds() {
  choices<std::string> out;
  for (const plugin_template& t : plugin_templates()) out.emplace_back(t.kind, t.kind);
  return out;
}

}  // namespace

void plugins_words::declare(declared_command& of) {
  of.argument("ACTION", action, "Nothing; or check PATH [JOB.yaml…]; or new NAME.").one_of(names_of(actions()));
  of.word("--limit", limit, "SECONDS", "Of check: a job that runs for longer hangs; 60.");
  of.word("--kind", kind, "KIND", "Of new: what the plugin has: " + plugin_kinds() + ".").one_of(names_of(kinds()));
}

plugins_arguments values_of(const plugins_words& given) {
  plugins_arguments out;
  const std::vector<std::string>& words = given.action;
  if (!words.empty()) out.action = choice_of("ACTION", words[0], actions());
  const bool is_new = out.action == "new";
  const bool is_check = out.action == "check";
  if (words.size() > 2 && !is_check)
    throw error(error_kind::usage, "unexpected argument '" + words[2] + "'", hint_for_help);
  if (!words.empty() && words.size() < 2)
    throw error(error_kind::usage, fmt::format("plugins {} needs a {}", out.action, is_new ? "NAME" : "PATH"),
                is_new ? "flowrun plugin new geo --kind function" : "flowrun plugins check build/geo.so");
  if (!given.kind.empty() && !is_new) throw error(error_kind::usage, "--kind belongs to plugins new", hint_for_help);
  if (!given.limit.empty() && !is_check)
    throw error(error_kind::usage, "--limit belongs to plugins check", hint_for_help);
  if (!given.limit.empty())
    out.most_seconds = static_cast<unsigned>(std::clamp<uint64_t>(number_of("--limit", given.limit), 1, 86'400));
  if (words.size() >= 2) out.path = words[1];
  if (words.size() > 2) out.jobs.assign(words.begin() + 2, words.end());
  if (is_new) out.kind = choice_of<std::string>("--kind", given.kind.empty() ? "function" : given.kind, kinds());
  return out;
}

}  // namespace flowrun::runner
