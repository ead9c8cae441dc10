// flowrun completion: scripts by which shells complete its command lines. They are made of the declared options, stand
// for themselves and call nothing.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/fault.h"
#include "operators/registry.h"
#include "runner/commands.h"
#include "runner/described_commands.h"
#include "runner/document.h"
#include "runner/option_values.h"
#include "runner/shown_text.h"
#include "runner/sort_help_text.h"

namespace flowrun::runner {

namespace {

using words = std::vector<std::string>;

words split(std::string text) {
  words out;
  while (!text.empty()) {
    const size_t end = std::min(text.find(", "), text.size());
    out.push_back(text.substr(0, end));
    text.erase(0, end + 2);
  }
  return out;
}

enum class value_kind { any, jobs, files, directories };

value_kind kind_of(const std::string& value) {
  if (value == "DIR" || value == "DIR[:LIMIT]") return value_kind::directories;
  if (value == "JOB.yaml") return value_kind::jobs;
  if (value == "PATH=VALUE" || value == "NAME=VALUE") return value_kind::any;
  if (value == "FILE" || value == "F" || value.starts_with("FILE.") || value == "PATH" || value == "ACTION")
    return value_kind::files;
  return value_kind::any;
}

// What stands where no option does.
value_kind argument_kind(const described_command& of) {
  static const std::set<std::string> of_jobs = {"run", "check", "plan", "graph", "test"};
  if (of_jobs.contains(of.name)) return value_kind::jobs;
  if (of.name == "sort") return value_kind::files;
  return of.arguments.empty() ? value_kind::any : kind_of(of.arguments.front().name);
}

// sort's own help is its declaration: "  -b, --ignore-leading-blanks   …".
std::vector<described_option> sort_options() {
  std::vector<described_option> out;
  std::string_view rest = sort_help;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const size_t start = line.find_first_not_of(' ');
    if (start == std::string_view::npos || start == 0 || line[start] != '-') continue;
    std::string_view part = line.substr(start);
    const size_t gap = part.find("  ");
    described_option option;
    option.help = gap == std::string_view::npos ? "" : part.substr(part.find_first_not_of(' ', gap));
    std::string names(part.substr(0, gap));
    for (std::string name : split(names)) {
      // --temporary-directory=DIR where to spill, used in parallel: one blank behind the value, and no names behind it
      const size_t blank = name.find(' ');
      if (blank != std::string::npos) option.help = names.substr(names.find(name) + blank + 1);
      name = name.substr(0, blank);
      const size_t equals = name.find('=');
      if (equals != std::string::npos) option.value = name.substr(equals + 1);
      option.names.push_back(name.substr(0, equals));
      if (blank != std::string::npos) break;
    }
    if (option.value == "WORD") option.choices = split(option.help);
    // -C, --check=quiet: the short one means the same, and takes no value
    if (option.value == "quiet") {
      described_option alone = option;
      alone.value.clear();
      alone.names.pop_back();
      out.push_back(std::move(alone));
      option.names.erase(option.names.begin(), option.names.end() - 1);
      option.choices = {option.value};
    }
    out.push_back(std::move(option));
  }
  return out;
}

words argument_choices(const described_command& of) {
  return of.arguments.empty() ? words{} : of.arguments.front().choices;
}

// The program's own options may stand behind a command, too; not behind sort.
std::vector<described_option> options_of(const described_command& command, const described_command& program) {
  std::vector<described_option> out = command.options;
  if (command.name == "sort") return out;
  for (const described_option& option : program.options)
    if (std::none_of(out.begin(), out.end(), [&](const auto& o) { return o.names.back() == option.names.back(); }))
      out.push_back(option);
  return out;
}

std::string pattern_of(const described_command& c) {
  return c.aliases.empty() ? c.name : c.name + "|" + joined(c.aliases, "|");
}

std::string bash_reply(value_kind kind, const words& choices) {
  if (!choices.empty()) return fmt::format("_flowrun_words {}", in_single_quotes(joined(choices, " ")));
  switch (kind) {
    case value_kind::jobs: return "_flowrun_files '*.yaml'";
    case value_kind::files: return "_flowrun_files '*'";
    case value_kind::directories: return "_flowrun_files ''";
    case value_kind::any: return "COMPREPLY=()";
  }
  return {};
}

std::string bash_script(const std::vector<described_command>& all) {
  const described_command& program = all.front();
  words names;
  for (const described_command& c : all)
    if (!c.name.empty()) names.push_back(c.name);
  std::string out = R"(# bash completion of flowrun. Made by `flowrun completion bash`.

_flowrun_words() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur"); }

# Files whose names match the pattern, and directories.
_flowrun_files() {
  compopt -o filenames 2> /dev/null
  mapfile -t COMPREPLY < <(compgen -d -- "$cur"; [ -z "$1" ] || compgen -f -X "!$1" -- "$cur")
  # Directories come twice where the pattern takes them, too.
  mapfile -t COMPREPLY < <(printf '%s\n' "${COMPREPLY[@]}" | sort -u)
  [ -n "${COMPREPLY[0]}" ] || COMPREPLY=()
}

_flowrun() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command= i
  # --format=dot is three words to bash.
  if [ "$cur" = = ]; then
    cur=
  elif [ "$prev" = = ] && [ "$COMP_CWORD" -gt 1 ]; then
    prev=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case ${COMP_WORDS[i]} in
      --color | --plugin)
        ((i++))
        if [ "${COMP_WORDS[i]}" = = ]; then ((i++)); fi
        ;;
      -*) ;;
      *)
        command=${COMP_WORDS[i]}
        break
        ;;
    esac
  done
)";
  out += fmt::format("  case $command in\n    '' | {}) ;;\n    *) command=run ;;\n  esac\n", [&] {
    words patterns;
    for (const described_command& c : all)
      if (!c.name.empty()) patterns.push_back(pattern_of(c));
    return joined(patterns, "|");
  }());
  out += "  case $command:$prev in\n";
  for (const described_command& c : all) {
    for (const described_option& option : options_of(c, program)) {
      if (option.value.empty() || option.value_may_be_left_out()) continue;
      words patterns;
      words commands = c.aliases;
      commands.insert(commands.begin(), c.name);
      for (const std::string& command : commands)
        for (const std::string& name : option.names) patterns.push_back(command + ":" + name);
      out += fmt::format("    {})\n      {}\n      return\n      ;;\n", joined(patterns, " | "),
                         bash_reply(kind_of(option.value), option.choices));
    }
  }
  out += "  esac\n  case $command in\n";
  for (const described_command& c : all) {
    words options;
    for (const described_option& option : options_of(c, program))
      options.insert(options.end(), option.names.begin(), option.names.end());
    out += fmt::format("    {})\n      if [[ $cur == -* ]]; then\n        _flowrun_words {}\n      else\n",
                       c.name.empty() ? "''" : pattern_of(c), in_single_quotes(joined(options, " ")));
    if (c.name.empty()) {
      out += fmt::format(
          "        _flowrun_files '*.yaml'\n        local files=(\"${{COMPREPLY[@]}}\")\n        "
          "_flowrun_words {}\n        COMPREPLY+=(\"${{files[@]}}\")\n",
          in_single_quotes(joined(names, " ")));
    } else {
      out += "        " + bash_reply(argument_kind(c), argument_choices(c)) + "\n";
    }
    out += "      fi\n      ;;\n";
  }
  return out + "  esac\n}\n\ncomplete -F _flowrun flowrun\n";
}

