#include "engine/expr/lexer.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

#include "engine/expr/lane.h"

namespace flowrun::expr {

namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

int digit_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 99;
}

// How a character looks in a message.
std::string shown(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 && byte < 0x7f ? fmt::format("'{}'", c) : fmt::format("byte 0x{:02x}", byte);
}

class lexer {
 public:
  lexer(std::string_view text, std::vector<problem>& problems) : text_(text), problems_(problems) {}

  std::vector<token> run() {
    while (true) {
      while (at_ < text_.size() &&
             (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r'))
        ++at_;
      if (at_ >= text_.size()) break;
      const char c = text_[at_];
      if (c == 'r' && (peek(1) == '\'' || peek(1) == '"')) {
        raw_literal(peek(1));
      } else if (is_letter(c)) {
        name();
      } else if (is_digit(c) || (c == '.' && is_digit(peek(1)))) {
        number();
      } else if (c == '\'' || c == '"') {
        literal(c);
      } else {
        symbol();
      }
    }
    tokens_.push_back({token_kind::end, text_.size(), 0, "", 0});
    return std::move(tokens_);
  }

 private:
  char peek(size_t ahead) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  void fault(size_t offset, std::string message, std::string expected = {}, std::string hint = {}) {
    problems_.push_back({offset, std::move(message), std::move(expected), std::move(hint)});
  }

  void name() {
    const size_t from = at_;
    while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
    tokens_.push_back({token_kind::name, from, at_ - from, std::string(text_.substr(from, at_ - from)), 0});
  }

  void number() {
    const size_t from = at_;
    int base = 10;
    if (text_[at_] == '0' && (peek(1) == 'x' || peek(1) == 'X')) base = 16;
    if (text_[at_] == '0' && (peek(1) == 'b' || peek(1) == 'B')) base = 2;
    if (base != 10) at_ += 2;
    // Takes everything that looks like one number, so that "12ab" is one wrong number and not two tokens.
    bool real = false;
    std::string digits;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      const bool exponent_sign =
          base == 10 && (c == '+' || c == '-') && !digits.empty() && (digits.back() == 'e' || digits.back() == 'E');
      if (!is_letter(c) && !is_digit(c) && c != '.' && !exponent_sign) break;
      if (base == 10 && (c == '.' || c == 'e' || c == 'E')) real = true;
      if (c != '_') digits += c;
      ++at_;
    }
    token t{real ? token_kind::real : token_kind::integer, from, at_ - from,
            std::string(text_.substr(from, at_ - from)), 0};
    const char* const last = digits.data() + digits.size();
    if (real) {
      double value = 0;
      const auto [end, status] = std::from_chars(digits.data(), last, value);
      if (end != last || status == std::errc::invalid_argument)
        fault(from, fmt::format("'{}' is not a number", t.text), "a number like 12, 0x1f, 0b101, 1_000 or 2.5e3");
      else if (status != std::errc())
        fault(from, fmt::format("'{}' is out of the range of f64", t.text));
      t.integer = lane::bits(value);
    } else {
      const auto [end, status] = std::from_chars(digits.data(), last, t.integer, base);
      if (digits.empty() || end != last)
        fault(from, fmt::format("'{}' is not a number", t.text), "a number like 12, 0x1f, 0b101, 1_000 or 2.5e3");
      else if (status == std::errc::result_out_of_range)
        fault(from, fmt::format("'{}' does not fit in 64 bits", t.text), "at most 18446744073709551615");
      else if (base == 10 && digits.size() > 1 && digits[0] == '0')
        fault(from, fmt::format("'{}' starts with a zero", t.text), "a decimal number without leading zeros",
              is_in_a_date(from) ? fmt::format("a date stands in quotes: '{}'", text_.substr(from - 5, 10))
                                 : "write 0x… for base 16 or 0b… for base 2; there is no base 8");
    }
    tokens_.push_back(std::move(t));
  }

  // Of 2026-01-31, at the month.
  bool is_in_a_date(size_t month) const {
    if (month < 5 || text_.size() < month + 5) return false;
    const std::string_view date = text_.substr(month - 5, 10);
    for (size_t i = 0; i < date.size(); ++i)
      if (i == 4 || i == 7 ? date[i] != '-' : date[i] < '0' || date[i] > '9') return false;
    return true;
  }

  // r'\d+': as it stands, for regular expressions.
  void raw_literal(char quote) {
    const size_t from = at_, begin = from + 2, end = text_.find(quote, begin);
    if (end == std::string_view::npos)
      fault(from, "text literal without its end", fmt::format("a closing {}", quote == '"' ? "\"" : "'"));
    at_ = end == std::string_view::npos ? text_.size() : end + 1;
    tokens_.push_back({token_kind::text, from, at_ - from, std::string(text_.substr(begin, end - begin)), 0});
  }

  // The literal that begins at `from`, for like and regular expressions.
  std::string in_raw_quotes(size_t from, char quote) const {
    constexpr size_t longest = 60;
    const size_t end = text_.find(quote, from + 1);
    const std::string_view inside =
        end == std::string_view::npos ? std::string_view() : text_.substr(from + 1, end - from - 1);
    const bool whole = !inside.empty() && inside.size() <= longest && !inside.ends_with('\\');
    return fmt::format("in r'…' a backslash is itself, for like and for regular expressions{}",
                       whole ? fmt::format(": r{0}{1}{0}", quote, inside) : "");
  }

  void literal(char quote) {
    const size_t from = at_++;
    std::string value;
    while (at_ < text_.size() && text_[at_] != quote) {
      if (text_[at_] != '\\') {
        value += text_[at_++];
        continue;
      }
      const size_t escape = at_++;
      const char c = at_ < text_.size() ? text_[at_++] : '\0';
      switch (c) {
        case 'n': value += '\n'; break;
        case 't': value += '\t'; break;
        case 'r': value += '\r'; break;
        case '0': value += '\0'; break;
        case '\\':
        case '\'':
        case '"': value += c; break;
        case 'x': {
          const int high = digit_value(peek(0)), low = digit_value(peek(1));
          if (high < 16 && low < 16) {
            value += static_cast<char>(high * 16 + low);
            at_ += 2;
          } else {
            fault(escape, "\\x without two hexadecimal digits", "for example \\x41");
          }
          break;
        }
        default:
          fault(escape, "unknown escape in a text", "one of \\n \\t \\r \\0 \\\\ \\' \\\" \\x41",
                in_raw_quotes(from, quote));
          break;
      }
    }
    if (at_ >= text_.size())
      fault(from, "text literal without its end", fmt::format("a closing {}", quote == '"' ? "\"" : "'"));
    else
      ++at_;
    tokens_.push_back({token_kind::text, from, at_ - from, std::move(value), 0});
  }

  void symbol() {
    static constexpr std::array<std::string_view, 24> symbols = {"==", "!=", "<=", ">=", "<<", ">>", "**", "//",
                                                                 "<",  ">",  "+",  "-",  "*",  "/",  "%",  "&",
                                                                 "|",  "^",  "~",  "(",  ")",  "[",  "]",  ","};
    struct mistake {
      std::string_view written, hint;
      std::string_view taken_as;
    };
    static constexpr std::array<mistake, 5> mistakes = {
        {{"&&", "write and", "and"},
         {"||", "write or between conditions, concat(a, b) to join texts", "or"},
         {"<>", "write !=", "!="},
         {"!", "write not", "not"},
         {"=", "write == to compare", "=="}}};
    const std::string_view rest = text_.substr(at_);
    for (const mistake& m : mistakes) {
      if (!rest.starts_with(m.written) || rest.starts_with("!=") || rest.starts_with("==")) continue;
      fault(at_, fmt::format("unknown operator '{}'", m.written), "", std::string(m.hint));
      const bool word = m.taken_as[0] >= 'a';
      tokens_.push_back(
          {word ? token_kind::name : token_kind::symbol, at_, m.written.size(), std::string(m.taken_as), 0});
      at_ += m.written.size();
      return;
    }
    for (std::string_view s : symbols) {
      if (!rest.starts_with(s)) continue;
      tokens_.push_back({token_kind::symbol, at_, s.size(), std::string(s), 0});
      at_ += s.size();
      return;
    }
    if (rest[0] == ':' || rest[0] == '.') {
      tokens_.push_back({token_kind::symbol, at_, 1, std::string(1, rest[0]), 0});
      ++at_;
      return;
    }
    std::string hint;
    if (rest[0] == '?') hint = "write if(condition, a, b)";
    // “ ” ‘ ’, as word processors and web pages write them.
    for (const std::string_view curly : {"\xE2\x80\x9C", "\xE2\x80\x9D", "\xE2\x80\x98", "\xE2\x80\x99"})
      if (rest.starts_with(curly)) hint = "this is a curly quote: write straight ones, ' or \"";
    if (rest[0] == '$') hint = "parameters are written ${name} and are put in before the expression is read";
    fault(at_, fmt::format("unexpected {}", shown(rest[0])), "", std::move(hint));
    while (at_ < text_.size() && static_cast<unsigned char>(text_[at_]) >= 0x80) ++at_;
    if (static_cast<unsigned char>(rest[0]) < 0x80) ++at_;
  }

  std::string_view text_;
  std::vector<problem>& problems_;
  std::vector<token> tokens_;
  size_t at_ = 0;
};

}  // namespace

std::vector<token> lex(std::string_view text, std::vector<problem>& problems) {
  if (text.size() > max_text_bytes) {
    problems.push_back({0, fmt::format("the expression is {} bytes long", text.size()),
                        fmt::format("at most {} bytes", max_text_bytes), "split it over several map nodes"});
    return {token{}};
  }
  return lexer(text, problems).run();
}

}  // namespace flowrun::expr
