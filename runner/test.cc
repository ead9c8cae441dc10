// flowrun test: runs the `tests:` of specs, each test twice, and says which failed.
//
// A line for each spec, below it what failed, and at the end how many there were. Standard output has all of it but
// faults of specs, which stand on standard error, as `flowrun check` writes them.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>

#include "engine/base/counted.h"
#include "runner/commands.h"
#include "runner/document.h"
#include "runner/interrupts.h"
#include "runner/spec_files.h"
#include "runner/temporary_directory.h"
#include "runner/test_preparation.h"
#include "runner/test_run.h"
#include "runner/test_update.h"

namespace flowrun::runner {

namespace {

using clock = std::chrono::steady_clock;

double seconds_since(clock::time_point start) { return std::chrono::duration<double>(clock::now() - start).count(); }

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return text;
}

constexpr std::string_view with_tiny_blocks = " (with tiny blocks, spilling)";

class test_session {
 public:
  test_session(const test_arguments& arguments, terminal& screen)
      : arguments_(arguments), screen_(screen), pattern_(lower(arguments.pattern)) {}

  int run() {
    if (arguments_.update) expect_files(arguments_.paths);
    std::vector<spec_file> specs = find_specs(arguments_.paths);
    for (const spec_file& spec : specs) width_ = std::max(width_, spec.path.size());
    for (spec_file& spec : specs) {
      run_spec(spec);
      if (stopped()) return 128 + signals_.signal();
    }
    if (!pattern_.empty() && num_tests_ == 0 && num_faulty_specs_ == 0)
      throw error(error_kind::usage, "no test has '" + arguments_.pattern + "' in its name",
                  "flowrun test -v lists them");
    summarise();
    return num_faulty_specs_ > 0 ? static_cast<int>(error_kind::bad_spec) : num_failed_ > 0 ? 1 : 0;
  }

 private:
  bool stopped() const { return signals_.requested().load(); }

  void run_spec(spec_file& spec) {
    const spec_file before = spec;
    const size_t updated_before = num_updated_;
    const clock::time_point start = clock::now();
    const spec_tests tests = find_tests(spec);
    screen_.hide(tests.environment);
    std::vector<size_t> chosen;
    for (size_t i = 0; i < tests.names.size(); ++i)
      if (lower(tests.names[i]).find(pattern_) != std::string::npos) chosen.push_back(i);
    if (!pattern_.empty() && chosen.empty() && tests.faults.empty()) return;
    ++num_specs_;
    if (tests.names.empty() && tests.faults.empty()) {
      ++num_without_;
      if (!screen_.quiet()) tell(spec, "no tests", "");
      return;
    }
    details_.clear();
    size_t failed = 0;
    bool faulty = !tests.faults.empty();
    if (faulty) {
      screen_.show_faults(tests.faults, tests.text);
    } else {
      for (const size_t index : chosen) {
        ++num_tests_;
        if (!run_test_of(spec, index, faulty)) ++failed;
        if (stopped()) return;
      }
    }
    num_failed_ += failed;
    num_faulty_specs_ += faulty ? 1 : 0;
    screen_.erase_line();
    std::optional<spec_replacement> replacement;
    if (spec.text != before.text) replacement.emplace(before, spec.text);
    const size_t updated = num_updated_ - updated_before;
    if (faulty && failed == 0)
      tell(spec, "FAILED", "the spec has faults");
    else if (failed > 0)
      tell(spec, "FAILED", fmt::format("{} of {}", failed, counted(chosen.size(), "test")));
    else if (!screen_.quiet() && updated > 0)
      tell(spec, "updated", fmt::format("{} of {}", updated, counted(chosen.size(), "test")));
    else if (!screen_.quiet())
      tell(spec, "ok", fmt::format("{}, {:.2f} s", counted(chosen.size(), "test"), seconds_since(start)));
    print_lines(screen_.mask().masked(details_));
    if (replacement) put_in_place(*replacement, spec);
  }

  // Once everything about it has been said: no file changes without a word where standard output is full or has gone.
  void put_in_place(spec_replacement& replacement, const spec_file& spec) {
    replacement.commit();
    if (replacement.has_other_names())
      screen_.warn(spec.path + " has other names (hard links), which keep what it was before");
  }

  // False: it failed.
  bool run_test_of(spec_file& spec, size_t index, bool& faulty) {
    const clock::time_point start = clock::now();
    const preparation ready = prepare_test(spec, index);
    screen_.hide(ready.environment);
    const test_case& test = ready.prepared.test;
    if (screen_.is_terminal() && !screen_.quiet())
      screen_.redraw(fmt::format("{}: {}", spec.path, test.name).substr(0, screen_.width() - 1));
    if (!ready.faults.empty()) return show_faults(ready.faults, ready.text, test, faulty);
    if (!ready.job_faults.empty()) {
      if (test.fails.empty()) return show_faults(ready.job_faults, ready.text, test, faulty);
      return conclude(test, "", judge_failure(test, words_of(ready.job_faults)), start);
    }
    const test_result plain = run_plain(ready.prepared);
    if (arguments_.update && !plain.differing.empty()) return update(spec, index, ready.prepared, plain, start);
    if (!plain.passed || test.once) return conclude(test, "", plain, start);
    return conclude(test, with_tiny_blocks, run_tiny(ready.prepared), start);
  }

