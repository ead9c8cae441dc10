#include "engine/expr/words_of_sql.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "engine/expr/known_elsewhere.h"

namespace flowrun::expr {

namespace {

using namespace std::string_view_literals;

struct other_word {
  std::string_view word, write;
};

// Words that end an expression, with what does their work here.
constexpr std::array<other_word, 12> clauses = {
    {{"limit", "an expression chooses no rows: a limit node does, op: limit, with: {count: 10}"},
     {"offset", "an expression chooses no rows: a limit node does, op: limit, with: {skip: 10, count: 10}"},
     {"distinct",
      "for distinct rows, op: sort, with: {by: [column], unique: true}; their number is count_distinct(x), in combine "
      "of a sort"},
     {"where", "an expression chooses no rows: a filter does, op: filter, with: {where: condition}"},
     {"having", "an expression chooses no rows: a filter behind the group does, op: filter, with: {where: condition}"},
     {"group", "an expression makes no groups: op: sort, with: {by: [column], combine: {n: count()}}"},
     {"order", "an expression sorts no rows: op: sort, with: {by: [column, -column]}"},
     {"over",
      "of groups: a sort by [key, column], and behind it a window or a scan with reset: [key], or limit with by: "
      "[key]"},
     {"union", "for the rows of several nodes, op: concat, in: [a, b]"},
     {"join", "for the columns of two nodes, op: join of inputs that are sorted by the keys, or op: lookup"},
     {"select", "an expression is one value: a map computes columns, op: map, with: {name: expression}"},
     {"collate", "texts are compared byte by byte; lower(x) makes letters small"}}};

// The fields of extract(FIELD from t).
constexpr std::array<other_word, 13> parts_of_times = {{{"year", "year"},
                                                        {"quarter", "quarter"},
                                                        {"month", "month"},
                                                        {"week", "week"},
                                                        {"day", "day"},
                                                        {"dow", "weekday"},
                                                        {"isodow", "weekday"},
                                                        {"dayofweek", "weekday"},
                                                        {"doy", "day_of_year"},
                                                        {"hour", "hour"},
                                                        {"minute", "minute"},
                                                        {"second", "second"},
                                                        {"microsecond", "microsecond"}}};

constexpr std::array types = {"u8"sv,  "u16"sv, "u24"sv, "u32"sv, "u40"sv, "u48"sv,  "u64"sv,   "i8"sv,
                              "i16"sv, "i32"sv, "i64"sv, "f32"sv, "f64"sv, "bool"sv, "string"sv};
constexpr std::array<other_word, 16> other_types = {{{"integer", "int"},
                                                     {"bigint", "int"},
                                                     {"int8", "int"},
                                                     {"int64", "int"},
                                                     {"int32", "int"},
                                                     {"smallint", "int"},
                                                     {"real", "float"},
                                                     {"double", "float"},
                                                     {"float8", "float"},
                                                     {"float64", "float"},
                                                     {"varchar", "str"},
                                                     {"char", "str"},
                                                     {"text", "str"},
                                                     {"boolean", "bool"},
                                                     {"timestamptz", "timestamp"},
                                                     {"number", "numeric"}}};

template <size_t Size>
std::string_view found_in(const std::array<other_word, Size>& words, std::string_view word) {
  const auto found = std::find_if(words.begin(), words.end(), [&](const other_word& o) { return o.word == word; });
  return found == words.end() ? std::string_view() : found->write;
}

class reader {
 public:
  reader(std::string_view text, const std::vector<token>& tokens, size_t at) : text_(text), tokens_(tokens), at_(at) {}

