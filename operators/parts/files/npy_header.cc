#include "operators/parts/files/npy_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "engine/base/excerpt.h"
#include "operators/parts/text/csv_value.h"

namespace flowrun::operators {

namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr size_t prefix_bytes = magic.size() + 2;
constexpr int most_levels = 32;  // of fields in fields

uint64_t little_endian(std::string_view bytes) {
  uint64_t out = 0;
  for (size_t i = bytes.size(); i-- > 0;) out = out << 8 | static_cast<uint8_t>(bytes[i]);
  return out;
}

size_t length_bytes(std::string_view beginning) { return beginning[magic.size()] == 1 ? 2 : 4; }

void append_utf8(std::string& out, uint32_t c) {
  const auto tail = [c](int shift) { return static_cast<char>(0x80 | (c >> shift & 0x3F)); };
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += {static_cast<char>(0xC0 | c >> 6), tail(0)};
  } else if (c < 0x10000) {
    out += {static_cast<char>(0xE0 | c >> 12), tail(6), tail(0)};
  } else {
    out += {static_cast<char>(0xF0 | c >> 18), tail(12), tail(6), tail(0)};
  }
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Reads the literal from front to back. Each part throws at the byte that it can't take.
class header_reader {
 public:
  header_reader(std::string_view text, uint64_t text_begin, bool is_utf8)
      : text_(text), begin_(text_begin), is_utf8_(is_utf8) {}

  npy_header read() {
    npy_header out;
    std::set<std::string> keys;
    expect('{');
    while (!take('}')) {
      const uint64_t at = offset();
      const std::string key = string();
      if (!keys.insert(key).second) throw npy_header_error(at, fmt::format("'{}' is there twice", key));
      expect(':');
      if (key == "descr") {
        descr(out);
      } else if (key == "fortran_order") {
        out.fortran_order = truth();
      } else if (key == "shape") {
        out.shape = shape();
      } else {
        throw npy_header_error(at, fmt::format("{} is none of descr, fortran_order and shape", quoted_excerpt(key)));
      }
      if (take(',')) continue;
      expect('}');
      break;
    }
    blanks();
    if (at_ != text_.size()) fail("the end of the header");
    for (const char* key : {"descr", "fortran_order", "shape"})
      if (!keys.contains(key)) throw npy_header_error(begin_, fmt::format("the header has no '{}'", key));
    return out;
  }

 private:
  uint64_t offset() const { return begin_ + at_; }

  [[noreturn]] void fail(std::string_view expected) const {
    throw npy_header_error(
        offset(), fmt::format("expected {}, got {}", expected,
                              at_ == text_.size() ? "the end of the header" : quoted_excerpt(text_.substr(at_, 20))));
  }

  void blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }
  bool sees(char c) {
    blanks();
    return at_ < text_.size() && text_[at_] == c;
  }
  bool take(char c) {
    if (!sees(c)) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail(fmt::format("'{}'", c));
  }

  bool truth() {
    blanks();
    for (const bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (!text_.substr(at_).starts_with(word)) continue;
      at_ += word.size();
      return value;
    }
    fail("True or False");
  }

  uint64_t number() {
    blanks();
    if (at_ == text_.size() || !is_digit(text_[at_])) fail("a number");
    const uint64_t from = offset();
    uint64_t out = 0;
    for (; at_ < text_.size() && is_digit(text_[at_]); ++at_) {
      const auto digit = static_cast<uint64_t>(text_[at_] - '0');
      if (out > (uint64_t{1} << 62) / 10) throw npy_header_error(from, "the number is too large");
      out = out * 10 + digit;
    }
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // as Python 2 wrote long numbers
    return out;
  }

  // (), (3,), (3, 4), and in a field also 3.
  std::vector<uint64_t> shape(bool may_be_number = false) {
    if (may_be_number && !sees('(')) return {number()};
    std::vector<uint64_t> out;
    expect('(');
    while (!take(')')) {
      out.push_back(number());
      if (take(',')) continue;
      if (out.size() == 1) fail("','");  // (3) is a number
      expect(')');
      break;
    }
    return out;
  }

  uint32_t hexadecimal(size_t num_digits) {
    uint32_t out = 0;
    for (size_t i = 0; i < num_digits; ++i, ++at_) {
      const char c = at_ < text_.size() ? text_[at_] : ' ';
      const char low = static_cast<char>(c | 0x20);
      if (is_digit(c))
        out = out << 4 | static_cast<uint32_t>(c - '0');
      else if (low >= 'a' && low <= 'f')
        out = out << 4 | static_cast<uint32_t>(low - 'a' + 10);
      else
        fail("a hexadecimal digit");
    }
    return out;
  }