// For a description between [ and ] of _arguments.
std::string in_zsh(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_action(value_kind kind, const words& choices) {
  if (!choices.empty()) return "(" + joined(choices, " ") + ")";
  switch (kind) {
    case value_kind::jobs: return "_files -g \"*.yaml(-.)\"";
    case value_kind::files: return "_files";
    case value_kind::directories: return "_files -/";
    case value_kind::any: return " ";
  }
  return {};
}

std::string zsh_script(const std::vector<described_command>& all) {
  std::string out =
      "#compdef flowrun\n# zsh completion of flowrun. Made by `flowrun completion zsh`.\n\n_flowrun() {\n  local -a "
      "commands\n  commands=(\n";
  for (const described_command& c : all)
    if (!c.name.empty()) out += fmt::format("    {}\n", in_single_quotes(c.name + ":" + in_zsh(c.help)));
  out += R"(  )
  # The command, or a job, stands behind options of the program, of which some take a value.
  local -i at=2
  while (( at < CURRENT )); do
    case $words[at] in
      --color | --plugin) (( at += 2 )) ;;
      -*) (( at++ )) ;;
      *) break ;;
    esac
  done
  if (( at == CURRENT )) && [[ $words[CURRENT] != -* ]]; then
    _describe -t commands command commands
    _files -g '*.yaml(-.)'
    return
  fi
  local command=
  if (( at < CURRENT )); then
    command=$words[at]
    shift $(( at - 1 )) words
    (( CURRENT -= at - 1 ))
  fi
  case $command in
)";
  const auto add = [&](const described_command& c, const std::string& pattern) {
    out += fmt::format("    {})\n      _arguments -s", pattern);
    for (const described_option& option : options_of(c, all.front()))
      for (const std::string& name : option.names) {
        std::string spec = "*" + name;
        const bool in_its_word = option.value_may_be_left_out();
        if (!option.value.empty()) spec += in_its_word ? "=-" : name.starts_with("--") ? "=" : "+";
        spec += "[" + in_zsh(option.help) + "]";
        if (!option.value.empty())
          spec += (in_its_word ? "::" : ":") + in_zsh(option.value) + ":" +
                  zsh_action(kind_of(option.value), option.choices);
        out += " \\\n        " + in_single_quotes(spec);
      }
    const words choices = argument_choices(c);
    const std::string name = c.arguments.empty() ? "FILE" : c.arguments.front().name;
    if (c.name == "sort" || !c.arguments.empty())
      out += " \\\n        " + in_single_quotes("*:" + in_zsh(name) + ":" + zsh_action(argument_kind(c), choices));
    out += "\n      ;;\n";
  };
  add(all.front(), "''");
  const described_command* run = nullptr;
  for (const described_command& c : all) {
    if (c.name.empty()) continue;
    if (c.name == "run") run = &c;
    add(c, pattern_of(c));
  }
  if (run != nullptr) add(*run, "*");
  return out +
         "  esac\n}\n\nif [ \"$funcstack[1]\" = _flowrun ]; then\n  _flowrun \"$@\"\nelse\n  compdef _flowrun "
         "flowrun\nfi\n";
}