  std::string advice() const {
    if (const std::optional<size_t> begin = last_before("case"); begin && is_any_of(at_, case_words))
      return of_case(*begin);
    if (is(at_ - 1, "case")) return of_case(at_ - 1);
    for (const std::string_view word : {"and"sv, "or"sv})
      if (is(at_, word)) return fmt::format("write {}, in small letters", word);
    if (is(at_ - 1, "not") && !is_exactly(at_ - 1, "not")) return "write not, in small letters";
    if (is(at_, "is")) return of_null();
    if (is(at_, "isnull") || is(at_, "notnull")) return instead_of_null(column_before(at_), is(at_, "notnull"));
    if (is(at_, "desc"))
      return is_name(at_ - 1) ? fmt::format("write -{} for falling order", name(at_ - 1))
                              : "write -x for falling order";
    if (is(at_, "asc")) return fmt::format("write {} alone: rising order needs no word", column_before(at_));
    if (is(at_, "as")) return of_as();
    if (is(at_, "from")) return of_from();
    if (is_any_of(at_ - 1, sides) && is_symbol(at_ - 2, "(") && is(at_ - 3, "trim")) return std::string(trims);
    if (is_symbol(at_, "*") && is_symbol(at_ - 1, "(") && is(at_ - 2, "count")) return "write count()";
    if (is_symbol(at_, ":") && is_symbol(at_ + 1, ":")) return of_type(left_of(at_), at_ + 2);
    if (is(at_ - 1, "interval")) return of_interval(at_ - 1);
    for (const size_t i : {at_, at_ - 1})  // the words after them don't fit either
      if (is_name(i))
        if (const std::string_view write = found_in(clauses, in_small_letters(name(i))); !write.empty())
          return std::string(write);
    return {};
  }

 private:
  static constexpr std::array sides = {"both"sv, "leading"sv, "trailing"sv};
  static constexpr std::string_view trims = "write trim(x), trim_left(x) or trim_right(x)";
  static constexpr std::array case_words = {"when"sv, "then"sv, "else"sv, "end"sv};

  bool is_name(size_t i) const { return i < tokens_.size() && tokens_[i].kind == token_kind::name; }
  bool is_symbol(size_t i, std::string_view symbol) const {
    return i < tokens_.size() && tokens_[i].kind == token_kind::symbol && tokens_[i].text == symbol;
  }
  const std::string& name(size_t i) const { return tokens_[i].text; }
  bool is_exactly(size_t i, std::string_view word) const { return is_name(i) && name(i) == word; }
  bool is(size_t i, std::string_view word) const { return is_name(i) && in_small_letters(name(i)) == word; }
  template <size_t Size>
  bool is_any_of(size_t i, const std::array<std::string_view, Size>& words) const {
    return std::any_of(words.begin(), words.end(), [&](std::string_view w) { return is(i, w); });
  }
  std::optional<size_t> last_before(std::string_view word) const {
    for (size_t i = at_; i-- > 0;)
      if (is(i, word)) return i;
    return std::nullopt;
  }
  std::string column_before(size_t i) const { return is_name(i - 1) ? name(i - 1) : "x"; }

  // The text from one token up to another.
  std::string between(size_t from, size_t to) const {
    if (from >= to || to >= tokens_.size()) return {};
    const token& last = tokens_[to - 1];
    return std::string(text_.substr(tokens_[from].offset, last.offset + last.num_bytes - tokens_[from].offset));
  }

  // CASE WHEN a THEN b ELSE c END, or CASE x WHEN 1 THEN b ELSE c END.
  std::string of_case(size_t begin) const {
    const std::string general = "write if(condition, a, b); for more cases if(first, a, if(second, b, c))";
    size_t i = begin + 1;
    const auto up_to = [&](std::string_view word) {
      const size_t from = i;
      while (i < tokens_.size() && !is_any_of(i, case_words) && !is(i, "case")) ++i;
      return is(i, word) ? between(from, i++) : std::string();
    };
    std::string subject, out, closing;
    if (!is(i, "when")) {
      while (i < tokens_.size() && !is_any_of(i, case_words)) ++i;
      subject = between(begin + 1, i) + " == ";
    }
    while (is(i, "when")) {
      ++i;
      const std::string condition = up_to("then");
      const size_t from = i;
      while (i < tokens_.size() && !is_any_of(i, case_words) && !is(i, "case")) ++i;
      const std::string value = between(from, i);
      if (condition.empty() || value.empty()) return general;
      out += fmt::format("if({}{}, {}, ", subject, condition, value);
      closing += ')';
    }
    if (out.empty() || !is(i, "else")) return general;
    ++i;
    const std::string otherwise = up_to("end");
    constexpr size_t longest = 120;
    if (otherwise.empty() || out.size() + otherwise.size() > longest) return general;
    return fmt::format("write {}{}{}", out, otherwise, closing);
  }

