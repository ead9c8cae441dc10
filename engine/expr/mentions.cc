#include "engine/expr/mentions.h"

#include <algorithm>

#include "engine/expr/parser.h"

namespace flowrun::expr {

namespace {

template <typename T>
void add(std::vector<T>& to, T value) {
  if (std::find(to.begin(), to.end(), value) == to.end()) to.push_back(std::move(value));
}

bool is_member_of_name(const syntax& s) {
  return s.kind == syntax_kind::member && s.children[0]->kind == syntax_kind::name;
}

void collect(const syntax& s, mentions& out) {
  if (s.kind == syntax_kind::call && s.text == "rows" && s.children.size() == 1) {
    const syntax& what = *s.children[0];
    if (what.kind == syntax_kind::name) return add(out.counted, what.text);
    if (is_member_of_name(what)) return add(out.counted, what.children[0]->text + "." + what.text);
  }
  if (is_member_of_name(s)) return add(out.members, {s.children[0]->text, s.text});
  for (const auto& child : s.children)
    if (child) collect(*child, out);
}

}  // namespace

mentions mentioned(std::string_view text) {
  mentions out;
  std::vector<problem> ignored;
  const std::unique_ptr<syntax> tree = parse(text, ignored);
  if (tree && ignored.empty()) collect(*tree, out);
  return out;
}

}  // namespace flowrun::expr
