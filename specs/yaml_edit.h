// Changes values of a YAML text and leaves every other byte as it is: comments, blanks, quotes, all other values.
//
//   text ─ read_yaml ─▶ values with their places ─ yaml_edit ─▶ replacements ─ applied ─▶ text
//
// yaml-cpp tells where a value begins; where it ends is found here, by what the value is known to hold. What isn't sure
// is refused, and whoever edits reads the result again and compares, so a text is changed as it was meant or not at
// all. Refused, too: what has an anchor or is an alias, since that is about values at other places.
// Cost: linear in the text that is passed.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "specs/source_text.h"
#include "specs/value.h"

namespace flowrun::specs {

// Thrown by yaml_edit: this can't be changed, and why.
struct edit_refused {
  Position position;
  std::string reason;
};

// Bytes of the text that become others.
struct replacement {
  size_t begin;
  size_t end;
  std::string text;
};

// What becomes of the items of a list, or of the entries of a map.
struct member_changes {
  std::vector<bool> dropped;  // each one that there is
  // In front of which one new ones stand; the number of those that there are: at the end. In flow style, without dash
  // or comma; lines behind the first get the indentation of their place.
  std::map<size_t, std::vector<std::string>> added;
};

// All values are of the tree that was read from `source`, as it was read: with the ${…} in its texts.
class yaml_edit {
 public:
  explicit yaml_edit(const source_text& source) : source_(source), text_(source.text()) {}

  // Throws where the value, or with `within` one within it, has an anchor or came through an alias.
  void expect_own(const Value& v, bool within) const;

  // `owner`: the entry whose value, or whose value's item, the text is. `words`: it is read as text where a plain 7
  // could be taken for a number, so that it gets quotes. Its quotes are those of the old one, as far as they can be.
  void set_text(const Entry& owner, const Value& old, std::string_view text, bool words);
  // Of the list or map that is the value of `owner`.
  void change_members(const Entry& owner, const member_changes& changes);

  // Text as a new scalar in flow style; in the quotes of another one.
  static std::string new_scalar(std::string_view text, bool quoted);
  std::string scalar_like(const Value& other, std::string_view text, bool words) const;
  // Whether a list or map is written in brackets.
  bool is_flow(const Value& v) const;

  // `original` is what plain_text has made the source of; its line ends stay, and new ones are like its first.
  std::string applied(std::string_view original) const;

 private:
  struct member {
    size_t begin;
    size_t end;
  };
  [[noreturn]] void refuse(const Value& v, std::string reason) const { throw edit_refused{v.position(), reason}; }
  size_t begin_of(const Value& v) const;
  // `indent`: of the map that holds the value, in blanks.
  size_t end_of(const Value& v, size_t indent, bool in_flow) const;
  size_t end_of_quoted(const Value& v, size_t begin) const;
  size_t end_of_plain(const Value& v, size_t begin) const;
  size_t end_of_text_block(const Value& v, size_t begin, size_t indent) const;
  size_t end_of_flow(const Value& v, size_t indent, size_t begin) const;
  std::vector<member> members_of(const Value& v, size_t indent, bool in_flow) const;
  size_t indent_of(const Entry& owner) const { return static_cast<size_t>(owner.key_position().column() - 1); }

  size_t line_begin(size_t at) const;
  size_t line_end(size_t at) const;
  bool is_first_in_line(size_t at) const;
  bool rest_is_comment(size_t at) const;  // or nothing
  std::string line_indent(size_t at) const;
  size_t behind_blanks(size_t at) const;

  void change_flow(const Value& v, const std::vector<member>& members, const member_changes& changes);
  void change_block(const Entry& owner, const std::vector<member>& members, const member_changes& changes);
  void add_in_flow(size_t index, const std::vector<member>& members, const std::vector<std::string>& added);
  void drop_in_flow(const Value& v, size_t index, const std::vector<member>& members);
  bool have_lines(const std::vector<member>& members, size_t first) const;
  size_t behind_comma(size_t at) const;
  void fill(const Value& v, const std::vector<std::string>& added);
  void change(size_t begin, size_t end, std::string text) {
    replacements_.push_back(replacement{begin, end, std::move(text)});
  }

  const source_text& source_;
  const std::string_view text_;
  std::vector<replacement> replacements_;
};

}  // namespace flowrun::specs