  test_result run_plain(const prepared_test& test) const {
    return run_test(test, test_variant::as_is, arguments_.resources, signals_.requested());
  }
  test_result run_tiny(const prepared_test& test) const {
    return run_test(test, test_variant::tiny_blocks, arguments_.resources, signals_.requested());
  }

  // The spec gets what the test gave, if the test then passes, or fails only for what stays as it is.
  bool update(spec_file& spec, size_t index, const prepared_test& before, const test_result& gave,
              clock::time_point start) {
    const test_case& test = before.test;
    spec_update made = updated_spec(spec, index, before, gave.differing, screen_.mask());
    test_result left = gave;
    left.lines.insert(left.lines.end(), made.left.begin(), made.left.end());
    if (made.text == spec.text) return conclude(test, "", left, start);
    const spec_file changed{spec.path, std::move(made.text)};
    const preparation ready = prepare_test(changed, index);
    if (!ready.faults.empty() || !ready.job_faults.empty()) {
      left.lines.push_back("it stays as it is: what came can't be written so that it is read as the same");
      return conclude(test, "", left, start);
    }
    const test_result again = run_plain(ready.prepared);
    if (again.stopped) return true;
    // Only what couldn't be written may differ again.
    if (!again.passed && (again.differing.empty() || again.differing.size() > made.left.size())) {
      left.lines.push_back("it stays as it is: a second run gave something else");
      return conclude(test, "", left, start);
    }
    if (again.passed && !test.once)
      if (const test_result tiny = run_tiny(ready.prepared); !tiny.passed)
        return conclude(test, with_tiny_blocks, tiny, start);
    spec.text = changed.text;
    if (!again.passed) {
      left.lines.push_back("the rest was updated");
      return conclude(test, "", left, start);
    }
    ++num_updated_;
    if (!screen_.quiet()) {
      details_ += fmt::format("  updated {}, line {}\n", test.name, test.position.line());
      for (const std::string& line : gave.lines) details_ += "    " + line + "\n";
    }
    return true;
  }

  bool show_faults(const std::vector<fault>& faults, const std::string& text, const test_case& test, bool& faulty) {
    if (shown_faults_.insert(render(faults, text)).second) screen_.show_faults(faults, text);
    details_ += fmt::format("  FAILED  {}: {}\n", test.name, counted(faults.size(), "fault"));
    faulty = true;
    return false;
  }

  bool conclude(const test_case& test, std::string_view variant, const test_result& result, clock::time_point start) {
    if (result.stopped) return true;  // the session ends
    if (result.passed) {
      if (screen_.verbose())
        details_ += fmt::format("  ok      {} ({}{:.0f} ms)\n", test.name, test.once ? "once, " : "",
                                1000 * seconds_since(start));
      return true;
    }
    details_ += fmt::format("  FAILED  {}{}, line {}\n", test.name, variant, test.position.line());
    for (const std::string& line : result.lines) details_ += "    " + line + "\n";
    return false;
  }

  void tell(const spec_file& spec, std::string_view verdict, std::string_view more) {
    std::string line = fmt::format("{:<{}}  {:<8}  {}", spec.path, width_, verdict, more);
    line.resize(line.find_last_not_of(' ') + 1);
    print_lines(line + "\n");
  }

  void summarise() {
    std::string out = num_failed_ > 0 || num_faulty_specs_ > 0
                          ? fmt::format("FAILED: {} of {}", num_failed_, counted(num_tests_, "test"))
                          : fmt::format("{} passed", counted(num_tests_, "test"));
    if (num_updated_ > 0) out += fmt::format(", {} updated", num_updated_);
    out += fmt::format(" in {} ({:.1f} s)", counted(num_specs_ - num_without_, "spec"), seconds_since(started_));
    if (num_faulty_specs_ > 0) out += fmt::format("; {} with faults", counted(num_faulty_specs_, "spec"));
    if (num_without_ > 0) out += fmt::format("; {} without tests", counted(num_without_, "spec"));
    if (!screen_.quiet() || num_failed_ > 0 || num_faulty_specs_ > 0) print_lines("\n" + out + "\n");
  }

  const test_arguments& arguments_;
  terminal& screen_;
  const std::string pattern_;
  const interrupts signals_;
  const clock::time_point started_ = clock::now();
  size_t width_ = 0;
  size_t num_specs_ = 0;
  size_t num_without_ = 0;
  size_t num_tests_ = 0;
  size_t num_failed_ = 0;
  size_t num_updated_ = 0;
  size_t num_faulty_specs_ = 0;
  std::string details_;                 // of the spec being tested
  std::set<std::string> shown_faults_;  // those of the job are the same in each of its tests
};

}  // namespace

int test(const test_arguments& arguments, terminal& screen) {
  remove_abandoned_directories();
  return test_session(arguments, screen).run();
}

}  // namespace flowrun::runner
