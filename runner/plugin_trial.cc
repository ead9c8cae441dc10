#include "runner/plugin_trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <thread>

#include "engine/base/counted.h"
#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/exec/job.h"
#include "engine/exec/job_report.h"
#include "runner/claimed_orders.h"
#include "runner/difference.h"
#include "runner/job_loading.h"
#include "runner/test_preparation.h"
#include "runner/test_rows.h"
#include "runner/trial_settings.h"

namespace flowrun::runner {

namespace {

using ending = plugins::disturbance::ending;

constexpr uint64_t usual_memory = 256 * MiB;
constexpr size_t most_lines = 12;

// What a run leaves.
struct run_result {
  std::optional<error> failed;
  std::map<std::string, std::string> files;  // content, by path below out/
  std::vector<std::string> values;           // that nodes report: "total.n = 5"
  std::vector<std::string> left_behind;      // files that should have gone with the job
  std::vector<std::string> estimates;        // wrong_estimates()
  std::set<std::string> words;               // operators of the plugin in the job
  uint64_t num_steps = 0;
};

// The files below a directory, with what is in them.
std::map<std::string, std::string> files_below(const std::string& directory) {
  std::map<std::string, std::string> out;
  std::error_code problem;
  for (std::filesystem::recursive_directory_iterator at(directory, problem), end; !problem && at != end;
       at.increment(problem)) {
    if (at->is_directory(problem)) continue;
    std::ifstream in(at->path(), std::ios::binary);
    out[std::filesystem::relative(at->path(), directory, problem).string()] = {std::istreambuf_iterator<char>(in), {}};
  }
  return out;
}

void note_words(const plan::graph& graph, const std::string& plugin, std::set<std::string>& out) {
  for (const plan::node& n : graph.nodes) {
    if (is_of_plugin(n, plugin)) out.insert(n.declaration->name);
    for (const auto& body : n.bodies) note_words(*body, plugin, out);
  }
}

class test_trial {
 public:
  test_trial(const plugin_trial& trial, const prepared_test& prepared, const teller& tell)
      : trial_(trial), prepared_(prepared), tell_(tell), num_steps_(trial.num_steps) {}

  void run() {
    if (!run_usual()) return;
    const std::vector<trial_setting>& settings = trial_settings();
    for (size_t i = std::max<size_t>(trial_.first_setting, 1); i < settings.size(); ++i) {
      const trial_setting& setting = settings[i];
      tell_(fmt::format("begin {}", i));
      const run_result result = run_under(setting, i);
      if (setting.counts_steps) {
        num_steps_ = result.num_steps;
        tell_(fmt::format("steps {}", num_steps_));
      }
      compare(setting, result);
    }
  }

 private:
  // False: it is no use to go on.
  bool run_usual() {
    if (trial_.first_setting == 0) tell_("begin 0");
    usual_ = run_under(trial_settings().front(), 0);
    if (trial_.first_setting > 0) return true;
    if (usual_.failed && usual_.failed->kind() == error_kind::internal) {
      tell_("finding fails");
      tell_("line " + words_of(*usual_.failed));
      return false;
    }
    if (usual_.failed && !judge_failure(prepared_.test, {words_of(*usual_.failed)}).passed) {
      tell_(fmt::format("unfit it fails: {}", words_of(*usual_.failed)));
      return false;
    }
    for (const std::string& word : usual_.words) tell_("uses " + word);
    if (!usual_.failed && !prepared_.test.fails.empty()) {
      tell_("unfit it should fail and doesn't: flowrun test says more");
      return false;
    }
    if (!usual_.estimates.empty()) {
      tell_("finding has not as many rows as was said to be certain");
      for (const std::string& line : usual_.estimates) tell_("line " + line);
      tell_("means the estimate of set_output is exact, or a bound, only where that holds for any input");
    }
    if (!usual_.left_behind.empty()) finding(trial_settings().front(), "leaves files behind", usual_.left_behind);
    return true;
  }

  static std::string words_of(const error& problem) {
    std::string out = problem.what();
    if (!problem.hint().empty()) out += "; " + problem.hint();
    std::replace(out.begin(), out.end(), '\n', ' ');
    return out;
  }

