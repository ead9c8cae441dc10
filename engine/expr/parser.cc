#include "engine/expr/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "engine/expr/known_elsewhere.h"
#include "engine/expr/lexer.h"
#include "engine/expr/words_of_sql.h"

namespace flowrun::expr {

namespace {

using tree = std::unique_ptr<syntax>;

// Thrown inside this file only: the first syntax fault ends the parse, since what follows would be guesses.
struct syntax_fault {};

constexpr std::array<std::string_view, 6> comparisons = {"==", "!=", "<", "<=", ">", ">="};
constexpr std::array<std::string_view, 3> relations = {"in", "like", "between"};

class parser {
 public:
  parser(std::vector<token> tokens, std::vector<problem>& problems) : tokens_(std::move(tokens)), problems_(problems) {}

  tree run() {
    if (now().kind == token_kind::end) fail(now().offset, "the expression is empty", "an expression");
    tree result = expression();
    if (now().kind != token_kind::end) unexpected("an operator or the end", operator_known_elsewhere(now().text));
    return result;
  }

 private:
  const token& now() const { return tokens_[at_]; }
  bool is_symbol(std::string_view text) const { return now().kind == token_kind::symbol && now().text == text; }
  bool is_word(std::string_view text) const { return now().kind == token_kind::name && now().text == text; }
  bool take_symbol(std::string_view text) {
    if (!is_symbol(text)) return false;
    ++at_;
    return true;
  }

  [[noreturn]] void fail(size_t offset, std::string message, std::string expected = {}, std::string hint = {}) {
    problems_.push_back({offset, std::move(message), std::move(expected), std::move(hint)});
    throw syntax_fault();
  }
  [[noreturn]] void unexpected(std::string expected, std::string hint = {}) {
    const token& t = now();
    std::string message;
    switch (t.kind) {
      case token_kind::end: message = "the expression ends too early"; break;
      case token_kind::text: message = "unexpected text literal"; break;
      default: message = fmt::format("unexpected '{}'", t.text); break;
    }
    fail(t.offset, std::move(message), std::move(expected), std::move(hint));
  }
  void expect(std::string_view symbol, size_t opened) {
    if (take_symbol(symbol)) return;
    if (now().kind == token_kind::end)
      fail(opened, fmt::format("no '{}' closes this", symbol), fmt::format("'{}'", symbol));
    unexpected(fmt::format("',' or '{}'", symbol));
  }

  tree make(syntax_kind kind, const token& at, std::string text = {}) {
    auto node = std::make_unique<syntax>();
    node->kind = kind;
    node->offset = node->first = at.offset;
    node->text = std::move(text);
    node->integer = at.integer;
    return node;
  }
  void adopt(syntax& parent, tree child) {
    parent.depth = std::max(parent.depth, child->depth + 1);
    if (parent.depth > max_tree_depth)
      fail(parent.offset, fmt::format("more than {} operators build on each other", max_tree_depth), "",
           "split the expression over several map nodes");
    parent.children.push_back(std::move(child));
  }
  tree binary(const token& op, tree left, tree right) {
    tree node = make(syntax_kind::binary, op, op.text);
    node->first = left->first;
    adopt(*node, std::move(left));
    adopt(*node, std::move(right));
    return node;
  }

  struct nesting {
    explicit nesting(parser& p) : owner(p) {
      if (++owner.nesting_ > max_nesting)
        owner.fail(owner.now().offset, fmt::format("nested more than {} deep", max_nesting), "",
                   "split the expression over several map nodes");
    }
    ~nesting() { --owner.nesting_; }
    parser& owner;
  };

  tree expression() {
    nesting guard(*this);
    return either();
  }

  tree either() {
    tree left = both();
    while (is_word("or")) {
      const token op = tokens_[at_++];
      left = binary(op, std::move(left), both());
    }
    return left;
  }

  tree both() {
    tree left = negation();
    while (is_word("and")) {
      const token op = tokens_[at_++];
      left = binary(op, std::move(left), negation());
    }
    return left;
  }

  tree negation() {
    if (!is_word("not")) return comparison();
    nesting guard(*this);
    tree node = make(syntax_kind::unary, now(), "not");
    ++at_;
    adopt(*node, negation());
    return node;
  }

  bool at_comparison() const {
    return now().kind == token_kind::symbol &&
           std::find(comparisons.begin(), comparisons.end(), now().text) != comparisons.end();
  }

  // Of the word that is `ahead` tokens from here.
  bool is_relation(size_t ahead) const {
    const token& t = tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
    return t.kind == token_kind::name && std::find(relations.begin(), relations.end(), t.text) != relations.end();
  }
  bool at_relation() const { return is_relation(0) || (is_word("not") && is_relation(1)); }

  tree comparison() {
    tree left = level(0);
    if (at_relation()) {
      left = relation(std::move(left));
      if (at_comparison() || at_relation())
        fail(now().offset, "comparisons can't be chained", "one comparison", "put ( ) around the first");
      return left;
    }
    if (!at_comparison()) return left;
    const token op = tokens_[at_++];
    left = binary(op, std::move(left), level(0));
    if (at_comparison())
      fail(now().offset, "comparisons can't be chained", "one comparison",
           fmt::format("write a {} b and b {} c", op.text, now().text));
    if (at_relation())
      fail(now().offset, "comparisons can't be chained", "one comparison", "put ( ) around one of them");
    return left;
  }

