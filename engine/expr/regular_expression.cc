// Regular expressions, with RE2: linear in the length of the text, whatever the pattern. A pattern is compiled while
// the job is checked. What is found is a view into the text; only replacing makes a new one. RE2 is seen by this file
// alone.
#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>  // std::call_once

#include "engine/base/counted.h"
#include "engine/base/mutex.h"
#include "engine/base/units.h"
#include "engine/expr/function_table.h"
#include "engine/expr/pattern_memory.h"
#include "engine/expr/row_call.h"

namespace flowrun::expr {

namespace {

using record::type_kind;
using record::value_type;
using bound = std::variant<binding, binding_fault>;
using re2::RE2;
using re2::StringPiece;

const value_type string = value_type::of(type_kind::string);

constexpr const char* example = "a regular expression such as r'[0-9]+'";

// An empty text may lie nowhere, which RE2 doesn't promise to bear.
StringPiece piece(std::string_view text) {
  return text.empty() ? StringPiece("") : StringPiece(text.data(), text.size());
}
std::string_view view(const StringPiece& found) { return {found.data(), found.size()}; }

std::unique_ptr<const RE2> compiled(const std::string& text, uint64_t max_bytes) {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(static_cast<int64_t>(max_bytes));
  return std::make_unique<const RE2>(piece(text), options);
}

class automaton;

// Those of this process, each once: calls with the same pattern share it.
class automata {
 public:
  std::shared_ptr<const automaton> of(std::string_view text);
  void forget(const std::string& text);
  std::vector<uint64_t> least_bytes();

 private:
  mutex mutex_;
  std::map<std::string, std::weak_ptr<const automaton>, std::less<>> by_pattern_ FLOWRUN_GUARDED_BY(mutex_);
};

automata& all_automata() {
  static automata* const all = new automata;  // outlives every job
  return *all;
}

// The automaton of a pattern. RE2 builds its states while it reads texts, and starts over when they fill the memory
// that it was given. That is decided by the first match, when all patterns of the job are known (pattern_memory.h).
class automaton {
 public:
  explicit automaton(const std::string& text) : text_(text), checked_(compiled(text, most_pattern_bytes)) {
    if (!checked_->ok()) return;
    // A long pattern takes a part of that memory itself. Where it doesn't compile within it, it gets more.
    while (least_bytes_ < most_pattern_bytes && !fits()) least_bytes_ *= 2;
  }
  automaton(const automaton&) = delete;
  automaton& operator=(const automaton&) = delete;
  ~automaton() { all_automata().forget(text_); }

  // Before the run: what is wrong with it, its groups.
  const RE2& checked() const { return *checked_; }
  uint64_t least_bytes() const { return least_bytes_; }

  bool match(const StringPiece& text, size_t from, StringPiece* found, int num_found) const {
    std::call_once(once_, [this] {
      const uint64_t num_bytes = bytes_of_pattern(least_bytes_, all_automata().least_bytes().size());
      if (num_bytes < most_pattern_bytes) limited_ = compiled(text_, num_bytes);
    });
    const RE2& re = limited_ ? *limited_ : *checked_;
    return re.Match(text, from, text.size(), RE2::UNANCHORED, found, num_found);
  }

 private:
  // Each instruction is one of a state's, and a state that is reached takes about this much.
  bool fits() const {
    const auto size = static_cast<uint64_t>(checked_->ProgramSize());
    return size * bytes_per_instruction <= least_bytes_ && compiled(text_, least_bytes_)->ok();
  }
  static constexpr uint64_t bytes_per_instruction = 256;