  void finding(const trial_setting& setting, const std::string& what, std::vector<std::string> lines) {
    tell_("finding " + what);
    for (std::string& line : lines) {
      std::replace(line.begin(), line.end(), '\n', ' ');
      tell_("line " + line);
    }
    tell_("means " + setting.meaning);
  }

  planned_job plan(const specs::JobSpec& spec, const trial_setting& setting, const std::string& directory) const {
    const auto shared = std::make_shared<const specs::JobSpec>(spec);
    resource_arguments given;
    given.memory_bytes = usual_memory;
    given.threads = setting.threads;
    given.batch_bytes = setting.batch_bytes;
    given.scratch = {{directory + "/scratch", 0}};
    if (setting.tiny_blocks) {
      given.scratch.push_back({directory + "/scratch2", 0});
      given.block_bytes = 4 * KiB;
    }
    planned_job planned = plan_job(shared, given);
    if (!planned.faults.empty() || !setting.may_lack_memory()) return planned;
    given.memory_bytes = plan::least_memory(*planned.job.graph, planned.job.plan.resources);
    planned_job little = plan_job(shared, given);
    return little.faults.empty() ? std::move(little) : std::move(planned);
  }

  run_result run_under(const trial_setting& setting, size_t number) {
    run_result out;
    const std::string directory = fmt::format("{}/{}", trial_.directory, number);
    std::filesystem::create_directories(directory + "/tmp");
    ::setenv("TMPDIR", (directory + "/tmp").c_str(), 1);
    specs::JobSpec spec = redirected(*prepared_.job, prepared_.fitted, directory);
    planned_job planned = plan(spec, setting, directory);
    if (planned.faults.empty() && setting.checks_orders) {
      spec = with_orders_checked(spec, *planned.job.graph, trial_.plugin);
      planned = plan(spec, setting, directory);
    }
    if (!planned.faults.empty()) {
      out.failed = error(error_kind::bad_spec, words_of(planned.faults).front());
      return out;
    }
    note_words(*planned.job.graph, trial_.plugin, out.words);
    run_planned(planned.job, setting, out);
    out.files = files_below(directory + "/out");
    for (const char* const place : {"scratch", "scratch2", "tmp"})
      for (const auto& [path, content] : files_below(directory + "/" + place))
        out.left_behind.push_back(fmt::format("{}/{}, {} bytes", place, path, content.size()));
    std::error_code ignored;
    std::filesystem::remove_all(directory, ignored);
    return out;
  }

  using faults_words = std::vector<std::string>;
  static faults_words words_of(const std::vector<fault>& faults) { return runner::words_of(faults); }

  void run_planned(const loaded_job& loaded, const trial_setting& setting, run_result& out) {
    run_arguments arguments;
    arguments.plain_executor = setting.plain_executor;
    arguments.engine.force_spill = setting.tiny_blocks;
    arguments.engine.sync_outputs = false;
    plugins::disturbance how;
    how.blocks = setting.blocks;
    how.delays = setting.delays;
    if (!setting.ends_after_ms) {
      how.ends = setting.ends;
      how.ends_before = static_cast<uint64_t>(setting.ends_at * static_cast<double>(num_steps_));
    }
    exec::job_settings settings = settings_of(loaded, arguments);
    std::deque<exec::operator_definition> operators;
    for (auto& [name, definition] : settings.operators)
      if (name.starts_with(trial_.plugin + ".")) definition = &operators.emplace_back(disturbed(*definition, how));
    std::jthread alarm;
    if (setting.ends_after_ms)
      alarm = std::jthread([&how, ms = *setting.ends_after_ms] {
        std::this_thread::sleep_for(std::chrono::milliseconds(ms));
        how.stop = true;
      });
    try {
      exec::job job(std::move(settings));
      if (arguments.engine.force_spill) job.open_scratch();
      job.run({}, how.stop);
      const exec::RunReport report = job.report(nullptr);
      for (const exec::RunReport::Result& r : report.results())
        out.values.push_back(fmt::format("{}.{} = {}", r.node(), r.name(), r.value()));
      std::sort(out.values.begin(), out.values.end());
      out.estimates = wrong_estimates(job.graph(), report, trial_.plugin);
    } catch (const error& problem) {
      out.failed = problem;
    } catch (const std::exception& problem) {
      out.failed = error(error_kind::internal, problem.what());
    }
    out.num_steps = how.num_steps;
  }