  std::string string() {
    blanks();
    if (at_ < text_.size() && text_[at_] == 'u') ++at_;  // as Python 2 wrote Unicode
    if (at_ == text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) fail("a string");
    const char quote = text_[at_++];
    std::string out;
    for (;;) {
      if (at_ == text_.size()) fail(fmt::format("{}, the end of a string", quote));
      const char c = text_[at_++];
      if (c == quote) return out;
      if (c == '\\')
        escape(out);
      else if (is_utf8_)
        out += c;
      else
        append_utf8(out, static_cast<uint8_t>(c));
    }
  }

  // As repr() of Python writes them.
  void escape(std::string& out) {
    const char c = at_ < text_.size() ? text_[at_++] : ' ';
    constexpr std::string_view named = "\\'\"ntr", meant = "\\'\"\n\t\r";
    if (const size_t i = named.find(c); i != std::string_view::npos) {
      out += meant[i];
      return;
    }
    const size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (digits == 0) {
      --at_;
      fail("a character that may stand behind a backslash");
    }
    const uint32_t code = hexadecimal(digits);
    if (code > 0x10FFFF) throw npy_header_error(offset(), "there is no such character");
    append_utf8(out, code);
  }

  // The type of the elements: a string, or a list of fields.
  void descr(npy_header& out) {
    out.structured = sees('[');
    if (out.structured) {
      out.element_bytes = fields(out.fields, 0);
    } else {
      out.fields.push_back(simple());
      out.element_bytes = out.fields.front().num_bytes;
    }
  }

  uint64_t added(uint64_t a, uint64_t b) const {
    if (a + b > most_npy_row_bytes) throw npy_header_error(offset(), "an element takes more than 2 GiB");
    return a + b;
  }

  // [('name', '<f8'), ('both', [('x', '<f4'), ('y', '<f4')]), ('three', '<u2', (3,)), (('title', 'name'), '|S5')];
  // returns the bytes of all. What has no name is padding.
  uint64_t fields(std::vector<npy_field>& out, int level) {
    if (level > most_levels) fail("fewer lists within each other");
    std::set<std::string> names;
    uint64_t end = 0;
    expect('[');
    while (!take(']')) {
      expect('(');
      const uint64_t at = offset();
      std::string name;
      if (take('(')) {
        string();
        expect(',');
        name = string();
        take(',');
        expect(')');
      } else {
        name = string();
      }
      expect(',');
      npy_field field = one_field(level);
      field.name = std::move(name);
      field.offset = end;
      end = added(end, field.num_bytes);
      if (!field.name.empty()) {
        if (!names.insert(field.name).second)
          throw npy_header_error(at, fmt::format("two fields are called {}", quoted_excerpt(field.name)));
        out.push_back(std::move(field));
      }
      if (take(',')) continue;
      expect(']');
      break;
    }
    return end;
  }

  // Behind the name, to the end of the tuple.
  npy_field one_field(int level) {
    npy_field out;
    blanks();
    const size_t from = at_;
    if (sees('[')) {
      std::vector<npy_field> inner;
      out.num_bytes = fields(inner, level + 1);
      out.kind = '(';
      out.text = text_.substr(from, at_ - from);
    } else {
      out = simple();
    }
    if (take(',') && !sees(')')) {
      for (const uint64_t n : shape(true)) {
        if (n > 0 && out.num_bytes > most_npy_row_bytes / n)
          throw npy_header_error(offset(), "an element takes more than 2 GiB");
        out.num_bytes *= n;
      }
      out.kind = '(';
      out.text = text_.substr(from, at_ - from);
      take(',');
    }
    expect(')');
    return out;
  }

  // '<f8', '|S10', '<M8[us]'
  npy_field simple() {
    blanks();
    const uint64_t at = offset();
    npy_field out;
    out.text = string();
    std::string_view rest = out.text;
    const auto wrong = [&] {
      return npy_header_error(at, fmt::format("{} is no type of NumPy", quoted_excerpt(out.text)));
    };
    if (!rest.empty() && std::string_view("<>|=").find(rest.front()) != std::string_view::npos) {
      out.big_endian = rest.front() == '>';
      rest.remove_prefix(1);
    }
    if (rest.empty()) throw wrong();
    out.kind = rest.front();
    rest.remove_prefix(1);
    if (out.kind == 'O')
      throw npy_header_error(at, "the array holds objects of Python (dtype object), which lie pickled in the file");
    uint64_t number = 0;
    if (rest.empty() || !is_digit(rest.front())) throw wrong();
    for (; !rest.empty() && is_digit(rest.front()); rest.remove_prefix(1)) {
      number = number * 10 + static_cast<uint64_t>(rest.front() - '0');
      if (number > most_npy_row_bytes) throw npy_header_error(at, "an element takes more than 2 GiB");
    }
    if (out.kind == 'M' || out.kind == 'm') {
      if (rest.size() >= 3 && rest.front() == '[' && rest.back() == ']') {
        out.unit = rest.substr(1, rest.size() - 2);
        rest = {};
      }
      if (number != 8) throw wrong();
    }
    if (!rest.empty()) throw wrong();
    const auto is_one_of = [number](std::initializer_list<uint64_t> widths) {
      return std::find(widths.begin(), widths.end(), number) != widths.end();
    };
    bool known = true;
    switch (out.kind) {
      case 'b': known = number == 1; break;
      case 'i':
      case 'u': known = is_one_of({1, 2, 4, 8}); break;
      case 'f': known = is_one_of({2, 4, 8, 12, 16}); break;
      case 'c': known = is_one_of({8, 16, 24, 32}); break;
      case 'U': number *= 4; break;
      case 'S':
      case 'V':
      case 'M':
      case 'm': break;
      default: known = false;
    }
    if (!known) throw wrong();
    out.num_bytes = number;
    return out;
  }

