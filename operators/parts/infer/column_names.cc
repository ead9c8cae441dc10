#include "operators/parts/infer/column_names.h"

#include <fmt/format.h>

#include "engine/expr/expression.h"
#include "specs/value.h"

namespace flowrun::operators {

namespace {

constexpr size_t longest_name = 60;
constexpr size_t longest_kept = 250;  // of a name as it is: YAML's keys end at 1,024 bytes

bool is_name(const std::string& text) {
  return text.size() <= longest_kept && specs::is_column_name(text) && !expr::is_reserved_word(text);
}

// Letters, digits and _ in lower case; anything else becomes one _ between them.
std::string words_of(std::string_view text) {
  std::string out;
  bool gap = false;
  for (const char c : text) {
    const bool upper = c >= 'A' && c <= 'Z';
    const bool kept = upper || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (!kept) {
      gap = true;
      continue;
    }
    if (gap && !out.empty()) out += '_';
    gap = false;
    out += upper ? static_cast<char>(c + ('a' - 'A')) : c;
    if (out.size() >= longest_name) break;
  }
  return out;
}

}  // namespace

std::string free_names::take(const std::string& wanted) {
  std::string out = wanted;
  // Numbers that were tried in vain are not tried again: a thousand columns may have one name.
  for (size_t& number = next_[wanted]; taken_.contains(out) || expr::is_reserved_word(out); ++number)
    out = fmt::format("{}_{}", wanted, number + 2);
  taken_.insert(out);
  return out;
}

std::vector<std::string> column_names(const std::vector<std::string>& headers) {
  std::vector<std::string> out(headers.size());
  free_names names;
  for (size_t i = 0; i < headers.size(); ++i)
    if (is_name(headers[i]) && !names.is_taken(headers[i])) out[i] = names.take(headers[i]);
  for (size_t i = 0; i < headers.size(); ++i) {
    if (!out[i].empty()) continue;
    std::string wanted = words_of(headers[i]);
    if (wanted.empty()) wanted = fmt::format("column_{}", i + 1);
    if (!specs::is_column_name(wanted)) wanted = "_" + wanted;  // begins with a digit
    out[i] = names.take(wanted);
  }
  return out;
}

std::string node_name(const std::string& path, std::string_view fallback) {
  const size_t slash = path.rfind('/');
  std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  name = name.substr(0, name.find('.', 1));
  name = words_of(name);
  if (name.empty()) return std::string(fallback);
  return specs::is_id(name) ? name : "_" + name;
}

}  // namespace flowrun::operators
