#include "runner/plugin_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "engine/base/counted.h"
#include "engine/base/error.h"
#include "plugin/aggregate_trial.h"
#include "plugin/conformance.h"
#include "plugin/plugin_set.h"
#include "runner/document.h"
#include "runner/plugin_trial.h"
#include "runner/spec_files.h"
#include "runner/temporary_directory.h"
#include "runner/test_preparation.h"
#include "runner/told_process.h"
#include "runner/trial_settings.h"
#include "runner/words.h"
#include "specs/yaml_reader.h"

namespace flowrun::runner {

namespace {

constexpr unsigned most_seconds_of_functions = 300;
constexpr int wrong = static_cast<int>(error_kind::internal);

// "3 functions, 1 aggregate"
std::string words_of(const plugins::loaded_plugin& plugin) {
  std::string out;
  if (!plugin.functions.empty() || plugin.aggregates.empty()) out = counted(plugin.functions.size(), "function");
  if (!plugin.aggregates.empty()) out += (out.empty() ? "" : ", ") + counted(plugin.aggregates.size(), "aggregate");
  return out;
}

const plugins::loaded_plugin& loaded(const plugins::candidate& file) {
  load(file);
  for (const auto& plugin : loaded_plugins())
    if (plugin->file.path == file.path) return *plugin;
  internal_error("a plugin was loaded and isn't there");
}

// What is wrong with one test, and under which settings.
struct finding {
  std::string what, meaning;
  std::vector<std::string> lines;  // of the first setting
  std::vector<std::string> settings;
};

class plugin_check {
 public:
  plugin_check(const plugins_arguments& arguments, terminal& screen)
      : arguments_(arguments), screen_(screen), file_(plugins::look_at(arguments.path)) {}

  int run() {
    if (const int code = try_functions(); code != 0) return code;
    if (operators_.empty() && arguments_.jobs.empty()) return has_wrong_functions_ ? wrong : 0;
    for (const spec_file& spec : jobs()) try_job(spec);
    return conclude();
  }

 private:
  // In the child process.
  int functions_alone(const teller& tell) const {
    try {
      const plugins::loaded_plugin& plugin = loaded(file_);
      for (const auto& op : plugin.operators) tell(op->declaration.name);
      // Operators are tried later.
      if (plugin.functions.empty() && plugin.aggregates.empty() && !plugin.operators.empty()) return 0;
      plugins::conformance tried = plugins::try_functions(plugin, 1);
      plugins::try_aggregates(plugin, 1, tried);
      for (const std::string& name : tried.unused)
        print(fmt::format("{}: took no combination of arguments that was tried\n", name));
      for (const std::string& line : tried.breaches) print(line + "\n");
      print(fmt::format("{} {}: {}, {} calls, {} rows: {}\n", file_.name, file_.version, words_of(plugin),
                        tried.num_calls, tried.num_rows,
                        tried.breaches.empty() ? "nothing is wrong" : "NOT as it has to be"));
      return tried.breaches.empty() ? 0 : wrong;
    } catch (const error& problem) {
      screen_.show(problem);
      return -problem.exit_code();  // it can't be tried at all
    }
  }

  // Not 0: it is no use to go on.
  int try_functions() {
    const process_end end =
        in_child([this](const teller& tell) { return functions_alone(tell); },
                 [this](std::string_view name) { operators_.emplace_back(name); }, most_seconds_of_functions);
    if (end.what == process_end::how::returned) {
      has_wrong_functions_ = end.number > 0;
      return end.number < 0 ? -end.number : 0;
    }
    screen_.show(error(error_kind::internal, fmt::format("{} {}", arguments_.path, to_string(end)), advice(end)));
    return wrong;
  }

  static std::string advice(const process_end& end) {
    if (end.what == process_end::how::exited) return "a plugin never ends the process";
    if (end.what == process_end::how::silent) return "no call of it may take forever";
    return "the line above says in which of its words";
  }

  bool names_the_plugin(const spec_file& spec) const {
    const specs::read_result read = specs::read_job(spec.text, spec.path);
    return std::any_of(read.job.plugins().begin(), read.job.plugins().end(),
                       [this](const specs::PluginName& plugin) { return plugin.name() == file_.name; });
  }

  // Those that are given, or those beside the plugin and one folder up that name it.
  std::vector<spec_file> jobs() const {
    if (!arguments_.jobs.empty()) {
      std::vector<spec_file> out = find_specs(arguments_.jobs);
      for (const spec_file& spec : out)
        if (!names_the_plugin(spec))
          throw error(error_kind::bad_spec, fmt::format("{} doesn't name the plugin '{}'", spec.path, file_.name),
                      fmt::format("plugins: [{}]", file_.name));
      return out;
    }
    std::vector<std::string> paths;
    const std::filesystem::path folder = std::filesystem::path(file_.path).parent_path();
    for (const std::filesystem::path& place : {folder, folder.parent_path()}) {
      std::error_code problem;
      for (std::filesystem::directory_iterator at(place, problem), end; !problem && at != end; at.increment(problem))
        if (at->path().extension() == ".yaml" && at->is_regular_file(problem)) paths.push_back(at->path().string());
    }
    if (paths.empty()) return {};
    std::sort(paths.begin(), paths.end());
    std::vector<spec_file> out = find_specs(paths);
    std::erase_if(out, [this](const spec_file& spec) { return !names_the_plugin(spec); });
    return out;
  }

