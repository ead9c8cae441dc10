// flowrun plugins: what is found and what speaks against it; how a plugin keeps its promises; how to begin one.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

#include "engine/base/error.h"
#include "plugin/note.h"
#include "runner/commands.h"
#include "runner/document.h"
#include "runner/plugin_check.h"
#include "runner/plugin_templates.h"
#include "runner/words.h"

namespace flowrun::runner {

namespace {

const plugins::loaded_plugin* loaded(const std::string& path) {
  for (const auto& plugin : loaded_plugins())
    if (plugin->file.path == path) return plugin.get();
  return nullptr;
}

std::string described(const plugins::candidate& file) {
  std::string out =
      fmt::format("{} {}\n  file       {}\n", file.name.empty() ? "?" : file.name, file.version, file.path);
  if (!file.abi.empty()) out += fmt::format("  interface  {}, built with {}\n", file.abi, file.compiler);
  const plugins::loaded_plugin* const plugin = loaded(file.path);
  if (plugin == nullptr) return out + fmt::format("  refused    {}\n", file.refusal);
  for (const auto& op : plugin->operators)
    out += fmt::format("  operator   {}\n             {}\n", op->declaration.name, op->declaration.summary);
  for (const auto& function : plugin->functions)
    out += fmt::format("  function   {}\n             {}\n", function->help().signature, function->help().help);
  for (const auto& aggregate : plugin->aggregates)
    out += fmt::format("  aggregate  {}\n             {}\n", aggregate->help().signature, aggregate->help().help);
  return out;
}

int list() {
  std::vector<plugins::candidate> found = found_plugins();
  std::string out;
  for (plugins::candidate& file : found) {
    if (file.refusal.empty() && loaded(file.path) == nullptr) {
      try {
        load(file);
      } catch (const error& problem) {
        file.refusal = problem.what();
      }
    }
    out += (out.empty() ? "" : "\n") + described(file);
  }
  if (found.empty())
    out = plugin_directories().empty()
              ? "no plugins: give --plugin PATH, or set FLOWRUN_PLUGIN_PATH to directories of plugins\n"
              : fmt::format("no plugins in {}\n", fmt::join(plugin_directories(), ", "));
  print_lines(out);
  return 0;
}

std::string filled(std::string text, const std::string& name) {
  for (size_t at = text.find("@NAME@"); at != std::string::npos; at = text.find("@NAME@", at + name.size()))
    text.replace(at, 6, name);
  return text;
}

int begin_plugin(const std::string& path, const std::string& kind, terminal& screen) {
  const std::filesystem::path folder = std::filesystem::path(path).lexically_normal();
  const std::string name = folder.filename().string();
  if (!plugins::is_word(name) || name.size() >= sizeof(fr_note::name))
    throw error(error_kind::usage, fmt::format("'{}' can't be the name of a plugin", name),
                "a lower case letter, then at most 30 such letters, digits and _: jobs call its words as NAME.WORD");
  constexpr std::array reserved = {"all", "clean", "help", "install", "package", "package_source", "test"};
  if (std::find(reserved.begin(), reserved.end(), name) != reserved.end())
    throw error(error_kind::usage,
                fmt::format("'{}' can't be the name of a plugin: CMake has a target of that name", name),
                fmt::format("another name, such as my_{}", name));
  std::error_code problem;
  std::filesystem::create_directories(folder.parent_path().empty() ? "." : folder.parent_path(), problem);
  // Nothing that is there is written over.
  if (!std::filesystem::create_directory(folder, problem))
    throw error(
        error_kind::output,
        fmt::format("{} can't be made: {}", folder.string(), problem ? problem.message() : "it is there already"),
        "give another name, or remove it");
  const auto write = [&](const std::string& file, const char* text) {
    const std::filesystem::path there = folder / file;
    std::ofstream out(there, std::ios::binary);
    out << filled(text, name);
    out.close();
    if (!out) throw error(error_kind::output, fmt::format("{} can't be written", there.string()), "is the disk full?");
  };
  write("CMakeLists.txt", plugin_cmake());
  write("README.md", plugin_readme());
  for (const plugin_template& t : plugin_templates()) {
    if (t.kind != kind) continue;
    write(name + ".cc", t.source);
    write("job.yaml", t.job);
  }
  screen.say(fmt::format("{} is a plugin that builds; its README.md says how to build and test it\n", folder.string()));
  return 0;
}

}  // namespace

int manage_plugins(const plugins_arguments& arguments, terminal& screen) {
  if (arguments.action == "check") return check_plugin(arguments, screen);
  if (arguments.action == "new") return begin_plugin(arguments.path, arguments.kind, screen);
  return list();
}

}  // namespace flowrun::runner
