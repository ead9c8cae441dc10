// The plugins that this process has found and loaded.
//
// A plugin is looked at before it is loaded: its file and directory must belong to the user or root and be writable by
// nobody else, and its note must say that it fits. What is loaded stays until the process ends.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/exec/operator_definition.h"
#include "engine/expr/outside_aggregate.h"
#include "engine/expr/outside_function.h"
#include "plugin/include/flowrun/plugin.h"

namespace flowrun::plugins {

// A file that may be a plugin.
struct candidate {
  std::string path;           // absolute, without symbolic links
  std::string name, version;  // of its note
  std::string compiler;
  std::string abi;  // "1.0"
  uint32_t abi_minor = 0;
  std::string refusal;  // why it can't be loaded; empty: nothing speaks against it
};

// Looks at a file without running any of its code.
candidate look_at(const std::string& path);
// At the files of a directory whose names end with .so, by name. Throws error(missing_input) when it can't be read.
std::vector<candidate> look_into(const std::string& directory);

struct loaded_plugin {
  candidate file;
  std::vector<std::unique_ptr<const expr::outside_function>> functions;
  std::vector<std::unique_ptr<const expr::outside_aggregate>> aggregates;
  std::vector<std::unique_ptr<const exec::operator_definition>> operators;
};

class plugin_set {
 public:
  // What the plugins are told of flowrun's version; which operators are there without them.
  plugin_set(const std::string& version, std::function<bool(const std::string&)> is_built_in);
  plugin_set(const plugin_set&) = delete;
  plugin_set& operator=(const plugin_set&) = delete;

  // Loads it, unless it is loaded already. Throws error(bad_spec) when it can't be loaded, or has a word that another
  // one has, and error(internal) for what it does wrong.
  const loaded_plugin& load(const candidate& file);
  const std::vector<std::unique_ptr<loaded_plugin>>& all() const { return plugins_; }
  // With the aggregates. Null when none is loaded.
  std::shared_ptr<const expr::outside_functions> functions() const { return functions_; }

 private:
  int enter(const candidate& file, const fr_registrar& registrar) const;
  void check_operators(const loaded_plugin& plugin) const;

  std::string version_;
  std::function<bool(const std::string&)> is_built_in_;
  fr_host host_;
  std::vector<std::unique_ptr<loaded_plugin>> plugins_;
  std::shared_ptr<const expr::outside_functions> functions_;
};

}  // namespace flowrun::plugins