  std::string of_null() const {
    const bool present = is(at_ + 1, "not");
    // "is distinct from" is another way to say "is not".
    if (is(at_ + (present ? 2 : 1), "distinct")) return present ? "write x == y" : "write x != y";
    if (!is(at_ + (present ? 2 : 1), "null") && !is(at_ + (present ? 2 : 1), "none"))
      return present ? "write x != y" : "write x == y";
    return instead_of_null(column_before(at_), present);
  }

  // Where the parenthesis that holds token `i` opens.
  std::optional<size_t> opening(size_t i) const {
    size_t open = 0;
    while (i-- > 0) {
      if (is_symbol(i, ")")) ++open;
      if (is_symbol(i, "(") && open-- == 0) return i;
    }
    return std::nullopt;
  }

  std::string of_as() const {
    const std::optional<size_t> open = opening(at_);
    if (open && (is(*open - 1, "cast") || is(*open - 1, "try_cast"))) return of_type(between(*open + 1, at_), at_ + 1);
    return "the name comes first, in a map: {name: expression}";
  }

  // A value as the type at token `type`.
  std::string of_type(const std::string& value, size_t type) const {
    if (!is_name(type)) return "write the type as a function: f64(x)";
    const std::string word = in_small_letters(name(type));
    const std::string x = value.empty() ? "x" : value;
    if (std::find(types.begin(), types.end(), word) != types.end()) return fmt::format("write {}({})", word, x);
    const std::string_view usual = found_in(other_types, word);
    if (word == "int" || usual == "int") return fmt::format("write i64({}), or to_i64({}) for a text", x, x);
    if (word == "float" || usual == "float") return fmt::format("write f64({}), or to_f64({}) for a text", x, x);
    if (usual == "str") return fmt::format("write string({})", x);
    if (usual == "bool") return fmt::format("write bool({}) for a number, {} == 'true' for a text", x, x);
    if (word == "decimal" || word == "numeric" || usual == "numeric") {
      const bool scaled = is_symbol(type + 1, "(") && is_symbol(type + 3, ",") && type + 4 < tokens_.size() &&
                          tokens_[type + 4].kind == token_kind::integer;
      return fmt::format("write to_decimal({}, {})", x, scaled ? tokens_[type + 4].text : "2");
    }
    if (word == "date") return fmt::format("write to_date({})", x);
    if (word == "timestamp" || word == "datetime" || usual == "timestamp")
      return fmt::format("write to_timestamp({})", x);
    return fmt::format("write the type as a function: f64({})", x);
  }

  // The atom that ends before token `i`: a token, or what brackets hold, with the name before them.
  std::string left_of(size_t i) const {
    size_t begin = i - 1, open = 0;
    for (size_t at = i; at-- > 0;) {
      if (is_symbol(at, ")") || is_symbol(at, "]")) ++open;
      if ((is_symbol(at, "(") || is_symbol(at, "[")) && open > 0) --open;
      begin = at;
      if (open == 0) break;
    }
    if (open > 0) return {};
    const bool holds = is_symbol(begin, "(") || is_symbol(begin, "[");
    return between(holds && begin > 0 && is_name(begin - 1) ? begin - 1 : begin, i);
  }