  void try_job(const spec_file& spec) {
    const spec_tests tests = find_tests(spec);
    if (!tests.faults.empty()) {
      screen_.show_faults(tests.faults, tests.text);
      is_unfit_ = true;
      return;
    }
    if (tests.names.empty() && !arguments_.jobs.empty()) screen_.warn(spec.path + " has no tests: it tries nothing");
    for (size_t i = 0; i < tests.names.size(); ++i) {
      ++num_tests_;
      findings_.clear();
      words_.clear();
      unfit_.clear();
      try_test_of(spec, i);
      show(spec, tests.names[i]);
    }
  }

  // A process for all settings, and another one for the rest where it ends early.
  void try_test_of(const spec_file& spec, size_t test) {
    const temporary_directory directory;
    plugin_trial trial{spec, test, file_.name, directory.path()};
    unsigned num_hangs = 0;
    while (trial.first_setting < trial_settings().size()) {
      current_ = trial.first_setting;
      const process_end end = in_child(
          [&](const teller& tell) {
            try {
              loaded(file_);
              try_test(trial, tell);
            } catch (const error& problem) {
              tell(fmt::format("unfit {}", problem.what()));
            }
            return 0;
          },
          [&](std::string_view line) { hear(line, trial); }, arguments_.most_seconds);
      if (end.what == process_end::how::returned) return;
      is_open_ = false;
      std::string what = to_string(end);
      if (end.what == process_end::how::silent)
        what = fmt::format("hangs: it didn't end within {} s", arguments_.most_seconds);
      hear("finding " + what, trial);
      hear("means " + (end.what == process_end::how::silent
                           ? "a step that never returns, or one that waits for a wake that never comes"
                           : advice(end)),
           trial);
      if (end.what == process_end::how::silent) ++num_hangs;
      // What it does as usual, it does under all settings; and nobody waits for more than two that hang.
      if (current_ == 0 || num_hangs == 2) return;
      trial.first_setting = current_ + 1;
    }
  }

  // plugin_trial.h has the words.
  void hear(std::string_view line, plugin_trial& trial) {
    const std::string_view word = line.substr(0, line.find(' '));
    const std::string rest(line.substr(std::min(word.size() + 1, line.size())));
    if (word == "begin") {
      current_ = std::stoul(rest);
    } else if (word == "steps") {
      trial.num_steps = std::stoull(rest);
    } else if (word == "uses") {
      words_.insert(rest);
      tried_.insert(rest);
    } else if (word == "unfit") {
      unfit_ = rest;
    } else if (word == "finding") {
      const auto known =
          std::find_if(findings_.begin(), findings_.end(), [&](const finding& f) { return f.what == rest; });
      is_open_ = known == findings_.end();
      if (is_open_)
        findings_.push_back({rest, {}, {}, {trial_settings()[current_].name}});
      else
        known->settings.push_back(trial_settings()[current_].name);
    } else if (word == "line" && is_open_) {
      findings_.back().lines.push_back(rest);
    } else if (word == "means" && is_open_) {
      findings_.back().meaning = rest;
    }
  }

  void show(const spec_file& spec, const std::string& test) {
    const std::string where = fmt::format("{}, test '{}'", spec.path, test);
    if (!unfit_.empty()) {
      is_unfit_ = true;
      print(fmt::format("{}: can't be tried: {}\n", where, unfit_));
    }
    if (findings_.empty()) return;
    is_wrong_ = true;
    const std::set<std::string> some = {"a word of " + file_.name};
    for (const finding& f : findings_) {
      std::string out = fmt::format("{}: {} {} {}\n", where, fmt::join(words_.empty() ? some : words_, " or "), f.what,
                                    f.settings.front());
      for (const std::string& line : f.lines) out += "  " + line + "\n";
      if (f.settings.size() > 1)
        out += fmt::format("  also: {}\n", fmt::join(f.settings.begin() + 1, f.settings.end(), "; "));
      if (!f.meaning.empty()) out += "  probably: " + f.meaning + "\n";
      print(out);
    }
  }

  int conclude() {
    std::vector<std::string> untried;
    for (const std::string& name : operators_)
      if (!tried_.contains(name)) untried.push_back(name);
    print(fmt::format("{} {}: {} in {}, each under {} settings: {}\n", file_.name, file_.version,
                      counted(operators_.size() - untried.size(), "operator"), counted(num_tests_, "test"),
                      trial_settings().size(),
                      is_wrong_         ? "NOT as it has to be"
                      : is_unfit_       ? "nothing is wrong with what could be tried"
                      : untried.empty() ? "nothing is wrong"
                                        : "nothing is wrong with these"));
    if (!untried.empty())
      print(
          fmt::format("not tried: {}: no test of a job uses {}\n  give jobs with tests: flowrun plugins check {} "
                      "JOB.yaml…, or lay them beside the plugin or one folder up\n",
                      fmt::join(untried, ", "), untried.size() == 1 ? "it" : "them", arguments_.path));
    return is_wrong_ || has_wrong_functions_ ? wrong : untried.empty() && !is_unfit_ ? 0 : 1;
  }

  const plugins_arguments& arguments_;
  terminal& screen_;
  const plugins::candidate file_;
  std::vector<std::string> operators_;
  std::set<std::string> tried_;
  size_t num_tests_ = 0;
  bool has_wrong_functions_ = false;
  bool is_wrong_ = false;  // an operator, or a job with the plugin's words
  bool is_unfit_ = false;
  // Of the test at hand.
  size_t current_ = 0;    // setting
  bool is_open_ = false;  // lines belong to the last finding
  std::vector<finding> findings_;
  std::set<std::string> words_;
  std::string unfit_;
};

}  // namespace

int check_plugin(const plugins_arguments& arguments, terminal& screen) {
  remove_abandoned_directories();
  return plugin_check(arguments, screen).run();
}

}  // namespace flowrun::runner
