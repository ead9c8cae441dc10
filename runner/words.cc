#include "runner/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "cluster/exchange_words.h"
#include "engine/base/error.h"
#include "operators/registry.h"
#include "runner/machine_configuration.h"
#include "runner/version.h"
#include "specs/value.h"

namespace flowrun::runner {

namespace {

struct all_words {
  plugins::plugin_set plugins{std::string(version),
                              [](const std::string& name) { return operators::find_operator(name) != nullptr; }};
  std::vector<std::string> directories;
  bool exchanges = false;
  bool asked_machine = false;  // its configuration is read when plugins are searched, and not before
};

all_words& known() {
  // Never destroyed: a plugin may end the process while its functions are in use.
  static all_words& words = *new all_words;
  return words;
}

std::vector<std::string> directories_of_environment() {
  std::vector<std::string> out;
  const char* const path = std::getenv("FLOWRUN_PLUGIN_PATH");
  std::string rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(':'), rest.size());
    // An empty part would be the working directory, which nobody named.
    if (end > 0) out.push_back(rest.substr(0, end));
    rest.erase(0, end + 1);
  }
  return out;
}

const std::vector<std::string>& directories() {
  all_words& words = known();
  if (!words.asked_machine)
    for (std::string& directory : read_machine_configuration().plugin_directories)
      words.directories.push_back(std::move(directory));
  words.asked_machine = true;
  return words.directories;
}

// A directory that isn't there has none: what names it, the environment or a configuration, serves several machines.
std::vector<plugins::candidate> found_in(const std::string& directory) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(directory, ignored)) return {};
  try {
    return plugins::look_into(directory);
  } catch (const error&) {
    return {};  // as one that isn't there
  }
}

// The first that has the name. One that can't be loaded is better than none: it says why.
const plugins::candidate* named(const std::vector<plugins::candidate>& found, const std::string& name) {
  const plugins::candidate* refused = nullptr;
  for (const plugins::candidate& c : found) {
    // What is not to be trusted is not read: its file's name is all that is known.
    const std::string known = c.name.empty() ? std::filesystem::path(c.path).stem().string() : c.name;
    if (known != name) continue;
    if (c.refusal.empty()) return &c;
    if (refused == nullptr) refused = &c;
  }
  return refused;
}

// Plugins that come with the sources and are built by whoever wants them, for where none of that name was found.
std::string way_to_build(const std::string& name) {
  if (name != "arrow") return {};
  return "; the one for Parquet and Arrow is built from plugin/examples/arrow, whose README.md says how, and found "
         "with --plugin and the directory where it was built";
}

std::vector<const exec::operator_definition*> exchange_words() {
  if (!known().exchanges) return {};
  return cluster::exchange_words();
}

std::string searched() {
  if (directories().empty()) return "no directory of plugins is known: give --plugin PATH, or set FLOWRUN_PLUGIN_PATH";
  return fmt::format("searched: {}; --plugin PATH gives another file or directory", fmt::join(directories(), ", "));
}

}  // namespace

void set_plugins(const std::vector<std::string>& given) {
  all_words& words = known();
  for (const std::string& path : given) {
    std::error_code problem;
    const std::filesystem::file_status status = std::filesystem::status(path, problem);
    if (std::filesystem::is_directory(status)) {
      plugins::look_into(path);
      words.directories.push_back(path);
    } else if (std::filesystem::exists(status)) {
      words.plugins.load(plugins::look_at(path));
    } else {
      throw error(error_kind::missing_input, "there is no plugin " + path,
                  "--plugin takes the file of a plugin (.so), or a directory of such files");
    }
  }
  for (std::string& directory : directories_of_environment()) words.directories.push_back(std::move(directory));
}

std::vector<plugins::candidate> found_plugins() {
  std::vector<plugins::candidate> out;
  for (const auto& plugin : known().plugins.all()) out.push_back(plugin->file);
  for (const std::string& directory : directories())
    for (plugins::candidate& c : found_in(directory))
      if (std::none_of(out.begin(), out.end(), [&](const auto& other) { return other.path == c.path; }))
        out.push_back(std::move(c));
  return out;
}

std::vector<fault> load_plugins_of(const specs::JobSpec& job) {
  std::vector<fault> out;
  if (job.plugins().empty()) return out;
  const std::vector<plugins::candidate> found = found_plugins();
  for (const specs::PluginName& wanted : job.plugins()) {
    const auto fail = [&](std::string message, std::string expected, std::string hint) {
      out.push_back(
          {specs::where(job.file(), wanted.position()), std::move(message), std::move(expected), std::move(hint)});
    };
    const plugins::candidate* const file = named(found, wanted.name());
    if (file == nullptr) {
      std::vector<std::string> names;
      for (const plugins::candidate& c : found)
        if (!c.name.empty()) names.push_back(c.name);
      const std::string meant = did_you_mean(wanted.name(), names);
      fail(fmt::format("there is no plugin '{}'", wanted.name()), names.empty() ? "" : one_of(names),
           (meant.empty() ? searched() : meant + "; " + searched()) + way_to_build(wanted.name()));
      continue;
    }
    try {
      known().plugins.load(*file);
    } catch (const error& problem) {
      fail(problem.what(), "", problem.hint());
    }
  }
  return out;
}

void load(const plugins::candidate& file) { known().plugins.load(file); }

void load_all_plugins() {
  for (const plugins::candidate& c : found_plugins()) {
    try {
      if (c.refusal.empty()) known().plugins.load(c);
    } catch (const error&) {
      // The list of plugins says what is wrong with it.
    }
  }
}

const std::vector<std::unique_ptr<plugins::loaded_plugin>>& loaded_plugins() { return known().plugins.all(); }
const std::vector<std::string>& plugin_directories() { return directories(); }

void use_exchange_words() { known().exchanges = true; }

plan::vocabulary known_vocabulary() {
  plan::vocabulary out = operators::built_in_vocabulary();
  for (const exec::operator_definition* d : exchange_words()) out.add(&d->declaration);
  out.set_functions(known().plugins.functions());
  for (const auto& plugin : known().plugins.all())
    for (const auto& op : plugin->operators) out.add(&op->declaration);
  return out;
}

exec::operator_set known_operators() {
  exec::operator_set out;
  for (const exec::operator_definition* d : operators::built_in_operators()) out[d->declaration.name] = d;
  for (const exec::operator_definition* d : exchange_words()) out[d->declaration.name] = d;
  for (const auto& plugin : known().plugins.all())
    for (const auto& op : plugin->operators) out[op->declaration.name] = op.get();
  return out;
}

}  // namespace flowrun::runner
