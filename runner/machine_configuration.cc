#include "runner/machine_configuration.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "engine/base/error.h"
#include "engine/io/followed_path.h"
#include "engine/io/output_target.h"
#include "runner/document.h"
#include "runner/exact_bytes.h"
#include "runner/home_paths.h"
#include "specs/grammar.h"
#include "specs/resource_reader.h"
#include "specs/source_text.h"
#include "specs/yaml_tree.h"
#include "specs/yaml_writer.h"

namespace flowrun::runner {

namespace {

namespace fs = std::filesystem;

struct parsed_configuration {
  specs::Value section;  // the value of resources:, or nothing
  specs::Resources resources;
  std::vector<std::string> plugin_directories;
};

std::vector<std::string> read_directories(const specs::Entry& entry, specs::fault_sink& faults) {
  std::vector<std::string> out;
  const bool is_list = specs::is_list(entry.value());
  for (const specs::Value& item : entry.value().list().items()) {
    if (specs::is_scalar(item) && !specs::text(item).empty())
      out.push_back(specs::text(item));
    else
      faults.add(item.position(), "a directory of plugins is " + std::string(specs::kind_name(item)), "a path");
  }
  if (!is_list && !specs::is_null(entry.value()))
    faults.add(entry.value().position(), "'plugins' is " + std::string(specs::kind_name(entry.value())),
               "a list of directories, such as [/usr/local/lib/flowrun]");
  return out;
}

// Nothing is replaced in this file, as it is in a job: a directory would be called as it stands.
void refuse_environment(const specs::Value& value, specs::fault_sink& faults) {
  if (specs::text(value).find("${env:") != std::string::npos)
    faults.add(value.position(), "the machine's configuration can't use variables of the environment",
               "the value itself; ~/ begins a path in the home directory");
  for (const specs::Entry& entry : value.map().entries()) refuse_environment(entry.value(), faults);
  for (const specs::Value& item : value.list().items()) refuse_environment(item, faults);
}

parsed_configuration parse(std::string text, const std::string& path) {
  parsed_configuration out;
  text = specs::plain_text(std::move(text));
  specs::fault_sink faults(path);
  if (specs::check_text(text, faults)) {
    const specs::source_text source(text);
    const std::optional<specs::Value> root = specs::read_yaml(source, faults);
    if (root) refuse_environment(*root, faults);
    if (root && faults.empty() && specs::is_map(*root)) {
      specs::check_keys(*root, "the machine's configuration", {"resources", "plugins"}, faults);
      if (const specs::Entry* plugins = specs::find_entry(*root, "plugins"))
        out.plugin_directories = read_directories(*plugins, faults);
      if (const specs::Entry* section = specs::find_entry(*root, "resources")) {
        specs::read_resources(*section, out.resources, faults);
        out.section = section->value();
      }
    } else if (root && faults.empty() && !specs::is_null(*root)) {
      faults.add(root->position(), "the machine's configuration is " + std::string(specs::kind_name(*root)),
                 "resources: {memory: …, threads: …, scratch: …}");
    }
  }
  std::vector<fault> found = faults.take();
  if (found.empty()) return out;
  std::string rendered = render(std::move(found), text);
  while (rendered.ends_with('\n')) rendered.pop_back();
  throw error(error_kind::bad_spec, "the machine's configuration is wrong\n" + rendered);
}

bool is_file(const std::string& path) {
  std::error_code ignored;
  return !path.empty() && fs::is_regular_file(path, ignored);
}

std::string content_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in)
    throw error(error_kind::missing_input, "can't read the machine's configuration " + path,
                "make it readable, or remove it");
  return std::string(std::istreambuf_iterator<char>(in), {});
}

// Nothing is replaced in this text.
std::string scalar(const std::string& text) { return specs::yaml_scalar(text, false, specs::dollars::kept); }

bool same_directory(const std::string& a, const std::string& b) {
  std::error_code ignored;
  return a == b || fs::equivalent(a, b, ignored);
}

std::string weight_text(double weight) {
  return weight >= 100 ? fmt::format("{:.0f}", weight) : fmt::format("{:.2f}", std::max(weight, 0.01));
}

std::string scratch_text(const specs::Resources& old, const measured_disks& disks) {
  std::string out = "  scratch:\n";
  for (const measured_disks::directory& d : disks.scratch) {
    out += fmt::format("    - path: {}\n      weight: {}\n", scalar(d.path), weight_text(d.weight));
    for (const specs::ScratchDir& known : old.scratch()) {
      if (!known.has_limit_bytes() || !same_directory(known.path(), d.path)) continue;
      out += fmt::format("      limit: {}\n", exact_bytes(known.limit_bytes()));
      break;
    }
  }
  return out;
}

// Makes an unnamed file, since permissions alone don't tell whether that is possible (on a read-only or a special file
// system).
void try_to_write(const std::string& path) {
  try {
    const io::output_target trial(path, false);
  } catch (const error& problem) {
    throw error(error_kind::output, fmt::format("{} (the configuration)", problem.what()),
                "name another one with --config FILE");
  }
}

}  // namespace