// In single quotes of fish, which knows \' and \\ in them.
std::string in_fish(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return "'" + out + "'";
}

std::string fish_values(value_kind kind, const words& choices) {
  if (!choices.empty()) return " -x -a " + in_fish(joined(choices, " "));
  switch (kind) {
    case value_kind::jobs: return " -x -a '(__flowrun_jobs)'";
    case value_kind::files: return " -r -F";
    case value_kind::directories: return " -x -a '(__flowrun_directories)'";
    case value_kind::any: return " -x";
  }
  return {};
}

std::string fish_script(const std::vector<described_command>& all) {
  words names;
  for (const described_command& c : all) {
    if (!c.name.empty()) names.push_back(c.name);
    names.insert(names.end(), c.aliases.begin(), c.aliases.end());
  }
  std::string out = fmt::format(R"(# fish completion of flowrun. Made by `flowrun completion fish`.

# Whether the command is one of these words; nothing: none is there yet. It, or a job, which run takes, stands behind
# options of the program, of which some take a value.
function __flowrun_command
    set -l words (commandline -poc)
    set -e words[1]
    set -l skip 0
    for word in $words
        if test $skip = 1
            set skip 0
            continue
        end
        switch $word
            case --color --plugin
                set skip 1
            case '-*'
            case {}
                contains -- $word $argv
                return
            case '*'
                contains -- run $argv
                return
        end
    end
    test (count $argv) = 0
end

# The word that is completed, or what is there of an option's value.
function __flowrun_word
    commandline -ct | string replace -r '^--[^=]*=' ''
end

function __flowrun_jobs
    set -l word (__flowrun_word)
    __fish_complete_suffix "$word" .yaml
end

function __flowrun_directories
    set -l word (__flowrun_word)
    __fish_complete_directories "$word"
end

complete -c flowrun -f
)",
                                joined(names, " "));
  out += "complete -c flowrun -n __flowrun_command -a '(__flowrun_jobs)'\n";
  for (const described_command& c : all) {
    const std::string when =
        c.name.empty()
            ? "__flowrun_command"
            : in_fish("__flowrun_command " + c.name + (c.aliases.empty() ? "" : " ") + joined(c.aliases, " "));
    if (!c.name.empty())
      out += fmt::format("complete -c flowrun -n __flowrun_command -a {} -d {}\n", c.name, in_fish(c.help));
    for (const described_option& option : options_of(c, all.front())) {
      out += "complete -c flowrun -n " + when;
      for (const std::string& name : option.names)
        out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      if (!option.value.empty() && !option.value_may_be_left_out())
        out += fish_values(kind_of(option.value), option.choices);
      out += " -d " + in_fish(option.help) + "\n";
    }
    if (c.name.empty() || (c.arguments.empty() && c.name != "sort")) continue;
    const words choices = argument_choices(c);
    const value_kind kind = argument_kind(c);
    if (!choices.empty() || kind != value_kind::any)
      out += fmt::format("complete -c flowrun -n {}{}\n", when,
                         kind == value_kind::files && choices.empty() ? " -F" : fish_values(kind, choices).substr(3));
  }
  return out;
}

using script_maker = std::string (*)(const std::vector<described_command>&);

const choices<script_maker>& shells() {
  static const choices<script_maker> all = {{"bash", bash_script}, {"zsh", zsh_script}, {"fish", fish_script}};
  return all;
}

// As described_commands(), with the words that come from elsewhere than the declared options.
std::vector<described_command> commands_for_shells() {
  std::vector<described_command> out = described_commands();
  words names;
  for (const described_command& c : out)
    if (!c.name.empty()) names.push_back(c.name);
  for (described_command& c : out) {
    if (c.name == "sort") c.options = sort_options();
    if (c.name == "completion") c.arguments.front().choices = names_of(shells());
    if (c.name == "man") c.arguments.front().choices = names;
    if (c.name == "ops") {
      c.arguments.front().choices = operators::built_in_vocabulary().names();
      c.arguments.front().choices.emplace_back("expressions");
    }
  }
  return out;
}

}  // namespace

std::string completion_script(const std::string& shell) {
  for (const auto& [name, script] : shells())
    if (name == shell) return script(commands_for_shells());
  throw error(error_kind::usage, shell.empty() ? "completion needs a SHELL" : "there is no completion for " + shell,
              joined(names_of(shells()), ", "));
}

int show_completion(const document_arguments& arguments) {
  pending_document(arguments.output).write(completion_script(arguments.name));
  return 0;
}

}  // namespace flowrun::runner