  // x in (a, b), x like 'a%', x between a and b; with "not" in front of the word.
  tree relation(tree left) {
    const token negation = now();
    const bool negated = is_word("not");
    if (negated) ++at_;
    const token word = tokens_[at_++];
    const size_t first = left->first;
    tree out;
    if (word.text == "like") {
      out = binary(word, std::move(left), level(0));
    } else if (word.text == "between") {
      out = make(syntax_kind::between, word, word.text);
      adopt(*out, std::move(left));
      adopt(*out, level(0));
      if (!is_word("and")) unexpected("'and', as in x between 1 and 5");
      ++at_;
      adopt(*out, level(0));
    } else {
      out = make(syntax_kind::among, word, word.text);
      adopt(*out, std::move(left));
      const size_t opened = now().offset;
      if (!take_symbol("(")) unexpected("values in parentheses, as in x in (1, 2)");
      if (is_symbol(")")) unexpected("a value");
      do adopt(*out, expression());
      while (take_symbol(","));
      expect(")", opened);
      out->depth += static_cast<int>(std::bit_width(out->children.size()));  // it becomes a tree of comparisons
    }
    out->first = first;
    if (!negated) return out;
    tree node = make(syntax_kind::unary, negation, "not");
    node->first = first;
    adopt(*node, std::move(out));
    return node;
  }

  // The left-associative operators between comparisons and signs, loosest first.
  tree level(size_t depth) {
    static constexpr std::array<std::array<std::string_view, 3>, 6> levels = {
        {{"|"}, {"^"}, {"&"}, {"<<", ">>"}, {"+", "-"}, {"*", "/", "%"}}};
    if (depth == levels.size()) return sign();
    tree left = level(depth + 1);
    while (now().kind == token_kind::symbol) {
      if (is_symbol("**")) fail(now().offset, "there is no operator '**'", "", "write x * x, or x << n for x * 2^n");
      if (is_symbol("//"))
        fail(now().offset, "there is no operator '//'", "", "write /: it divides integers as integers");
      if (std::find(levels[depth].begin(), levels[depth].end(), now().text) == levels[depth].end()) break;
      const token op = tokens_[at_++];
      left = binary(op, std::move(left), level(depth + 1));
    }
    return left;
  }

  tree sign() {
    if (!is_symbol("-") && !is_symbol("+") && !is_symbol("~")) return postfix();
    nesting guard(*this);
    tree node = make(syntax_kind::unary, now(), now().text);
    ++at_;
    adopt(*node, sign());
    return node;
  }

  tree postfix() {
    tree node = atom();
    while (true) {
      const token here = now();
      if (take_symbol("[")) {
        tree bound = is_symbol(":") ? make(syntax_kind::nothing, now()) : expression();
        const bool cut = take_symbol(":");
        tree cell = make(cut ? syntax_kind::slice : syntax_kind::index, here);
        cell->first = node->first;
        adopt(*cell, std::move(node));
        adopt(*cell, std::move(bound));
        if (cut) adopt(*cell, is_symbol("]") ? make(syntax_kind::nothing, now()) : expression());
        expect("]", here.offset);
        node = std::move(cell);
      } else if (take_symbol(".")) {
        if (now().kind != token_kind::name) unexpected("a column's name");
        const token name = tokens_[at_++];
        const size_t opened = now().offset;
        if (node->kind == syntax_kind::name && take_symbol("(")) {  // a plugin's function
          node->kind = syntax_kind::call;
          node->text += "." + name.text;
          if (!take_symbol(")")) list(*node, opened);
          continue;
        }
        tree member = make(syntax_kind::member, name, name.text);
        member->first = node->first;
        adopt(*member, std::move(node));
        node = std::move(member);
      } else {
        return node;
      }
    }
  }

  void list(syntax& parent, size_t opened) {
    do adopt(parent, expression());
    while (take_symbol(","));
    expect(")", opened);
    // min(a, b, c, …) is lowered to a chain.
    parent.depth += static_cast<int>(parent.children.size());
    if (parent.depth > max_tree_depth)
      fail(parent.offset, fmt::format("more than {} values build on each other", max_tree_depth), "",
           "split the expression over several map nodes");
  }

  tree atom() {
    const token here = now();
    switch (here.kind) {
      case token_kind::integer: ++at_; return make(syntax_kind::integer, here, here.text);
      case token_kind::real: ++at_; return make(syntax_kind::real, here, here.text);
      case token_kind::text: ++at_; return make(syntax_kind::text, here, here.text);
      case token_kind::name: {
        if (here.text == "and" || here.text == "or" || here.text == "not") unexpected("a value");
        ++at_;
        const size_t opened = now().offset;
        if (!take_symbol("(")) return make(syntax_kind::name, here, here.text);
        tree call = make(syntax_kind::call, here, here.text);
        if (!take_symbol(")")) list(*call, opened);
        return call;
      }
      case token_kind::symbol:
        if (take_symbol("(")) {
          tree inner = expression();
          if (!is_symbol(",")) {
            expect(")", here.offset);
            inner->first = here.offset;
            return inner;
          }
          tree tuple = make(syntax_kind::tuple, here);
          adopt(*tuple, std::move(inner));
          ++at_;
          list(*tuple, here.offset);
          return tuple;
        }
        [[fallthrough]];
      case token_kind::end: unexpected("a value");
    }
    unexpected("a value");
  }

  std::vector<token> tokens_;
  std::vector<problem>& problems_;
  size_t at_ = 0;
  int nesting_ = 0;
};

}  // namespace

std::unique_ptr<syntax> parse(std::string_view text, std::vector<problem>& problems) {
  const size_t before = problems.size();
  const std::vector<token> tokens = lex(text, problems);
  if (problems.size() > before && tokens.size() <= 1) return nullptr;
  try {
    tree result = parser(tokens, problems).run();
    return problems.size() > before ? nullptr : std::move(result);
  } catch (const syntax_fault&) {
    if (std::string hint = written_in_sql(text, tokens, problems.back().offset); !hint.empty())
      problems.back().hint = std::move(hint);
    return nullptr;
  }
}

}  // namespace flowrun::expr
