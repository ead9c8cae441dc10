// flowrun man: manual pages, made of the declared commands and options.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "engine/base/error.h"
#include "engine/base/fault.h"
#include "runner/commands.h"
#include "runner/described_commands.h"
#include "runner/document.h"
#include "runner/exit_codes.h"
#include "runner/help_texts.h"
#include "runner/sort_help_text.h"
#include "runner/version.h"

namespace flowrun::runner {

namespace {

// Text as roff prints it: a hyphen is a minus that can be copied, and no line is a request.
std::string in_roff(std::string_view text) {
  std::string out;
  bool begins = true;
  for (char c : text) {
    if (begins && (c == '.' || c == '\'')) out += "\\&";
    begins = c == '\n';
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else if (c == '`')
      out += "\\(ga";
    else if (c == '^')
      out += "\\(ha";
    else if (c == '~')
      out += "\\(ti";
    else if (c == '\'')
      out += "\\(aq";
    else
      out += c;
  }
  return out;
}

// As it stands, line by line.
std::string as_it_is(std::string_view text) {
  std::string out = ".nf\n" + in_roff(text);
  if (!out.ends_with('\n')) out += '\n';
  return out + ".fi\n";
}

std::string upper(std::string text) {
  for (char& c : text)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return text;
}

std::string heading(const std::string& page, const std::string& help) {
  return fmt::format(
      ".\\\" Made by flowrun man.\n.TH {} 1 \"\" \"flowrun {}\" \"User Commands\"\n.SH NAME\n{} \\- {}\n",
      in_roff(upper(page)), version, in_roff(page), in_roff(help.substr(0, help.find_last_not_of('.') + 1)));
}

std::string options_text(const described_command& of) {
  std::string out, group;
  for (const described_option& option : of.options) {
    if (option.group != group && option.group != "Options") out += fmt::format(".SS \"{}\"\n", in_roff(option.group));
    group = option.group;
    std::string names;
    for (const std::string& name : option.names) names += (names.empty() ? "\\fB" : ", \\fB") + in_roff(name) + "\\fR";
    if (!option.value.empty()) names += " \\fI" + in_roff(option.value) + "\\fR";
    out += ".TP\n" + names + "\n" + in_roff(option.help) + "\n";
  }
  return out;
}

std::string program_page(const std::vector<described_command>& all) {
  const std::string_view text = introduction;
  const size_t end = text.find("\n\n");
  std::string out = heading("flowrun", "runs dataflow jobs over data far larger than memory") +
                    ".SH SYNOPSIS\n.B flowrun\n.RI [ COMMAND ]\n.RI [ OPTION ]...\n.RI [ ARGUMENT ]...\n"
                    ".SH DESCRIPTION\n" +
                    in_roff(text.substr(0, end)) + "\n.PP\n" + as_it_is(text.substr(end + 2)) + ".SH COMMANDS\n";
  for (const described_command& c : all)
    if (!c.name.empty()) out += fmt::format(".TP\n.BR {} (1)\n{}\n", in_roff("flowrun-" + c.name), in_roff(c.help));
  out +=
      ".SH OPTIONS\nThey may stand in front of a command, and behind every one but sort.\n" + options_text(all.front());
  out +=
      ".SH EXIT STATUS\nThey are explained by \\fBflowrun explain\\fR \\fINUMBER\\fR.\n" + as_it_is(exit_code_list());
  out +=
      ".SH ENVIRONMENT\n.TP\n.B FLOWRUN_PLUGIN_PATH\nDirectories of plugins, with colons between them.\n"
      ".TP\n.B NO_COLOR\nMessages without colours.\n"
      ".SH FILES\n.TP\n.I \\(ti/.config/flowrun/config.yaml\nThe configuration of this machine for one user, else\n"
      ".IR /etc/flowrun.yaml .\n"
      ".TP\n.I \\(ti/.cache/flowrun\nWhere jobs spill, unless they or the configuration name other directories.\n";
  return out;
}

std::string command_page(const described_command& of) {
  const std::string page = "flowrun-" + of.name;
  std::string out = heading(page, of.help) + ".SH SYNOPSIS\n.B flowrun " + in_roff(of.name) + "\n.RI [ OPTION ]...\n";
  for (const described_argument& argument : of.arguments) out += fmt::format(".RI [ {} ]...\n", in_roff(argument.name));
  if (of.name == "sort")
    return out + ".RI [ FILE ]...\n.SH DESCRIPTION\n" + as_it_is(sort_help) +
           ".SH SEE ALSO\n.BR flowrun (1),\n.BR sort (1)\n";
  out += ".SH DESCRIPTION\n" + in_roff(of.help) + "\n";
  for (const described_argument& argument : of.arguments)
    out += fmt::format(".TP\n.I {}\n{}\n", in_roff(argument.name), in_roff(argument.help));
  if (!of.options.empty()) out += ".SH OPTIONS\n" + options_text(of);
  out += fmt::format(".PP\nThe options of\n.BR flowrun (1)\nmay stand here, too.\n");
  if (!of.notes.empty()) out += ".SH NOTES\n" + as_it_is(of.notes);
  return out + ".SH SEE ALSO\n.BR flowrun (1)\n";
}

const described_command& find(const std::vector<described_command>& all, const std::string& name) {
  std::vector<std::string> names;
  for (const described_command& c : all) {
    if (c.name == name || std::find(c.aliases.begin(), c.aliases.end(), name) != c.aliases.end()) return c;
    names.push_back(c.name);
  }
  const std::string meant = did_you_mean(name, names);
  throw error(error_kind::usage, "there is no command '" + name + "'",
              meant.empty() ? "flowrun --help lists the commands" : meant);
}

}  // namespace

std::string manual_page(const std::string& command) {
  const std::vector<described_command> all = described_commands();
  return command.empty() ? program_page(all) : command_page(find(all, command));
}

int show_manual(const document_arguments& arguments) {
  if (arguments.directory.empty()) {
    pending_document(arguments.output).write(manual_page(arguments.name));
    return 0;
  }
  if (!arguments.name.empty())
    throw error(error_kind::usage, "--all writes every page: a COMMAND has no place beside it",
                "leave one of them out");
  std::error_code problem;
  std::filesystem::create_directories(arguments.directory, problem);  // if it fails, so does the first page
  for (const described_command& c : described_commands())
    pending_document(arguments.directory + "/flowrun" + (c.name.empty() ? "" : "-" + c.name) + ".1")
        .write(manual_page(c.name));
  return 0;
}

}  // namespace flowrun::runner
