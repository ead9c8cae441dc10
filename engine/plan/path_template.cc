#include "engine/plan/path_template.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <filesystem>
#include <utility>

#include "specs/value.h"

namespace flowrun::plan {

namespace {

constexpr std::string_view brace_hint = "a brace that belongs to the name is written twice: {{ and }}";

// Looks at what lies between the columns.
std::optional<path_template::problem> fault_of(const std::vector<path_template::part>& parts, const std::string& tail) {
  for (size_t i = 1; i < parts.size(); ++i)
    if (parts[i].literal.empty())
      return path_template::problem{
          parts[i].at,
          fmt::format("nothing stands between {{{}}} and {{{}}}, so different values could give one name",
                      parts[i - 1].column, parts[i].column),
          "something between two columns",
          fmt::format("{{{}}}/{{{}}}, or {{{}}}-{{{}}}", parts[i - 1].column, parts[i].column, parts[i - 1].column,
                      parts[i].column)};
  if (tail.ends_with('/'))
    return path_template::problem{parts.back().at, "the path names a directory", "a path that ends with a file's name",
                                  "say how the files in it are called: …/part.csv"};
  // The text behind each column, where ".." would lead out of the directory that the values name.
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::string& behind = i + 1 < parts.size() ? parts[i + 1].literal : tail;
    const size_t first = behind.find('/');
    if (first == std::string::npos) continue;
    const bool ends = i + 1 == parts.size();
    const std::string inner = behind.substr(first) + (ends ? "/" : "");
    if (inner.find("/../") != std::string::npos)
      return path_template::problem{parts[i].at, fmt::format("'..' stands behind {{{}}}", parts[i].column),
                                    "a path that goes down from there", "write the directory without '..'"};
  }
  return std::nullopt;
}

// A character, or any text but '/'.
struct symbol {
  char character = 0;
  bool any = false;
};

std::vector<symbol> symbols_of(const path_template& t) {
  // A mark that no path has stands for a column, while the rest is put into its normal form.
  constexpr char mark = '\0';
  std::string text;
  for (const path_template::part& p : t.parts()) (text += p.literal) += mark;
  text += t.tail();
  std::vector<symbol> out;
  for (const char c : std::filesystem::path(text).lexically_normal().string()) out.push_back({c, c == mark});
  return out;
}

}  // namespace

std::optional<path_template> path_template::parse(const specs::Value& path, problem& why) {
  return parse(specs::text(path), path.scalar().inserted(), why);
}

std::optional<path_template> path_template::parse(std::string_view text, const spans& inserted, problem& why) {
  const auto is_brace = [&](size_t i) {
    return (text[i] == '{' || text[i] == '}') &&
           std::none_of(inserted.begin(), inserted.end(),
                        [i](const specs::Span& s) { return s.begin() <= i && i < s.end(); });
  };
  path_template out;
  std::string literal;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (!is_brace(i)) {
      literal += c;
      continue;
    }
    if (i + 1 < text.size() && text[i + 1] == c && is_brace(i + 1)) {
      literal += c;
      ++i;
      continue;
    }
    if (c == '}') {
      why = {i, "no '{' belongs to this '}'", "{column}", std::string(brace_hint)};
      return std::nullopt;
    }
    size_t end = i + 1;
    while (end < text.size() && !is_brace(end)) ++end;
    if (end == text.size() || text[end] == '{') {
      why = {i, "no '}' belongs to this '{'", "{column}", std::string(brace_hint)};
      return std::nullopt;
    }
    if (end == i + 1) {
      why = {i, "{} names no column", "{column}", std::string(brace_hint)};
      return std::nullopt;
    }
    out.parts_.push_back({std::exchange(literal, {}), std::string(text.substr(i + 1, end - i - 1)), i + 1});
    i = end;
  }
  out.tail_ = std::move(literal);
  if (out.parts_.empty()) return out;
  if (std::optional<problem> found = fault_of(out.parts_, out.tail_)) {
    why = std::move(*found);
    return std::nullopt;
  }
  return out;
}

path_template path_template::of_file(std::string path) {
  path_template out;
  out.tail_ = std::move(path);
  return out;
}

std::string path_template::escaped(std::string_view path) {
  std::string out;
  for (const char c : path) out.append(c == '{' || c == '}' ? 2 : 1, c);
  return out;
}

std::vector<std::string> path_template::columns() const {
  std::vector<std::string> out;
  for (const part& p : parts_)
    if (std::find(out.begin(), out.end(), p.column) == out.end()) out.push_back(p.column);
  return out;
}

std::string path_template::directory() const {
  const std::string& fixed = parts_.empty() ? tail_ : parts_.front().literal;
  const size_t slash = fixed.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : fixed.substr(0, slash);
}

std::string path_template::shown() const {
  std::string out;
  for (const part& p : parts_) out += fmt::format("{}{{{}}}", p.literal, p.column);
  return out + tail_;
}

std::string path_template::rest() const {
  const std::string& fixed = parts_.empty() ? tail_ : parts_.front().literal;
  return shown().substr(fixed.rfind('/') + 1);
}

std::string path_template::text_in(const std::string& directory) const {
  std::string out = escaped(directory) + "/";
  for (const part& p : parts_) {
    const bool first = &p == &parts_.front();
    out += escaped(first ? p.literal.substr(p.literal.rfind('/') + 1) : p.literal);
    out += fmt::format("{{{}}}", p.column);
  }
  return out + escaped(tail_);
}

// Walks along both: reached[i][j] says that the first i symbols of one and the first j of the other may be one text.
bool may_name_same(const path_template& a, const path_template& b) {
  const std::vector<symbol> x = symbols_of(a), y = symbols_of(b);
  if (x.size() > PATH_MAX || y.size() > PATH_MAX) return false;  // no file has such a name
  std::vector<std::vector<bool>> reached(x.size() + 1, std::vector<bool>(y.size() + 1));
  reached[0][0] = true;
  for (size_t i = 0; i <= x.size(); ++i)
    for (size_t j = 0; j <= y.size(); ++j) {
      if (!reached[i][j]) continue;
      const bool more_x = i < x.size(), more_y = j < y.size();
      // No value is empty in a name, but that one ends where the other goes on does no harm here.
      if (more_x && x[i].any) {
        reached[i + 1][j] = true;
        if (more_y && (y[j].any || y[j].character != '/')) reached[i][j + 1] = true;
      }
      if (more_y && y[j].any) {
        reached[i][j + 1] = true;
        if (more_x && (x[i].any || x[i].character != '/')) reached[i + 1][j] = true;
      }
      if (more_x && more_y && !x[i].any && !y[j].any && x[i].character == y[j].character) reached[i + 1][j + 1] = true;
    }
  return reached[x.size()][y.size()];
}

}  // namespace flowrun::plan
