#include "specs/yaml_writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/error.h"
#include "specs/source_text.h"

namespace flowrun::specs {

namespace {

constexpr size_t longest_line = 110;
constexpr size_t indentation = 2;

// A code point of valid UTF-8, which is taken from the front.
char32_t take_character(std::string_view& text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  const size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  char32_t out = length == 1 ? lead : lead & (0x3FU >> (length - 1));
  for (size_t i = 1; i < length; ++i) out = out << 6 | (byte(i) & 0x3FU);
  text.remove_prefix(length);
  return out;
}

// Control characters, and what readers of YAML may take for the end of a line or of the text.
bool is_escaped(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x2028 || c == 0x2029 || c == 0xFEFF || c == 0xFFFE || c == 0xFFFF;
}

bool reads_plain(std::string_view text) {
  const auto is_safe = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
           c == '/' || c == '%' || c == '+' || c == '-';
  };
  const bool dash = text.starts_with('-') && (text.size() == 1 || text[1] < '0' || text[1] > '9');  // -1 is none
  return !text.empty() && !dash && text[0] != '.' && text[0] != '%' && text != "null" && text != "Null" &&
         text != "NULL" && !looks_octal(text) && std::all_of(text.begin(), text.end(), is_safe);
}

std::string in_quotes(std::string_view text, dollars style) {
  if (!is_utf8(text)) throw error(error_kind::bad_spec, fmt::format("'{}' is not UTF-8, which YAML can't say", text));
  std::string out = "\"";
  while (!text.empty()) {
    const std::string_view before = text;
    const char32_t c = take_character(text);
    if (c == '"' || c == '\\')
      out += fmt::format("\\{}", static_cast<char>(c));
    else if (c == '\t')
      out += "\\t";
    else if (is_escaped(c))
      out += c <= 0xFF ? fmt::format("\\x{:02x}", static_cast<uint32_t>(c))
                       : fmt::format("\\u{:04x}", static_cast<uint32_t>(c));
    else if (c == '$' && style == dollars::doubled)
      out += "$$";
    else
      out += before.substr(0, before.size() - text.size());
  }
  return out + "\"";
}

// Stands as it is, in one line or several.
bool is_bare(std::string_view text, bool several_lines) {
  if (!is_utf8(text)) return false;
  while (!text.empty()) {
    const char32_t c = take_character(text);
    if (is_escaped(c) && !(several_lines && c == '\n')) return false;
  }
  return true;
}

std::string replaced(std::string_view text, char what, std::string_view by) {
  std::string out;
  for (const char c : text) c == what ? out += by : out += c;
  return out;
}

std::string with_dollars(std::string_view text, dollars style) {
  return style == dollars::doubled ? replaced(text, '$', "$$") : std::string(text);
}

class writer {
 public:
  explicit writer(dollars style) : style_(style) {}

  // The entries of a map or the items of a list, each on lines of its own.
  void block(const Value& v, size_t indent) {
    for (const Entry& entry : v.map().entries()) {
      out_.append(indent, ' ');
      out_ += key(entry.key()) + ":";
      behind(entry.value(), indent, entry.key().size() + 1);
    }
    for (const Value& item : v.list().items()) {
      out_.append(indent, ' ');
      out_ += "-";
      behind(item, indent, 1);
    }
  }
  std::string take() { return std::move(out_); }

 private:
  // What stands behind a key or a dash.
  void behind(const Value& v, size_t indent, size_t num_written) {
    const bool is_section = indent == 0 && is_map(v) && !v.map().entries().empty();
    const std::string line = is_section ? std::string() : flow(v);
    const bool collection = (is_map(v) && !v.map().entries().empty()) || (is_list(v) && !v.list().items().empty());
    if (collection && (is_section || indent + num_written + 1 + line.size() > longest_line)) {
      out_ += "\n";
      block(v, indent + indentation);
    } else {
      out_ += (line.empty() ? "" : " ") + line + "\n";
    }
  }

  std::string flow(const Value& v) const {
    if (is_scalar(v)) return yaml_scalar(text(v), v.scalar().quoted(), style_);
    std::string out;
    const auto add = [&](const std::string& item) { out += (out.empty() ? "" : ", ") + item; };
    if (is_map(v)) {
      for (const Entry& entry : v.map().entries()) add(key(entry.key()) + ": " + flow(entry.value()));
      return "{" + out + "}";
    }
    if (is_list(v)) {
      for (const Value& item : v.list().items()) add(flow(item));
      return "[" + out + "]";
    }
    return "null";
  }

  // Nothing is replaced in keys, and none may look as if.
  static std::string key(const std::string& name) {
    if (name.find("${") != std::string::npos)
      throw error(error_kind::bad_spec, fmt::format("the key '{}' holds a parameter, which YAML can't say", name));
    return yaml_scalar(name, false, dollars::kept);
  }

  const dollars style_;
  std::string out_;
};

}  // namespace

std::string yaml_scalar(std::string_view text, bool quoted, dollars style) {
  return !quoted && reads_plain(text) ? std::string(text) : in_quotes(text, style);
}

std::optional<std::string> yaml_in_single_quotes(std::string_view text, dollars style) {
  if (!is_bare(text, false)) return std::nullopt;
  return "'" + replaced(with_dollars(text, style), '\'', "''") + "'";
}

std::optional<std::string> yaml_text_block(std::string_view text, size_t indent, dollars style) {
  if (text.empty() || text[0] == ' ' || text[0] == '\n' || !is_bare(text, true)) return std::nullopt;
  const size_t content = text.find_last_not_of('\n') + 1;
  const size_t num_ends = text.size() - content;
  std::string out = num_ends == 0 ? "|-" : num_ends == 1 ? "|" : "|+";
  std::string_view rest = text.substr(0, num_ends > 1 ? text.size() - 1 : content);
  for (bool more = true; more;) {
    const size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    more = end != std::string_view::npos;
    out += "\n";
    if (!line.empty()) out += std::string(indent, ' ') + with_dollars(line, style);
    if (more) rest.remove_prefix(end + 1);
  }
  return out;
}

std::string write_yaml(const Value& root, dollars style) {
  writer out(style);
  out.block(root, 0);
  return out.take();
}

}  // namespace flowrun::specs
