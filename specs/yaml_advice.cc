#include "specs/yaml_advice.h"

#include <yaml-cpp/exceptions.h>

#include <algorithm>
#include <array>
#include <vector>

#include "specs/grammar.h"
#include "specs/value.h"
#include "specs/yaml_quoting.h"

namespace flowrun::specs {

namespace {

constexpr std::string_view breaks_words = ",[]{}\"'\n";

struct cut {
  std::string word;  // empty when the bracket doesn't touch a word
  size_t begin = 0;
};

// The word that a bracket cut in two: bytes[10] for the place of its '['.
cut cut_word(std::string_view text, size_t bracket) {
  if (bracket >= text.size() || (text[bracket] != '[' && text[bracket] != '{')) return {};
  size_t begin = bracket;
  while (begin > 0 && text[begin - 1] != ' ' && breaks_words.find(text[begin - 1]) == std::string_view::npos) --begin;
  if (begin == bracket) return {};
  const size_t close = text.find_first_of(text[bracket] == '[' ? "]\n" : "}\n", bracket);
  if (close == std::string_view::npos || text[close] == '\n') return {};
  size_t end = close + 1;
  while (end < text.size() && text[end] != ' ' && breaks_words.find(text[end]) == std::string_view::npos) ++end;
  return {quotable(text.substr(begin, end - begin)), begin};
}

// "by:[x]" inside of {…}.
bool is_key_without_blank(std::string_view word) {
  const size_t bracket = word.find_first_of("[{");
  return bracket != std::string_view::npos && bracket > 1 && word[bracket - 1] == ':' &&
         is_id(word.substr(0, bracket - 1));
}

// "op:sort", where YAML takes a word for text and not for a key, since no blank follows the colon. yaml-cpp notices in
// the lines below. Looks at the line above the one with `offset`, and passes over empty lines and comments.
cut key_without_blank(std::string_view text, size_t offset) {
  size_t end = text.rfind('\n', offset == 0 ? 0 : offset - 1);
  while (end != std::string_view::npos && end > 0) {
    const size_t line_break = text.rfind('\n', end - 1);
    const size_t line_begin = line_break == std::string_view::npos ? 0 : line_break + 1;
    const std::string_view line = text.substr(line_begin, end - line_begin);
    size_t begin = line.find_first_not_of(' ');
    while (begin != std::string_view::npos && line.substr(begin).starts_with("- "))
      begin = line.find_first_not_of(' ', begin + 1);
    if (begin == std::string_view::npos || line[begin] == '#') {
      end = line_break;
      continue;
    }
    const size_t colon = line.find(':', begin);
    const bool is_key = colon != std::string_view::npos && is_id(line.substr(begin, colon - begin));
    // https://… is no key, and what has a key in front is another slip.
    const bool has_blank = is_key && (colon + 1 == line.size() || line[colon + 1] == ' ');
    if (!is_key || has_blank || line.substr(colon).starts_with("://")) return {};
    return {quotable(line.substr(begin, line.find_last_not_of(' ') + 1 - begin)), line_begin + begin};
  }
  return {};
}

std::string_view line_of(std::string_view text, size_t offset) {
  const size_t line_break = offset == 0 ? std::string_view::npos : text.rfind('\n', offset - 1);
  const size_t begin = line_break == std::string_view::npos ? 0 : line_break + 1;
  return text.substr(begin, text.find('\n', begin) - begin);
}
size_t indentation_of(std::string_view line) { return std::min(line.find_first_not_of(' '), line.size()); }

// The line with `offset` begins a key, and the line above it, which has a value, is indented less.
bool is_indented_under_a_value(std::string_view text, size_t offset) {
  const std::string_view line = line_of(text, offset);
  const auto begin = static_cast<size_t>(line.data() - text.data());
  if (begin == 0 || indentation_of(line) == line.size()) return false;
  const std::string_view above = line_of(text, begin - 1);
  const size_t colon = above.find(": ", indentation_of(above));
  const bool has_value = colon != std::string_view::npos &&
                         is_id(above.substr(indentation_of(above), colon - indentation_of(above))) &&
                         above.find_first_not_of(' ', colon + 1) != std::string_view::npos;
  const size_t key_end = line.find(':', indentation_of(line));
  return has_value && indentation_of(line) > indentation_of(above) && key_end != std::string_view::npos &&
         is_id(line.substr(indentation_of(line), key_end - indentation_of(line)));
}

// A new key in a line of its own, indented no more than the line in which the bracket was opened.
bool begins_behind_open_bracket(std::string_view text, size_t offset, size_t bracket) {
  const std::string_view line = line_of(text, offset), opening = line_of(text, bracket);
  const size_t begin = indentation_of(line);
  return line.data() > opening.data() && text.data() + offset == line.data() + begin &&
         begin <= indentation_of(opening);
}

// The bracket that is open at `offset` in its line; nothing: none is. Texts in quotes are passed over.
std::optional<size_t> open_bracket_in_line(std::string_view text, size_t offset) {
  std::vector<size_t> open;
  for (size_t at = static_cast<size_t>(line_of(text, offset).data() - text.data()); at < offset; ++at) {
    const char c = text[at];
    const bool begins = at > 0 && (text[at - 1] == ' ' || breaks_words.find(text[at - 1]) != std::string_view::npos);
    if ((c == '"' || c == '\'') && begins) {
      at = text.find(c, at + 1);
      if (at == std::string_view::npos) return std::nullopt;
    } else if (c == '[' || c == '{') {
      open.push_back(at);
    } else if ((c == ']' || c == '}') && !open.empty()) {
      open.pop_back();
    }
  }
  return open.empty() ? std::nullopt : std::optional(open.back());
}

void report_open(const Position& bracket, std::string_view text, std::optional<size_t> at, fault_sink& faults) {
  const bool map = at && text[*at] == '{';
  const std::string_view line = at ? text.substr(*at, text.find('\n', *at) - *at) : std::string_view();
  faults.add(
      bracket, map ? "this '{' is never closed" : "this '[' is never closed", map ? "'}'" : "']'",
      line.find(" #") != std::string_view::npos ? "a ' #' begins a comment: put text that has one in quotes" : "");
}

struct advice {
  std::string_view yaml_cpp;  // how the message of yaml-cpp starts
  std::string_view message;
  std::string_view expected;
  std::string_view hint;
};

const std::array advices = {
    advice{YAML::ErrorMsg::END_OF_MAP, "this does not continue the map above", "key: value",
           "check the indentation, and the ': ' after the key"},
    advice{YAML::ErrorMsg::END_OF_SEQ, "this does not continue the list above", "- value", "check the indentation"},
    advice{YAML::ErrorMsg::MAP_VALUE, "a ':' where no value can begin", "one 'key: value' a line",
           "put text that holds ': ' in quotes"},
    advice{YAML::ErrorMsg::MAP_KEY, "a key where none can begin", "", "check the indentation"},
    advice{YAML::ErrorMsg::BLOCK_ENTRY, "a '-' where no list can begin", "",
           "put a list below its key, or write [a, b]"},
    advice{YAML::ErrorMsg::FLOW_END, "a closing bracket without an opening one", "",
           "put text that holds brackets in quotes"},
    advice{YAML::ErrorMsg::UNKNOWN_ANCHOR, "an alias (*name) of an anchor that is not defined above it", "&name first",
           "put text that begins with '*' in quotes"},
    advice{YAML::ErrorMsg::ALIAS_NOT_FOUND, "'*' begins an alias, and no name follows", "",
           "put text that begins with '*' in quotes"},
    advice{YAML::ErrorMsg::CHAR_IN_ALIAS, "'*' begins an alias, and what follows is no name", "",
           "put text that begins with '*' in quotes"},
    advice{YAML::ErrorMsg::ANCHOR_NOT_FOUND, "'&' begins an anchor, and no name follows", "",
           "put text that begins with '&' in quotes"},
    advice{YAML::ErrorMsg::CHAR_IN_ANCHOR, "'&' begins an anchor, and what follows is no name", "",
           "put text that begins with '&' in quotes"},
    advice{YAML::ErrorMsg::MULTIPLE_ANCHORS, "two anchors for one value", "one &name",
           "put text that begins with '&' in quotes"},
    advice{YAML::ErrorMsg::MULTIPLE_TAGS, "'!' begins a tag, and tags are not part of the job language",
           "a plain value", "put text that begins with '!' in quotes"},
    advice{YAML::ErrorMsg::TAG_WITH_NO_SUFFIX, "'!' begins a tag, and tags are not part of the job language",
           "a plain value", "put text that begins with '!' in quotes"},
    advice{YAML::ErrorMsg::END_OF_VERBATIM_TAG, "'!' begins a tag, and tags are not part of the job language",
           "a plain value", "put text that begins with '!' in quotes"},
    advice{YAML::ErrorMsg::CHAR_IN_TAG_HANDLE, "'!' begins a tag, and tags are not part of the job language",
           "a plain value", "put text that begins with '!' in quotes"},
    advice{YAML::ErrorMsg::CHAR_IN_BLOCK, "text behind a '|' or '>'", "the text in the lines below",
           "put text that begins with '|' or '>' in quotes"},
    advice{YAML::ErrorMsg::INVALID_HEX, "an escape that is not hexadecimal", "\\x and two digits, \\u and four", ""},
    advice{YAML::ErrorMsg::TAB_IN_INDENTATION, "a tab in the indentation", "spaces", "YAML indents by spaces only"},
    advice{YAML::ErrorMsg::DOC_IN_SCALAR, "text in quotes that runs into '---' or '...'", "a closing quote before it",
           ""},
    advice{YAML::ErrorMsg::INVALID_ESCAPE, "an unknown escape after '\\'", "",
           "in single quotes a backslash is an ordinary character"},
    advice{YAML::ErrorMsg::UNKNOWN_TOKEN, "a character that can't begin text", "",
           "put text that begins with @, `, %, | or ? in quotes"},
    advice{YAML::ErrorMsg::BAD_FILE, "nested too deeply", "", ""},
};

}  // namespace

void report_yaml_error(std::string_view message, const yaml_progress& progress, const source_text& source,
                       fault_sink& faults) {
  constexpr size_t unknown = std::string_view::npos;
  const std::string_view text = source.text();
  const std::optional<Position>& at = progress.at;
  const size_t last = text.find_last_not_of(" \n");
  const size_t offset = at ? source.offset_of(at->line(), at->column()).value_or(unknown) : unknown;
  const bool at_end = at && (offset == unknown || last == unknown || offset > last);
  const bool flow_map = message.starts_with(YAML::ErrorMsg::END_OF_MAP_FLOW);
  const bool flow_list = message.starts_with(YAML::ErrorMsg::END_OF_SEQ_FLOW);
  if ((flow_map || flow_list) && progress.open_bracket) {
    const std::optional<size_t> bracket =
        source.offset_of(progress.open_bracket->line(), progress.open_bracket->column());
    const bool is_known = bracket && *bracket < text.size();
    if (at_end || (is_known && offset != unknown && begins_behind_open_bracket(text, offset, *bracket)))
      return report_open(*progress.open_bracket, text, is_known ? bracket : std::nullopt, faults);
  }
  if (message.starts_with(YAML::ErrorMsg::FLOW_END) && offset < text.size()) {
    const std::optional<size_t> open = open_bracket_in_line(text, offset);
    if (open && (text[*open] == '[') != (text[offset] == ']'))
      return report_open(source.position_of(*open), text, open, faults);
  }
  if (message.starts_with(YAML::ErrorMsg::EOF_IN_SCALAR)) {
    faults.add(progress.last.line() > 0 ? progress.last : source.position_of(0),
               "text in quotes begins after this and never ends", "a closing quote");
    return;
  }
  Position position = at.value_or(source.position_of(0));
  if (at_end && last != unknown && position.origin().empty()) position = source.position_of(last);
  const bool in_block =
      message.starts_with(YAML::ErrorMsg::END_OF_MAP) || message.starts_with(YAML::ErrorMsg::MAP_VALUE);
  if (in_block && offset != unknown) {
    if (const cut found = key_without_blank(text, offset); !found.word.empty()) {
      if (position.origin().empty()) position = source.position_of(found.begin);
      report_missing_blank(position, found.word, faults);
      return;
    }
  }
  if (message.starts_with(YAML::ErrorMsg::MAP_VALUE) && offset < text.size() &&
      is_indented_under_a_value(text, offset)) {
    faults.add(position, "this line is indented more than the one above it, which has a value already",
               "one 'key: value' a line", "indent it as the key above");
    return;
  }
  if ((flow_map || flow_list || in_block) && !at_end && cut_word(text, offset).word.empty()) {
    if (std::optional<quoting_fault> found = quoting_fault_at(text, offset, flow_map || flow_list)) {
      faults.add(position, std::move(found->message), "text in quotes", std::move(found->hint));
      return;
    }
  }
  // In "…" of an expression that has no quotes around it, YAML knows no escape such as \d either.
  const bool in_flow = flow_map || flow_list || message.starts_with(YAML::ErrorMsg::INVALID_ESCAPE);
  if (in_flow && !at_end) {
    if (std::optional<std::string> hint = advice_on_expression(text, offset)) {
      faults.add(position, "an expression without quotes: inside {…} and […] it ends at '[', '{', '}' and ','",
                 "text in quotes", std::move(*hint));
      return;
    }
  }
  if (flow_map || flow_list) {
    const cut found = cut_word(text, offset);
    if (found.word.empty()) {
      faults.add(position, std::string("this does not continue the ") + (flow_map ? "map in {…}" : "list in […]"),
                 flow_map ? "',' or '}'" : "',' or ']'", "put text that holds any of [ ] { } , ? in quotes");
      return;
    }
    if (position.origin().empty()) position = source.position_of(found.begin);
    if (is_key_without_blank(found.word))
      report_missing_blank(position, found.word, faults);
    else
      faults.add(position,
                 "'" + found.word + "' needs quotes here: inside {…} and […] a plain word ends at '[', '{' and ','",
                 "text in quotes", "write \"" + found.word + "\", with the quotes around all of the text");
    return;
  }
  for (const advice& known : advices) {
    if (!message.starts_with(known.yaml_cpp)) continue;
    faults.add(position, std::string(known.message), std::string(known.expected), std::string(known.hint));
    return;
  }
  faults.add(position, "not YAML: " + quotable(message));
}

}  // namespace flowrun::specs
