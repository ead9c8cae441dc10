#include "specs/yaml_edit.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "specs/yaml_writer.h"

namespace flowrun::specs {

namespace {

constexpr std::string_view unsure = "where it ends can't be told for sure";

// What some reader of YAML takes for something other than text.
bool looks_typed(std::string_view text) {
  constexpr std::string_view words[] = {"null", "~", "true", "false", "yes", "no", "on", "off", "y", "n"};
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return to_double(text) || to_int(text) || looks_octal(text) ||
         std::find(std::begin(words), std::end(words), lower) != std::end(words) ||
         (text.find_first_of("0123456789") != std::string_view::npos &&
          text.find_first_not_of("0123456789-+.:_eExXoTZ") == std::string_view::npos);
}

std::string indented(std::string_view text, std::string_view indent) {
  std::string out;
  for (const char c : text) {
    out += c;
    if (c == '\n') out += indent;
  }
  return out;
}

}  // namespace

size_t yaml_edit::begin_of(const Value& v) const {
  const auto offset =
      v.position().origin().empty() ? source_.offset_of(v.position().line(), v.position().column()) : std::nullopt;
  if (!offset || *offset >= text_.size() || is_null(v)) refuse(v, std::string(unsure));
  if (text_[*offset] == '&') refuse(v, "it has an anchor, or is an alias of a value that has one");
  return *offset;
}

void yaml_edit::expect_own(const Value& v, bool within) const {
  if (!is_null(v)) (void)begin_of(v);
  if (!within) return;
  for (const Entry& entry : v.map().entries()) expect_own(entry.value(), true);
  for (const Value& item : v.list().items()) expect_own(item, true);
}

bool yaml_edit::is_flow(const Value& v) const {
  const char first = text_[begin_of(v)];
  return first == '[' || first == '{';
}

// --- where values end ---

size_t yaml_edit::end_of(const Value& v, size_t indent, bool in_flow) const {
  const size_t begin = begin_of(v);
  const char first = text_[begin];
  if (is_scalar(v)) {
    if (!v.scalar().quoted()) return end_of_plain(v, begin);
    return first == '|' || first == '>' ? end_of_text_block(v, begin, indent) : end_of_quoted(v, begin);
  }
  if (first == (is_list(v) ? '[' : '{')) return end_of_flow(v, indent, begin);
  if (in_flow) refuse(v, std::string(unsure));  // [a: 1]
  const std::vector<member> members = members_of(v, indent, false);
  if (members.empty()) refuse(v, std::string(unsure));
  return members.back().end;
}

size_t yaml_edit::end_of_quoted(const Value& v, size_t begin) const {
  const char quote = text_[begin];
  if (quote != '"' && quote != '\'') refuse(v, std::string(unsure));
  for (size_t at = begin + 1; at < text_.size(); ++at) {
    if (quote == '"' && text_[at] == '\\') {
      ++at;
    } else if (text_[at] == quote) {
      if (quote == '"' || at + 1 == text_.size() || text_[at + 1] != '\'') return at + 1;
      ++at;
    }
  }
  refuse(v, std::string(unsure));
}

// Its characters stand there as they are; only lines are folded.
size_t yaml_edit::end_of_plain(const Value& v, size_t begin) const {
  const std::string& content = text(v);
  size_t at = begin;
  for (size_t i = 0; i < content.size();) {
    size_t next = at;
    while (next < text_.size() && text_[next] == ' ') ++next;
    if (next < text_.size() && text_[next] == '\n') {
      size_t num_ends = 0;
      for (; next < text_.size() && (text_[next] == ' ' || text_[next] == '\n'); ++next)
        num_ends += text_[next] == '\n' ? 1 : 0;
      const std::string fold = num_ends == 1 ? " " : std::string(num_ends - 1, '\n');
      if (content.compare(i, fold.size(), fold) != 0) refuse(v, std::string(unsure));
      i += fold.size();
      at = next;
    } else {
      if (at >= text_.size() || text_[at] != content[i]) refuse(v, std::string(unsure));
      ++at;
      ++i;
    }
  }
  return at;
}

size_t yaml_edit::end_of_text_block(const Value& v, size_t begin, size_t indent) const {
  size_t end = line_end(begin);
  if (text_.substr(begin, end - begin).find_first_of("0123456789#") != std::string_view::npos)
    refuse(v, std::string(unsure));
  while (end < text_.size()) {
    const size_t next_end = line_end(end + 1);
    const std::string_view line = text_.substr(end + 1, next_end - end - 1);
    const size_t blanks = std::min(line.find_first_not_of(' '), line.size());
    if (blanks < line.size() && blanks <= indent) break;
    if (blanks == line.size() && next_end >= text_.size()) break;
    end = next_end;
  }
  // Empty lines behind it are its own only if it says so.
  if (text_.substr(begin, 2) != "|+" && text_.substr(begin, 2) != ">+")
    while (end > line_end(begin) && line_begin(end) < text_.size() &&
           text_.substr(line_begin(end), end - line_begin(end)).find_first_not_of(' ') == std::string_view::npos)
      end = line_begin(end) - 1;
  return end;
}

size_t yaml_edit::end_of_flow(const Value& v, size_t indent, size_t begin) const {
  const std::vector<member> members = members_of(v, indent, true);
  size_t at = members.empty() ? begin + 1 : members.back().end;
  while (at < text_.size()) {
    const char c = text_[at];
    if (c == '#' && at > 0 && (text_[at - 1] == ' ' || text_[at - 1] == '\n' || text_[at - 1] == ','))
      at = line_end(at);
    else if (c == ' ' || c == '\n' || c == '\t' || c == ',')
      ++at;
    else
      break;
  }
  if (at >= text_.size() || text_[at] != (is_list(v) ? ']' : '}')) refuse(v, std::string(unsure));
  return at + 1;
}

// Items without their comma; of a block, with their dash.
std::vector<yaml_edit::member> yaml_edit::members_of(const Value& v, size_t indent, bool in_flow) const {
  std::vector<member> out;
  for (const Entry& entry : v.map().entries()) {
    const auto key = source_.offset_of(entry.key_position().line(), entry.key_position().column());
    if (!key) refuse(v, std::string(unsure));
    out.push_back(member{*key, end_of(entry.value(), in_flow ? indent : indent_of(entry), in_flow)});
  }
  const size_t own = in_flow ? indent : static_cast<size_t>(v.position().column() - 1);
  for (const Value& item : v.list().items()) {
    size_t begin = begin_of(item);
    const size_t end = end_of(item, own, in_flow);
    if (!in_flow) {
      while (begin > 0 && (text_[begin - 1] == ' ' || text_[begin - 1] == '\n')) --begin;
      if (begin == 0 || text_[begin - 1] != '-') refuse(item, std::string(unsure));
      --begin;
    }
    out.push_back(member{begin, end});
  }
  return out;
}

// --- lines ---

size_t yaml_edit::line_begin(size_t at) const {
  if (at == 0) return 0;
  const size_t newline = text_.rfind('\n', at - 1);
  return newline == std::string_view::npos ? 0 : newline + 1;
}
size_t yaml_edit::line_end(size_t at) const { return std::min(text_.find('\n', at), text_.size()); }
bool yaml_edit::is_first_in_line(size_t at) const {
  const size_t begin = line_begin(at);
  return text_.substr(begin, at - begin).find_first_not_of(' ') == std::string_view::npos;
}
size_t yaml_edit::behind_blanks(size_t at) const {
  while (at < text_.size() && (text_[at] == ' ' || text_[at] == '\t')) ++at;
  return at;
}
bool yaml_edit::rest_is_comment(size_t at) const {
  const size_t next = behind_blanks(at);
  return next >= text_.size() || text_[next] == '\n' || (text_[next] == '#' && next > at);
}
std::string yaml_edit::line_indent(size_t at) const {
  const size_t begin = line_begin(at);
  return std::string(std::min(text_.find_first_not_of(' ', begin), text_.size()) - begin, ' ');
}

// --- changes ---

std::string yaml_edit::new_scalar(std::string_view text, bool quoted) {
  if (!is_utf8(text)) throw edit_refused{Position(), "what came is not UTF-8, and YAML can say nothing else"};
  return yaml_scalar(text, quoted, dollars::doubled);
}

std::string yaml_edit::scalar_like(const Value& other, std::string_view text, bool words) const {
  if (!is_scalar(other) || (other.scalar().quoted() && text_[begin_of(other)] != '\'')) return new_scalar(text, true);
  if (!other.scalar().quoted()) return new_scalar(text, words && looks_typed(text) && !looks_typed(specs::text(other)));
  const std::optional<std::string> single = yaml_in_single_quotes(text, dollars::doubled);
  return single ? *single : new_scalar(text, true);
}

void yaml_edit::set_text(const Entry& owner, const Value& old, std::string_view text, bool words) {
  const size_t begin = begin_of(old);
  if (!is_scalar(old)) refuse(old, "it is no text");
  if (specs::text(old).find("${") != std::string::npos) refuse(old, "a parameter stands in it");
  const size_t indent = indent_of(owner);
  const size_t end = end_of(old, indent, false);
  std::optional<std::string> block;
  if (text_[begin] == '|' || text_[begin] == '>') {
    const size_t content = text_.find_first_not_of(" \n", line_end(begin));
    const bool has_content = content != std::string_view::npos && content < end;
    block = yaml_text_block(text, has_content ? content - line_begin(content) : indent + 2, dollars::doubled);
  }
  change(begin, end, block ? std::move(*block) : scalar_like(old, text, words));
}

void yaml_edit::change_members(const Entry& owner, const member_changes& changes) {
  const Value& v = owner.value();
  const bool flow = is_flow(v);
  const std::vector<member> members = members_of(v, indent_of(owner), flow);
  (void)end_of(v, indent_of(owner), false);  // which refuses what isn't as it should be
  flow ? change_flow(v, members, changes) : change_block(owner, members, changes);
}

void yaml_edit::change_flow(const Value& v, const std::vector<member>& members, const member_changes& changes) {
  // Members at the end go with the comma in front of them; all others go with the one behind them.
  size_t rest = members.size();
  while (rest > 0 && changes.dropped[rest - 1]) --rest;
  if (rest > 0 && rest < members.size() && !have_lines(members, rest)) {
    change(members[rest - 1].end, members.back().end, "");
  } else {
    rest = members.size();
  }
  for (size_t i = 0; i < rest; ++i)
    if (changes.dropped[i]) drop_in_flow(v, i, members);
  for (const auto& [index, added] : changes.added) {
    if (added.empty()) continue;
    members.empty() ? fill(v, added) : add_in_flow(index, members, added);
  }
}

// Each from `first` on has a line of its own, or there is a comment between them.
bool yaml_edit::have_lines(const std::vector<member>& members, size_t first) const {
  bool own = true;
  for (size_t i = first; i < members.size(); ++i) {
    const std::string_view between = text_.substr(members[i - 1].end, members[i].begin - members[i - 1].end);
    if (between.find('#') != std::string_view::npos) return true;
    own = own && is_first_in_line(members[i].begin) && rest_is_comment(behind_comma(members[i].end));
  }
  return own;
}

size_t yaml_edit::behind_comma(size_t at) const {
  const size_t comma = behind_blanks(at);
  return comma < text_.size() && text_[comma] == ',' ? comma + 1 : at;
}

void yaml_edit::drop_in_flow(const Value& v, size_t index, const std::vector<member>& members) {
  size_t begin = members[index].begin;
  size_t end = behind_comma(members[index].end);
  if (end == members[index].end && index + 1 < members.size()) refuse(v, std::string(unsure));
  if (is_first_in_line(begin) && rest_is_comment(end))
    return change(line_begin(begin), std::min(line_end(end) + 1, text_.size()), "");
  end = behind_blanks(end);
  if (end < text_.size() && text_[end] == '\n')
    while (begin > 0 && text_[begin - 1] == ' ') --begin;
  change(begin, end, "");
}

void yaml_edit::add_in_flow(size_t index, const std::vector<member>& members, const std::vector<std::string>& added) {
  const member& neighbour = members[index == 0 ? 0 : index - 1];
  const std::string indent = line_indent(neighbour.begin);
  const bool own_line = is_first_in_line(neighbour.begin);
  const std::string separator = own_line ? "\n" + indent : " ";
  std::string text;
  if (index == 0) {
    for (const std::string& item : added) text += indented(item, indent) + "," + separator;
    return change(neighbour.begin, neighbour.begin, text);
  }
  const size_t comma = behind_blanks(neighbour.end);
  const bool has_comma = comma < text_.size() && text_[comma] == ',';
  if (own_line && has_comma && rest_is_comment(comma + 1)) {
    for (const std::string& item : added) text += separator + indented(item, indent) + ",";
    return change(line_end(comma), line_end(comma), text);
  }
  if (own_line && !has_comma && rest_is_comment(neighbour.end)) {
    for (const std::string& item : added) text += (text.empty() ? "" : ",") + separator + indented(item, indent);
    change(neighbour.end, neighbour.end, ",");
    return change(line_end(neighbour.end), line_end(neighbour.end), text);
  }
  const std::string between = own_line && index == members.size() ? separator : " ";
  for (const std::string& item : added) text += "," + between + indented(item, indent);
  change(neighbour.end, neighbour.end, text);
}

// Empty brackets: one member stands in the line, several have lines of their own.
void yaml_edit::fill(const Value& v, const std::vector<std::string>& added) {
  const size_t begin = begin_of(v) + 1;
  const std::string indent = line_indent(begin);
  if (added.size() == 1) return change(begin, begin, indented(added[0], indent));
  std::string text;
  for (const std::string& item : added)
    text += (text.empty() ? "\n  " : ",\n  ") + indent + indented(item, indent + "  ");
  change(begin, begin, text + "\n" + indent);
}

void yaml_edit::change_block(const Entry& owner, const std::vector<member>& members, const member_changes& changes) {
  const bool list = is_list(owner.value());
  for (const member& m : members)
    if (!is_first_in_line(m.begin) || !rest_is_comment(m.end)) refuse(owner.value(), std::string(unsure));
  const bool none_left = std::all_of(changes.dropped.begin(), changes.dropped.end(), [](bool d) { return d; });
  if (none_left) {
    // Nothing is left of the block but its key: the brackets say that it is empty.
    const size_t first = members.front().begin;
    const auto key = source_.offset_of(owner.key_position().line(), owner.key_position().column());
    const size_t end = key ? line_end(*key) : 0;
    const size_t behind_key = key ? text_.find(':', *key + owner.key().size()) : std::string_view::npos;
    if (behind_key >= end || end > first || !rest_is_comment(behind_key + 1))
      refuse(owner.value(), std::string(unsure));
    change(behind_key + 1, behind_key + 1, list ? " []" : " {}");
  }
  for (size_t i = 0; i < members.size(); ++i)
    if (changes.dropped[i])
      change(line_begin(members[i].begin), std::min(line_end(members[i].end) + 1, text_.size()), "");
  for (const auto& [index, added] : changes.added) {
    const std::string indent = line_indent(members.front().begin);
    const std::string dash = list ? "- " : "";
    std::string text;
    for (const std::string& one : added) {
      const std::string item = dash + indented(one, indent + std::string(dash.size(), ' '));
      text += index == 0 ? item + "\n" + indent : "\n" + indent + item;
    }
    const size_t at = index == 0 ? members.front().begin : line_end(members[index - 1].end);
    change(at, at, text);
  }
}

std::string yaml_edit::applied(std::string_view original) const {
  std::vector<replacement> sorted = replacements_;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const replacement& a, const replacement& b) { return a.begin < b.begin; });
  const size_t first_end = original.find('\n');
  const bool carriage = first_end != std::string_view::npos && first_end > 0 && original[first_end - 1] == '\r';
  std::string out;
  size_t at = original.starts_with("\xEF\xBB\xBF") ? 3 : 0;
  out = original.substr(0, at);
  size_t plain = 0;  // where `at` is in the source
  const auto go_to = [&](size_t to, bool copied) {
    while (plain < to && at < original.size()) {
      if (original[at] == '\r' && at + 1 < original.size() && original[at + 1] == '\n') {
        if (copied) out += '\r';
        ++at;
      }
      if (copied) out += original[at];
      ++at;
      ++plain;
    }
  };
  for (const replacement& r : sorted) {
    go_to(r.begin, true);
    for (const char c : r.text) {
      if (c == '\n' && carriage) out += '\r';
      out += c;
    }
    go_to(r.end, false);  // two that drop what they share drop it once
  }
  go_to(text_.size(), true);
  return out;
}

}  // namespace flowrun::specs