  const std::string_view text_;
  const uint64_t begin_;  // of the text, in the file
  const bool is_utf8_;
  size_t at_ = 0;
};

}  // namespace

uint64_t npy_bytes_needed(std::string_view beginning) {
  const size_t seen = std::min(beginning.size(), magic.size());
  if (beginning.substr(0, seen) != magic.substr(0, seen))
    throw npy_header_error(0, fmt::format("expected a NumPy file, which begins with \\x93NUMPY, got {}",
                                          quoted_excerpt(beginning.substr(0, 20))));
  if (beginning.size() < prefix_bytes) return prefix_bytes;
  const int major = static_cast<uint8_t>(beginning[magic.size()]),
            minor = static_cast<uint8_t>(beginning[magic.size() + 1]);
  if (major < 1 || major > 3 || minor != 0)
    throw npy_header_error(magic.size(), fmt::format("version {}.{} of the format isn't known", major, minor));
  const size_t text_begin = prefix_bytes + length_bytes(beginning);
  if (beginning.size() < text_begin) return text_begin;
  const uint64_t length = little_endian(beginning.substr(prefix_bytes, length_bytes(beginning)));
  if (length > most_npy_header_bytes)
    throw npy_header_error(prefix_bytes, fmt::format("a header of {} bytes: more than a MiB", length));
  return text_begin + length;
}

npy_header read_npy_header(std::string_view beginning) {
  const uint64_t num_bytes = npy_bytes_needed(beginning);
  const size_t text_begin = prefix_bytes + length_bytes(beginning);
  const std::string_view text = beginning.substr(text_begin, num_bytes - text_begin);
  npy_header out = header_reader(text, text_begin, beginning[magic.size()] == 3).read();
  out.num_bytes = num_bytes;
  // So that whoever multiplies needn't look.
  uint64_t total = out.element_bytes;
  for (size_t i = out.shape.size(); i-- > 0;) {
    const uint64_t most = i == 0 ? uint64_t{1} << 62 : most_npy_row_bytes;
    if (out.shape[i] > 0 && total > most / out.shape[i])
      throw npy_header_error(text_begin, fmt::format("a dimension of {} is more than any file has", out.shape[i]));
    total *= out.shape[i];
  }
  return out;
}

std::optional<record::value_type> value_type_of(const npy_field& field) {
  using record::type_kind;
  using record::value_type;
  struct pair {
    char kind;
    uint64_t num_bytes;
    type_kind as;
  };
  static constexpr std::array pairs = {
      pair{'b', 1, type_kind::boolean}, pair{'u', 1, type_kind::u8},  pair{'u', 2, type_kind::u16},
      pair{'u', 4, type_kind::u32},     pair{'u', 8, type_kind::u64}, pair{'i', 1, type_kind::i8},
      pair{'i', 2, type_kind::i16},     pair{'i', 4, type_kind::i32}, pair{'i', 8, type_kind::i64},
      pair{'f', 4, type_kind::f32},     pair{'f', 8, type_kind::f64}};
  for (const pair& p : pairs)
    if (p.kind == field.kind && p.num_bytes == field.num_bytes) return value_type::of(p.as);
  if (field.kind == 'M' && field.unit == "D") return value_type::of(type_kind::date);
  if (field.kind == 'M' && field.unit == "us") return value_type::of(type_kind::timestamp);
  if ((field.kind == 'S' || field.kind == 'V') && field.num_bytes >= 1 && field.num_bytes <= record::max_fixed_bytes)
    return value_type::fixed_bytes(static_cast<uint32_t>(field.num_bytes));
  return std::nullopt;
}

}  // namespace flowrun::operators
