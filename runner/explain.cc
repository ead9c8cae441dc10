// flowrun explain: exit codes, words of this language and of others, metrics, and messages.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <csignal>

#include "engine/base/error.h"
#include "engine/base/fault.h"
#include "engine/metrics/names.h"
#include "engine/plan/known_elsewhere.h"
#include "engine/plan/reference.h"
#include "runner/commands.h"
#include "runner/document.h"
#include "runner/exit_codes.h"
#include "runner/known_messages.h"
#include "runner/words.h"

namespace flowrun::runner {

namespace {

bool is_crash(int signal) {
  return signal == SIGILL || signal == SIGABRT || signal == SIGBUS || signal == SIGFPE || signal == SIGSEGV;
}

void explain_exit_code(const std::string& text) {
  int number = -1;
  std::from_chars(text.data(), text.data() + text.size(), number);
  const exit_code* code = find_exit_code(number);
  if (number == 137) {
    print(
        "exit code 137: killed (128 + 9, as a shell shows it)\n\n"
        "causes   kill -9; the system, when memory ran out; a limit of the container or of the service\n"
        "to do    start it again, with a smaller -m where memory ran out; with --resume it goes on from what is "
        "finished\n");
    return;
  }
  if (number > 128 && is_crash(number - 128)) {
    print(fmt::format(
        "exit code {}: crashed (128 + {}, as a shell shows it)\n\n"
        "causes   a bug, mostly in a plugin: then the last line on standard error names the plugin and the node\n"
        "to do    flowrun plugins check PLUGIN tries one hard; report others with the job\n",
        number, number - 128));
    return;
  }
  if (code == nullptr)
    throw error(error_kind::usage, "flowrun has no exit code " + text,
                number > 128 && number < 193
                    ? fmt::format("a shell shows 128 + N where signal N ended a process: {}", number - 128)
                    : "flowrun explain lists them");
  print(fmt::format("exit code {}: {}\n\ncauses   {}\nto do    {}\n", code->number, code->meaning, code->causes,
                    code->remedy));
}

// The lines of the list of metrics about `name`.
std::string metric_lines(const std::string& name) {
  std::string out, rest = metrics::list_metrics();
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size() - 1) + 1;
    const std::string line = rest.substr(0, end);
    if (line.substr(0, line.find_first_of("{ \n")) == name) out += line;
    rest.erase(0, end);
  }
  return out;
}

// What does the work here of a word that other languages have.
std::string of_other_languages(const std::string& word) {
  std::string out;
  for (plan::word_elsewhere& meaning : plan::meanings_elsewhere(word)) {
    std::string& advice = meaning.advice;
    if (advice[0] >= 'a' && advice[0] <= 'z') advice[0] = static_cast<char>(advice[0] - 'a' + 'A');
    out += fmt::format("'{}' is no {} of Flowrun. {}\n", word, meaning.kind, advice);
  }
  return out;
}

}  // namespace

int explain(const std::vector<std::string>& asked) {
  const std::string text = joined(asked, " ");
  if (text.empty()) {
    print("exit codes (flowrun explain 75 says more)\n\n" + exit_code_list() +
          "\nflowrun explain NAME: an operator, a parameter, a key of a job, a function, a metric, a word of SQL or "
          "pandas; or a piece of a message, \"unknown column\"\n");
    return 0;
  }
  if (text.find_first_not_of("0123456789") == std::string::npos) {
    explain_exit_code(text);
    return 0;
  }
  if (const std::string lines = metric_lines(text); !lines.empty()) {
    print("a metric, of --metrics-listen and --metrics-file (name and labels, kind, meaning):\n\n" + lines);
    return 0;
  }
  const bool is_word = show_word(text);
  std::string out = plan::key_text(known_vocabulary(), text);  // a word may be the name of a parameter, too
  if (is_word && !out.empty()) out.insert(0, "\n");
  if (!is_word)
    if (const std::string others = of_other_languages(text); !others.empty()) out += (out.empty() ? "" : "\n") + others;
  if (is_word || !out.empty()) {
    print(out);
    return 0;
  }
  for (const known_message& m : messages_like(text))
    out += fmt::format("{}… {} …\n\ncause    {}\nto do    {}\n", out.empty() ? "" : "\n", m.phrase, m.cause, m.remedy);
  if (!out.empty()) {
    print(out);
    return 0;
  }
  std::vector<std::string> words = known_vocabulary().names();
  for (std::string& name : plan::key_names(known_vocabulary())) words.push_back(std::move(name));
  for (const metrics::metric_declaration& d : metrics::declarations) words.emplace_back(d.name);
  const std::string meant = did_you_mean(text, words);
  throw error(
      error_kind::usage, "nothing is known about '" + text + "'",
      meant.empty()
          ? "give an exit code, an operator, a parameter, a key of a job, a function, a metric, or a piece of a message"
          : meant);
}

}  // namespace flowrun::runner
