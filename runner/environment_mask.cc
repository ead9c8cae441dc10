#include "runner/environment_mask.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "engine/base/excerpt.h"
#include "operators/parts/files/name_text.h"
#include "specs/message_texts.h"

namespace flowrun::runner {

namespace {

constexpr size_t least_bytes = 4;
constexpr std::string_view cut_mark = "…";

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

// As specs::quotable() writes it with a blank, but for its length, and what differs in a test with a question mark.
std::string without_control_characters(std::string text, char by) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = by;
  return text;
}

// As quoted_excerpt() writes it.
std::string as_excerpt(const std::string& text) {
  const std::string quoted = quoted_excerpt(text, text.size());
  return quoted.substr(1, quoted.size() - 2);
}

// In names of files and labels of graphs.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

// As a field of a CSV file writes it.
std::string with_doubled_quotes(std::string text) {
  replace_all(text, "\"", "\"\"");
  return text;
}

std::string in_a_file_name(const std::string& text) {
  std::string out;
  operators::append_name_text(text, out);
  return out;
}

// What a message may show of it alone: a line, or what stands between two quotes where it is put into an expression.
std::vector<std::string> pieces_of(std::string_view text) {
  std::vector<std::string> out;
  while (true) {
    const size_t end = std::min(text.find_first_of("'\"\n\r"), text.size());
    if (end >= least_bytes) out.emplace_back(text.substr(0, end));
    if (end == text.size()) return out;
    text.remove_prefix(end + 1);
  }
}

// A message shows the first bytes of the value, and that there is more: it…, or "it"….
void replace_cut(std::string& text, std::string_view value, std::string_view by) {
  for (size_t at = text.find(cut_mark); at != std::string::npos; at = text.find(cut_mark, at + 1)) {
    const size_t end = at > 0 && text[at - 1] == '"' ? at - 1 : at;
    for (size_t length = std::min(value.size(), end); length >= least_bytes; --length) {
      if (text.compare(end - length, length, value, 0, length) != 0) continue;
      text.replace(end - length, length, by);
      at = text.find(cut_mark, end - length);
      break;
    }
  }
}

// Names that stand in the job as they are, and words of the program's own: no value of the environment is in them.
bool is_identifier(std::string_view field) {
  constexpr std::array<std::string_view, 14> fields = {"id",         "op",        "role",   "node",    "nodes",
                                                       "from",       "from_port", "to",     "to_port", "part",
                                                       "fused_with", "inside",    "status", "state"};
  return std::find(fields.begin(), fields.end(), field) != fields.end();
}

}  // namespace

void environment_mask::add(const std::vector<specs::environment_value>& values) {
  for (const specs::environment_value& v : values) {
    if (v.value.empty()) continue;
    const std::string shown = "${env:" + v.name + "}";
    std::vector<std::string> forms = {v.value,
                                      without_control_characters(v.value, ' '),
                                      without_control_characters(v.value, '?'),
                                      escaped(v.value),
                                      as_excerpt(v.value),
                                      with_doubled_quotes(v.value),
                                      in_a_file_name(v.value),
                                      std::filesystem::path(v.value).lexically_normal().string()};
    for (std::string& piece : pieces_of(v.value)) forms.push_back(std::move(piece));
    for (const std::string& form : forms)
      if (!form.empty() &&
          std::none_of(hidden_.begin(), hidden_.end(), [&](const hidden& h) { return h.value == form; }))
        hidden_.push_back({form, shown});
  }
  std::stable_sort(hidden_.begin(), hidden_.end(),
                   [](const hidden& a, const hidden& b) { return a.value.size() > b.value.size(); });
}

std::string environment_mask::masked(std::string_view text) const {
  std::string out(text);
  for (const hidden& h : hidden_) {
    if (h.value.size() < least_bytes) {
      for (const std::string quote : {"'", "\""}) replace_all(out, quote + h.value + quote, quote + h.shown + quote);
      continue;
    }
    replace_all(out, h.value, h.shown);
    replace_cut(out, h.value, h.shown);
  }
  return out;
}

std::string environment_mask::masked_whole(std::string_view text) const {
  for (const hidden& h : hidden_)
    if (h.value == text) return h.shown;
  return std::string(text);
}

void environment_mask::mask(google::protobuf::Message& message) const {
  specs::change_texts(message, [this](const std::string& text, std::string_view field) {
    return is_identifier(field) ? text : masked(text);
  });
}

}  // namespace flowrun::runner
