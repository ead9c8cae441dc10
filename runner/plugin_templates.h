// What `flowrun plugin new` writes: the files of runner/templates, as they are. @NAME@ stands for the plugin's name.
#pragma once

#include <string>
#include <vector>

namespace flowrun::runner {

struct plugin_template {
  const char* kind;    // of --kind
  const char* source;  // @NAME@.cc
  const char* job;     // job.yaml
};

// In the order in which they are offered.
const std::vector<plugin_template>& plugin_templates();
// "function, aggregate, …"
std::string plugin_kinds();
const char* plugin_cmake();
const char* plugin_readme();

}  // namespace flowrun::runner