  // extract(year from t), trim(both ' ' from x), substring(x from 1 for 3), SELECT x FROM y.
  std::string of_from() const {
    const std::optional<size_t> open = opening(at_);
    if (!open || !is_name(*open - 1))
      return "an expression has no FROM: it computes from the columns of the node's input, in: NODE";
    const std::string function = in_small_letters(name(*open - 1));
    if (function == "extract" && is_name(at_ - 1)) {
      size_t end = at_ + 1;
      while (end < tokens_.size() && !is_symbol(end, ")")) ++end;
      const std::string_view part = found_in(parts_of_times, in_small_letters(name(at_ - 1)));
      const std::string of = between(at_ + 1, end);
      if (!part.empty() && !of.empty() && of.find('(') == std::string::npos)
        return fmt::format("write {}({})", part, of);
      return "write year(t), month(t), day(t), hour(t) and so on";
    }
    if (function == "substring" || function == "substr")
      return "write text[a:b], which counts from 0: x[0:3] for substring(x from 1 for 3)";
    if (function == "trim") return std::string(trims);
    return known_elsewhere(function);
  }

  // d + interval '1' day, interval '1 day', interval 1 day
  std::string of_interval(size_t word) const {
    constexpr std::array units = {"second"sv, "minute"sv, "hour"sv,    "day"sv,
                                  "week"sv,   "month"sv,  "quarter"sv, "year"sv};
    std::string number, unit;
    if (word + 1 < tokens_.size()) {
      const std::string& given = tokens_[word + 1].text;
      const size_t digits = std::min(given.find_first_not_of("0123456789"), given.size());
      number = given.substr(0, digits);
      unit = in_small_letters(given.substr(digits));
    }
    std::erase(unit, ' ');
    if (unit.empty() && is_name(word + 2)) unit = in_small_letters(name(word + 2));
    if (unit.ends_with('s')) unit.pop_back();
    if (number.empty() || std::find(units.begin(), units.end(), unit) == units.end())
      return "write date_add('day', n, t), where n may be below 0";
    const bool back = word > 0 && is_symbol(word - 1, "-");
    const bool behind_column = word > 1 && is_name(word - 2) && (back || is_symbol(word - 1, "+"));
    return fmt::format("write date_add('{}', {}{}, {})", unit, back ? "-" : "", number,
                       behind_column ? name(word - 2) : "t");
  }

  const std::string_view text_;
  const std::vector<token>& tokens_;
  const size_t at_;
};

}  // namespace

std::string written_in_sql(std::string_view text, const std::vector<token>& tokens, size_t offset) {
  const auto at = std::find_if(tokens.begin(), tokens.end(), [&](const token& t) { return t.offset == offset; });
  if (at == tokens.end()) return {};
  return reader(text, tokens, static_cast<size_t>(at - tokens.begin())).advice();
}

bool means_null(std::string_view name) {
  const std::string word = in_small_letters(name);
  return word == "null" || word == "none" || word == "nil" || word == "na";
}

std::string instead_of_null(std::string_view column, bool present) {
  return fmt::format(
      "nothing is null here: where '{0}' is read, null_values: [\"\"] and missing: {{{0}: {0}_missing}} add a column "
      "that tells; then write {1}{0}_missing (docs/how-to/missing-values.md)",
      column, present ? "not " : "");
}

std::string word_known_elsewhere(std::string_view word) {
  if (means_null(word) || word == "notnull") return instead_of_null("x", word == "notnull");
  if (word == "interval") return "write date_add('day', n, t), where n may be below 0";
  if (word == "desc") return "write -x for falling order";
  if (word == "asc") return "write x alone: rising order needs no word";
  return std::string(found_in(clauses, word));
}

std::string in_capitals(std::string_view word, const std::vector<std::string>& known) {
  const std::string small = in_small_letters(word);
  if (small == word || std::find(known.begin(), known.end(), small) == known.end()) return {};
  return small == "count" ? "write count()" : fmt::format("write {}, in small letters", small);
}

std::string in_small_letters(std::string_view word) {
  std::string out(word);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return out;
}

}  // namespace flowrun::expr
