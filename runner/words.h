// The words that jobs of this process may use: the built-in ones, and those of the plugins that it has loaded.
//
// Plugins come into the process for good, so this is one place for the whole process. It is set up before the first job
// is read.
#pragma once

#include <string>
#include <vector>

#include "engine/base/fault.h"
#include "engine/exec/graph_host.h"
#include "engine/plan/graph.h"
#include "plugin/plugin_set.h"
#include "specs/job.pb.h"

namespace flowrun::runner {

// `given`: the paths of --plugin. A file is loaded; a directory is searched for plugins that jobs name, before those of
// FLOWRUN_PLUGIN_PATH. Throws error where a path can't be read or a file can't be loaded.
void set_plugins(const std::vector<std::string>& given);

// Loads the plugins that the job names. Returns what is wrong, at the place in the job.
std::vector<fault> load_plugins_of(const specs::JobSpec& job);

// Every plugin that is found: those that are loaded, and those of the directories.
std::vector<plugins::candidate> found_plugins();
// Throws what plugin_set::load throws.
void load(const plugins::candidate& file);
// Loads all of them that can be, for lists of words.
void load_all_plugins();
const std::vector<std::unique_ptr<plugins::loaded_plugin>>& loaded_plugins();
const std::vector<std::string>& plugin_directories();

// Jobs may also use the words by which tasks on a cluster exchange rows.
void use_exchange_words();

plan::vocabulary known_vocabulary();
exec::operator_set known_operators();

}  // namespace flowrun::runner