  const std::string text_;
  const std::unique_ptr<const RE2> checked_;
  uint64_t least_bytes_ = least_pattern_bytes;
  mutable std::once_flag once_;
  mutable std::unique_ptr<const RE2> limited_;
};

std::shared_ptr<const automaton> automata::of(std::string_view text) {
  const mutex_lock lock(mutex_);
  const auto found = by_pattern_.find(text);
  if (found != by_pattern_.end())
    if (std::shared_ptr<const automaton> alive = found->second.lock()) return alive;
  auto made = std::make_shared<const automaton>(std::string(text));
  by_pattern_.insert_or_assign(std::string(text), made);
  return made;
}

// Called when the last call that has it is gone. By then another thread may have made it anew.
void automata::forget(const std::string& text) {
  const mutex_lock lock(mutex_);
  const auto found = by_pattern_.find(text);
  if (found != by_pattern_.end() && found->second.expired()) by_pattern_.erase(found);
}

std::vector<uint64_t> automata::least_bytes() {
  std::vector<std::shared_ptr<const automaton>> alive;  // the last of one may be released outside of the lock only
  {
    const mutex_lock lock(mutex_);
    for (const auto& [text, kept] : by_pattern_)
      if (std::shared_ptr<const automaton> one = kept.lock()) alive.push_back(std::move(one));
  }
  std::vector<uint64_t> out;
  for (const auto& one : alive) out.push_back(one->least_bytes());
  return out;
}

// The pattern of a call: compiled, still without a value, or at fault.
struct pattern {
  std::shared_ptr<const automaton> states;
  std::optional<binding_fault> fault;
};

pattern pattern_of(const std::vector<given_argument>& args) {
  for (size_t i = 0; i < 2; ++i)
    if (auto fault = text_needed(args, i)) return {nullptr, std::move(fault)};
  if (!args[1].is_constant)
    return {nullptr, binding_fault{1, "the pattern is not a constant", example, "it is compiled once, before the run"}};
  if (!args[1].is_known) return {};
  std::shared_ptr<const automaton> states = all_automata().of(args[1].text);
  const RE2& re = states->checked();
  if (re.ok()) return {std::move(states), {}};
  const bool is_of_others = re.error_code() == RE2::ErrorBadEscape || re.error_code() == RE2::ErrorBadPerlOp;
  return {nullptr,
          binding_fault{1, fmt::format("'{}' does not compile: {}", args[1].text, re.error()), example,
                        is_of_others ? "RE2 has no back references and no look-around"
                                     : "a \\ in front of ( ) [ ] { } . * + ? | ^ $ \\ takes their meaning away"}};
}

std::optional<binding_fault> constant_needed(const std::vector<given_argument>& args, size_t i, std::string expected) {
  if (args[i].is_constant) return {};
  return binding_fault{i, "this is not a constant", std::move(expected), ""};
}

bound bind_matches(const std::vector<given_argument>& args) {
  const pattern p = pattern_of(args);
  if (p.fault) return *p.fault;
  const std::vector<value_type> wanted = {string, string};
  const value_type result = value_type::of(type_kind::boolean);
  if (p.states == nullptr) return binding{result, wanted, call_without_value()};
  return binding{result, wanted, call_of_rows([states = p.states](const row_args& r) {
                   return uint64_t{states->match(piece(r.text(0)), 0, nullptr, 0)};
                 })};
}

// The number of the group that argument 2 means.
std::variant<int, binding_fault> group_of(const given_argument& arg, const RE2& re) {
  const int groups = re.NumberOfCapturingGroups();
  if (arg.type.is_text()) {
    const auto& named = re.NamedCapturingGroups();
    const auto found = named.find(std::string(arg.text));
    if (found != named.end()) return found->second;
    return binding_fault{2, fmt::format("the pattern has no group '{}'", arg.text), "the name of a group (?P<name>…)",
                         ""};
  }
  if (arg.lane <= static_cast<uint64_t>(groups)) return static_cast<int>(arg.lane);
  return binding_fault{2, fmt::format("the pattern has {}", counted(static_cast<uint64_t>(groups), "group")),
                       groups == 0 ? "0 for the whole match" : fmt::format("0 for the whole match, or 1 to {}", groups),
                       "put ( ) around the part that is wanted"};
}

bound bind_extract(const std::vector<given_argument>& args) {
  const pattern p = pattern_of(args);
  if (p.fault) return *p.fault;
  std::vector<value_type> wanted = {string, string};
  bool known = p.states != nullptr;
  if (args.size() > 2) {
    if (!args[2].type.is_text())
      if (auto fault = integer_needed(args, 2)) return *fault;
    if (auto fault = constant_needed(args, 2, "the number of a group, or its name")) return *fault;
    wanted.push_back(args[2].type.is_text() ? string : value_type::of(type_kind::u64));
    known = known && args[2].is_known;
  }
  if (!known) return binding{string, wanted, call_without_value()};
  int group = 0;
  if (args.size() > 2) {
    const auto chosen = group_of(args[2], p.states->checked());
    if (const auto* fault = std::get_if<binding_fault>(&chosen)) return *fault;
    group = std::get<int>(chosen);
  }
  constexpr int few = 16;  // groups of a pattern that need no memory of their own
  return binding{string, wanted, call_of_parts([states = p.states, group](const row_args& r) -> std::string_view {
                   const StringPiece text = piece(r.text(0));
                   StringPiece on_stack[few];
                   std::vector<StringPiece> many(group < few ? 0 : static_cast<size_t>(group) + 1);
                   StringPiece* const found = group < few ? on_stack : many.data();
                   if (!states->match(text, 0, found, group + 1)) return {};
                   return view(found[group]);
                 })};
}

// What a match is replaced by: texts, and groups of the match (\1).
struct replacement_part {
  std::string text;
  int group = -1;
};

std::vector<replacement_part> parts_of(std::string_view by) {
  std::vector<replacement_part> out;
  std::string text;
  for (size_t i = 0; i < by.size(); ++i) {
    if (by[i] != '\\') {
      text += by[i];
      continue;
    }
    const char c = by[++i];  // there is one: RE2 has looked
    if (c == '\\') {
      text += c;
      continue;
    }
    out.push_back({std::exchange(text, {}), -1});
    out.push_back({{}, c - '0'});
  }
  out.push_back({std::move(text), -1});
  return out;
}

class replacer {
 public:
  replacer(std::shared_ptr<const automaton> states, std::string_view by)
      : states_(std::move(states)), parts_(parts_of(by)) {
    for (const replacement_part& part : parts_) num_groups_ = std::max(num_groups_, part.group + 1);
  }

