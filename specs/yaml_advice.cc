#include "specs/yaml_advice.h"

#include <yaml-cpp/exceptions.h>

#include <array>

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
           "put text that begins with @, ` or % in quotes"},
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
  if ((flow_map || flow_list) && at_end && progress.open_bracket) {
    const std::optional<size_t> bracket =
        source.offset_of(progress.open_bracket->line(), progress.open_bracket->column());
    const bool map = bracket && *bracket < text.size() && text[*bracket] == '{';
    faults.add(*progress.open_bracket, map ? "this '{' is never closed" : "this '[' is never closed",
               map ? "'}'" : "']'");
    return;
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
                 flow_map ? "',' or '}'" : "',' or ']'", "put text that holds any of [ ] { } , in quotes");
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
