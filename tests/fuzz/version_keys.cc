// Names with versions: the keys' bytes have the order of sort -V, which is written down here once more as it is
// described (coreutils' manual, "Version sort ordering"): two names at a time, and nothing shared with the engine.
//
// An input is names, one in a line. What compares bytes is a strict weak order; that it is the right one is the
// property. The names' keys and their order are also what the expression and a sort's key make of them.
#include "engine/expr/version_key.h"

#include <algorithm>
#include <string>
#include <vector>

#include "tests/fuzz/input.h"
#include "tests/fuzz/property.h"
#include "tests/fuzz/target.h"

namespace flowrun::fuzz {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
int sign(int64_t x) { return x < 0 ? -1 : x > 0 ? 1 : 0; }

// Of one byte among those that are no digits; at a part's end there is none.
int rank(std::string_view text, size_t at) {
  if (at == text.size() || is_digit(text[at])) return 0;
  if (text[at] == '~') return -1;
  const auto c = static_cast<unsigned char>(text[at]);
  return is_letter(text[at]) ? c : 256 + c;
}

// Bytes and numbers in turns.
int compare_parts(std::string_view a, std::string_view b) {
  size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    while ((i < a.size() && !is_digit(a[i])) || (j < b.size() && !is_digit(b[j]))) {
      const int of_a = rank(a, i), of_b = rank(b, j);
      if (of_a != of_b) return sign(of_a - of_b);
      ++i;
      ++j;
    }
    while (i < a.size() && a[i] == '0') ++i;
    while (j < b.size() && b[j] == '0') ++j;
    const size_t from_a = i, from_b = j;
    while (i < a.size() && is_digit(a[i])) ++i;
    while (j < b.size() && is_digit(b[j])) ++j;
    const std::string_view x = a.substr(from_a, i - from_a), y = b.substr(from_b, j - from_b);
    if (x.size() != y.size()) return x.size() < y.size() ? -1 : 1;
    if (x != y) return sign(x.compare(y));
  }
  return 0;
}

// (\.[A-Za-z~][A-Za-z0-9~]*)*$ is left out: found from the end of the name, one suffix at a time.
std::string_view without_suffixes(std::string_view text) {
  while (true) {
    const size_t dot = text.rfind('.');
    if (dot == std::string_view::npos || dot + 1 == text.size()) return text;
    const std::string_view suffix = text.substr(dot + 1);
    if (!is_letter(suffix[0]) && suffix[0] != '~') return text;
    if (!std::all_of(suffix.begin(), suffix.end(), [](char c) { return is_letter(c) || is_digit(c) || c == '~'; }))
      return text;
    text = text.substr(0, dot);
  }
}

int compare(std::string_view a, std::string_view b) {
  const auto kind = [](std::string_view x) {
    return x.empty() ? 0 : x == "." ? 1 : x == ".." ? 2 : x[0] == '.' ? 3 : 4;
  };
  if (kind(a) != kind(b)) return sign(kind(a) - kind(b));
  if (kind(a) < 3) return 0;
  const int order = compare_parts(without_suffixes(a), without_suffixes(b));
  return order != 0 ? order : compare_parts(a, b);
}

std::string key_of(std::string_view text) {
  // No byte more than the bound says, so that what is written beyond it is seen.
  std::vector<char> bytes(expr::version_key_bound(text));
  const size_t length = expr::write_version_key(text, bytes.data());
  must_hold(length <= bytes.size(), "a key has {} bytes of {}", length, bytes.size());
  return {bytes.data(), length};
}

}  // namespace

void try_input(std::string_view bytes) {
  input in(bytes);
  std::vector<std::string> names, keys;
  while (!in.empty() && names.size() < 12) names.emplace_back(in.take_until('\n'));
  for (const std::string& name : names) keys.push_back(key_of(name));
  for (size_t i = 0; i < names.size(); ++i)
    for (size_t j = 0; j < names.size(); ++j) {
      const int order = sign(keys[i].compare(keys[j]));
      must_hold(order == compare(names[i], names[j]), "'{}' and '{}' are in order {}", names[i], names[j], order);
      must_hold(i == j || order == 0 || !keys[j].starts_with(keys[i]), "the key of '{}' begins that of '{}'", names[i],
                names[j]);
    }
}

}  // namespace flowrun::fuzz