  std::string_view operator()(const row_args& r) const {
    const StringPiece text = piece(r.text(0));
    StringPiece found[10];
    if (!states_->match(text, 0, found, num_groups_)) return view(text);
    std::string out;
    size_t copied = 0;  // of the text
    while (true) {
      const auto begin = static_cast<size_t>(found[0].data() - text.data());
      const size_t end = begin + found[0].size();
      out.append(text.data() + copied, begin - copied);
      for (const replacement_part& part : parts_)
        out.append(part.group < 0 ? std::string_view(part.text) : view(found[part.group]));
      copied = end;
      size_t next = end;
      // A match of nothing is followed by one character, or it would be found again. Nor is nothing found where a
      // match has just ended.
      const auto search = [&] { return next <= text.size() && states_->match(text, next, found, num_groups_); };
      if (found[0].empty()) next += character_at(text, next);
      bool more = search();
      if (more && found[0].empty() && static_cast<size_t>(found[0].data() - text.data()) == copied && copied > begin) {
        next += character_at(text, next);
        more = search();
      }
      if (!more) break;
      if (out.size() > r.arena().longest()) break;  // take() refuses it
    }
    out.append(text.data() + copied, text.size() - copied);
    return r.arena().keep(out);
  }

 private:
  // How many bytes the character of UTF-8 takes; 1 for what is none.
  static size_t character_at(const StringPiece& text, size_t at) {
    size_t length = 1;
    while (length < 4 && at + length < text.size() && (static_cast<unsigned char>(text[at + length]) & 0xC0) == 0x80)
      ++length;
    return length;
  }

  std::shared_ptr<const automaton> states_;
  std::vector<replacement_part> parts_;
  int num_groups_ = 1;
};

bound bind_replace(const std::vector<given_argument>& args) {
  const pattern p = pattern_of(args);
  if (p.fault) return *p.fault;
  if (auto fault = text_needed(args, 2)) return *fault;
  constexpr const char* expected = "a text in which \\1 is what group 1 has found";
  if (auto fault = constant_needed(args, 2, expected)) return *fault;
  // Not what was meant, whoever wrote it: who has such texts to write can put them in with replace().
  if (args[2].is_known && args[2].text.find('\0') != std::string_view::npos)
    return binding_fault{2, "the text to put in has a byte 0: in '…' that is what \\0 means", expected,
                         "write r'…', as in r'<\\0>', where \\0 is the match"};
  const std::vector<value_type> wanted = {string, string, string};
  if (p.states == nullptr || !args[2].is_known) return binding{string, wanted, call_without_value()};
  std::string no;
  if (!p.states->checked().CheckRewriteString(piece(args[2].text), &no)) return binding_fault{2, no, expected, ""};
  return binding{string, wanted, call_of_rows(replacer(p.states, args[2].text))};
}

constexpr function table[] = {
    {"regex_matches", "regex_matches(text, pattern) → bool",
     "Whether the pattern matches somewhere in the text; ^ and $ bind it to the ends. Patterns are constants in the "
     "syntax of RE2, over UTF-8; (?i) in front ignores case. In r'\\d+' a backslash is itself, in '\\\\d+' it is "
     "written twice.",
     2, 2, nullptr, bind_matches},
    {"regex_extract", "regex_extract(text, pattern[, group]) → string",
     "What the first match has found, or one of its groups, by number or by name: (?P<name>…). Empty where nothing "
     "matches.",
     2, 3, nullptr, bind_extract},
    {"regex_replace", "regex_replace(text, pattern, by) → string",
     "The text with every match replaced; in `by`, a constant, \\1 to \\9 are what the groups have found, and \\0 is "
     "the match. Write it as r'<\\0>': in quotes without the r, \\0 is the byte 0, which is refused.",
     3, 3, nullptr, bind_replace},
};

}  // namespace

std::span<const function> regular_expression_functions() { return table; }

uint64_t pattern_bytes_in_budget() {
  const std::vector<uint64_t> least = all_automata().least_bytes();
  uint64_t total = 0;
  for (const uint64_t one : least) total += bytes_of_pattern(one, least.size());
  return total - std::min(total, free_pattern_bytes);
}

uint64_t bytes_of_pattern(uint64_t least, uint64_t num_patterns) {
  const uint64_t part = free_pattern_bytes / std::max<uint64_t>(1, num_patterns);
  return std::max(least, std::min(part, most_pattern_bytes));
}

}  // namespace flowrun::expr