  void compare(const trial_setting& setting, const run_result& result) {
    if (!result.left_behind.empty()) finding(setting, "leaves files behind", result.left_behind);
    if (!result.failed) {
      if (usual_.failed) return finding(setting, "succeeds, and usually fails", {usual_.failed->what()});
      return compare_outputs(setting, result);
    }
    if (!result.files.empty()) finding(setting, "leaves outputs of a job that failed", {result.files.begin()->first});
    const error& problem = *result.failed;
    const bool was_ended = (setting.ends == ending::cancelled && problem.kind() == error_kind::cancelled) ||
                           (setting.ends == ending::failed &&
                            std::string_view(problem.what()).find(plugins::failure_of_trial) != std::string_view::npos);
    const bool as_usual = usual_.failed && problem.kind() == usual_.failed->kind();
    // That there is too little is for the job's user to mend, if the plugin says so.
    const bool lacks_memory = setting.may_lack_memory() && problem.kind() == error_kind::resources;
    if (was_ended || as_usual || lacks_memory) return;
    finding(setting, setting.ends == ending::none ? "fails, and usually doesn't" : "fails in a way of its own",
            {words_of(problem)});
  }

  void compare_outputs(const trial_setting& setting, const run_result& result) {
    std::vector<std::string> lines;
    for (const auto& [path, expected] : usual_.files) {
      const auto found = result.files.find(path);
      if (found == result.files.end())
        lines.push_back(fmt::format("{}: there is no such output", path));
      else if (found->second != expected)
        describe(path, expected, found->second, lines);
    }
    std::vector<std::string> values = result.values;
    // The checks that were added report something, too.
    if (setting.checks_orders)
      std::erase_if(values, [&](const std::string& v) {
        return std::find(usual_.values.begin(), usual_.values.end(), v) == usual_.values.end();
      });
    for (const std::string& line : difference(usual_.values, values, most_lines)) lines.push_back(line);
    if (!lines.empty()) finding(setting, "gives something else", std::move(lines));
  }

  // Rows of a packed output, lines of a text, or the place of the first byte.
  void describe(const std::string& path, const std::string& expected, const std::string& found,
                std::vector<std::string>& out) const {
    const auto known = std::find_if(prepared_.fitted.outputs.begin(), prepared_.fitted.outputs.end(),
                                    [&](const fitted_test::output& o) { return o.node == path && o.packed; });
    const auto lines = [&](const std::string& bytes) {
      return known != prepared_.fitted.outputs.end() ? shown_rows(bytes, known->type) : split_lines(bytes, '\n');
    };
    const auto is_text = [](const std::string& bytes) {
      return std::none_of(bytes.begin(), bytes.end(),
                          [](char c) { return c >= 0 && c < 0x20 && c != '\n' && c != '\t'; });
    };
    if (known != prepared_.fitted.outputs.end() || (is_text(expected) && is_text(found))) {
      const std::vector<std::string> a = lines(expected), b = lines(found);
      out.push_back(
          fmt::format("{}: usually {} (-), now {} (+)", path, counted(a.size(), "row"), format_count(b.size())));
      for (const std::string& line : difference(a, b, most_lines)) out.push_back("  " + line);
      return;
    }
    const auto at = std::mismatch(expected.begin(), expected.end(), found.begin(), found.end()).first;
    out.push_back(fmt::format("{}: differs at byte {} (usually {} bytes, now {})", path, at - expected.begin(),
                              expected.size(), found.size()));
  }

  const plugin_trial& trial_;
  const prepared_test& prepared_;
  const teller& tell_;
  uint64_t num_steps_;
  run_result usual_;
};

}  // namespace

void try_test(const plugin_trial& trial, const teller& tell) {
  const preparation ready = prepare_test(trial.spec, trial.test);
  const std::vector<fault>& faults = ready.faults.empty() ? ready.job_faults : ready.faults;
  if (!faults.empty()) {
    // A test may be about a fault that the plugin's check finds.
    if (ready.faults.empty() && judge_failure(ready.prepared.test, words_of(faults)).passed) return;
    tell("unfit " + words_of(faults).front());
    return;
  }
  test_trial(trial, ready.prepared, tell).run();
}

}  // namespace flowrun::runner