std::string user_directory(const char* variable, const char* below_home) {
  const auto value_of = [](const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? std::string() : std::string(value);
  };
  const std::string base = value_of(variable);
  if (base.starts_with('/')) return base + "/flowrun";
  const std::string home = value_of("HOME");
  return home.starts_with('/') ? home + "/" + below_home + "/flowrun" : std::string();
}

std::string own_configuration_path() {
  const std::string directory = user_directory("XDG_CONFIG_HOME", ".config");
  return directory.empty() ? directory : directory + "/config.yaml";
}

machine_configuration read_machine_configuration() {
  for (const std::string& path : {own_configuration_path(), std::string(system_configuration_path)})
    if (is_file(path)) {
      parsed_configuration read = parse(content_of(path), path);
      machine_configuration out{path, std::move(read.resources), std::move(read.plugin_directories)};
      expand_home(out.resources);
      for (std::string& directory : out.plugin_directories) directory = expanded_home(directory);
      return out;
    }
  return {};
}

std::string merged_configuration(const std::string& old_text, const std::string& path, const measured_disks& disks) {
  const parsed_configuration old = parse(old_text, path);
  const std::vector<std::pair<std::string, std::string>> measured = {
      {"scratch", scratch_text(old.resources, disks)},
      {"block_size", fmt::format("  block_size: {}\n", exact_bytes(disks.block_bytes))},
      {"depth", fmt::format("  depth: {}\n", disks.depth)}};
  std::string out = "# scratch, block_size and depth were measured by flowrun bench-disk.\nresources:\n";
  // What was accepted has nothing but text under the other keys.
  for (const specs::Entry& entry : old.section.map().entries()) {
    const auto found =
        std::find_if(measured.begin(), measured.end(), [&](const auto& m) { return m.first == entry.key(); });
    if (found == measured.end()) out += fmt::format("  {}: {}\n", entry.key(), scalar(specs::text(entry.value())));
  }
  for (const auto& [key, text] : measured) out += text;
  if (!old.plugin_directories.empty()) out += "plugins:\n";
  for (const std::string& directory : old.plugin_directories) out += fmt::format("  - {}\n", scalar(directory));
  parse(out, path);  // nothing is written that can't be read again
  return out;
}

configuration_file::configuration_file(const std::string& path)
    : path_(path.empty() ? own_configuration_path() : path) {
  if (path_.empty())
    throw error(error_kind::output, "there is no place for the configuration: neither XDG_CONFIG_HOME nor HOME is set",
                "name one with --config FILE");
  std::error_code problem;
  path_ = fs::absolute(path_).lexically_normal();
  path_ = io::followed_output(path_);
  if (const fs::path whole = fs::canonical(path_, problem); !problem) path_ = whole;
  exists_ = fs::exists(path_, problem);
  if (exists_ && !is_file(path_))
    throw error(error_kind::output, "can't write the configuration " + path_ + ": it is no file", "name a file");
  try_to_write(path_);
  // A user's first own configuration hides the system's as a whole: it has to say the same of everything else.
  if (!exists_ && path_ == fs::path(own_configuration_path()).lexically_normal() && is_file(system_configuration_path))
    inherited_ = system_configuration_path;
  const std::string source = exists_ ? path_ : inherited_;
  if (source.empty()) return;
  text_ = content_of(source);
  parse(text_, source);
}

std::vector<std::string> configuration_file::save(const measured_disks& disks) const {
  const std::string text = text_with(disks);
  std::vector<std::string> out;
  if (!inherited_.empty()) out.push_back("takes over what " + inherited_ + " says, which it hides from now on");
  const specs::Resources old = parse(text_, path_).resources;
  for (const specs::ScratchDir& before : old.scratch())
    if (std::none_of(disks.scratch.begin(), disks.scratch.end(),
                     [&](const auto& d) { return same_directory(before.path(), d.path); }))
      out.push_back("no longer a scratch directory: " + before.path());
  const std::string own = own_configuration_path();
  if (path_ == system_configuration_path && is_file(own))
    out.push_back("jobs of yours don't read it: " + own + " comes first");
  std::error_code problem;
  const bool is_own = !own.empty() && (path_ == own || fs::weakly_canonical(own, problem) == path_);
  if (path_ != system_configuration_path && !is_own)
    out.push_back(fmt::format("flowrun reads {} or {}, not this file",
                              own.empty() ? "~/.config/flowrun/config.yaml" : own, system_configuration_path));
  if (exists_ && text == text_) return out;
  if (!exists_) {
    fs::create_directories(fs::path(path_).parent_path(), problem);
    if (problem)
      throw error(error_kind::output, fmt::format("can't make the directory of {}: {}", path_, problem.message()),
                  "name another one with --config FILE");
  } else {
    pending_document(path_ + ".bak").write(text_);
    out.push_back("what it said before is kept in " + path_ + ".bak");
  }
  pending_document(path_).write(text);
  return out;
}

}  // namespace flowrun::runner
