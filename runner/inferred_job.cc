#include "runner/inferred_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/base/counted.h"
#include "engine/base/units.h"
#include "specs/source_text.h"
#include "specs/value.h"
#include "specs/yaml_writer.h"

namespace flowrun::runner {

namespace {

using json = nlohmann::ordered_json;
using specs::Value;

Value scalar(const std::string& text, bool quoted) {
  Value out;
  out.mutable_scalar()->set_text(text);
  out.mutable_scalar()->set_quoted(quoted);
  return out;
}

void put(Value& map, const std::string& key, Value value) {
  specs::Entry& entry = *map.mutable_map()->add_entries();
  entry.set_key(key);
  *entry.mutable_value() = std::move(value);
}

// The language's words stand without quotes, what the file has with them.
Value setting(const operators::inferred_setting& given) {
  Value out;
  if (!given.list.empty()) {
    for (const std::string& text : given.list) *out.mutable_list()->add_items() = scalar(text, true);
  } else if (!given.map.empty()) {
    for (const auto& [key, text] : given.map) put(out, key, scalar(text, given.name != "missing"));
  } else {
    out = scalar(given.text, given.name != "columns" && given.name != "other_keys");
  }
  return out;
}

// A path that begins with ~ is the home directory's in a job.
std::string path_in_job(const std::string& path) { return path.starts_with('~') ? "./" + path : path; }

Value path_of(const std::vector<std::string>& paths) {
  if (paths.size() == 1) return scalar(path_in_job(paths[0]), paths[0] == "-");
  Value out;
  for (const std::string& path : paths) *out.mutable_list()->add_items() = scalar(path_in_job(path), path == "-");
  return out;
}

std::string type_name(const inferred_job& job) { return job.node == "rows" ? "row" : job.node + "_row"; }

Value source_node(const inferred_job& job) {
  Value with, out;
  put(with, "path", path_of(job.paths));
  if (!job.source.columns.empty()) put(with, "type", scalar(type_name(job), false));
  for (const operators::inferred_setting& s : job.source.settings) put(with, s.name, setting(s));
  put(out, "op", scalar(std::string(job.source.op), false));
  put(out, "with", std::move(with));
  if (job.source.skips_malformed) put(out, "on_error", scalar("skip", false));
  return out;
}

Value sink_node(const inferred_job& job) {
  Value with, out;
  put(with, "path", scalar("-", true));
  if (job.source.sink_op == "file.write_csv") put(with, "header", scalar("true", false));
  Value missing;
  for (const operators::inferred_column& c : job.source.columns)
    if (!c.told_by.empty()) put(missing, c.name, scalar(c.told_by, false));
  if (is_map(missing)) put(with, "missing", std::move(missing));
  put(out, "op", scalar(std::string(job.source.sink_op), false));
  put(out, "in", scalar(job.node, false));
  put(out, "with", std::move(with));
  return out;
}

Value nodes_of(const inferred_job& job, bool with_sink) {
  Value nodes, out;
  put(nodes, job.node, source_node(job));
  if (with_sink) put(nodes, job.node == "write" ? "output" : "write", sink_node(job));
  put(out, "nodes", std::move(nodes));
  return out;
}

// What a reader of YAML takes as a comment's text: one line of UTF-8 without control characters.
std::string in_comment(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const auto lead = static_cast<unsigned char>(text.front());
    const size_t length = specs::utf8_length(text);
    const bool separates = text.starts_with("\xE2\x80\xA8") || text.starts_with("\xE2\x80\xA9");
    const bool odd = lead < 0x20 || lead == 0x7F || (lead == 0xC2 && length == 2 && text[1] < '\xA0') ||
                     text.starts_with("\xEF\xBB\xBF") || text.starts_with("\xEF\xBF");
    if (length == 0 || separates || odd) {
      out += fmt::format("\\x{:02X}", lead);
      text.remove_prefix(1);
    } else {
      out += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return out;
}

std::string sample_text(const operators::inferred_source::sample& seen) {
  std::string out = counted(seen.rows, "row");
  if (seen.whole) return out + ": all that there are";
  out += fmt::format(" from {}", counted(seen.places, "place"));
  if (seen.all_files > 1)
    out += fmt::format(" in {} of {} files", format_count(seen.files), format_count(seen.all_files));
  if (seen.all_rows) out += fmt::format(", of about {}", format_count(std::max(*seen.all_rows, seen.rows)));
  return out + "; --all looks at all of them";
}

std::string heading(const inferred_job& job) {
  std::string paths;
  for (const std::string& path : job.paths) paths += " " + path;
  std::string out = fmt::format("# flowrun infer{}\n# {}\n", in_comment(paths), sample_text(job.source.seen));
  for (const std::string& note : job.source.notes) out += fmt::format("# {}\n", in_comment(note));
  for (const std::string& question : job.source.questions) out += fmt::format("# ? {}\n", in_comment(question));
  return out;
}

std::string column_comment(const operators::inferred_column& column, uint64_t num_rows) {
  std::string out;
  const auto add = [&out](const std::string& text) { out += (out.empty() ? "" : "; ") + text; };
  if (!column.least.empty())
    add(column.least == column.most ? "always " + column.least : column.least + " to " + column.most);
  if (column.num_missing > 0) {
    std::string texts;
    for (const std::string& text : column.missing_texts) texts += (texts.empty() ? "" : ", ") + ('"' + text + '"');
    add(fmt::format("{} of {} missing ({})", format_count(column.num_missing), format_count(num_rows), texts));
  }
  for (const std::string& note : column.notes) add(note);
  return in_comment(out);
}

std::string types_text(const inferred_job& job) {
  if (job.source.columns.empty()) return {};
  std::string out = fmt::format("types:\n  {}:\n", type_name(job));
  constexpr size_t widest = 40;
  size_t width = 0;
  std::vector<std::string> lines;
  for (const operators::inferred_column& c : job.source.columns) {
    lines.push_back(
        fmt::format("    {}: {}", specs::yaml_scalar(c.name, false, specs::dollars::kept), to_string(c.type)));
    width = std::max(width, std::min(lines.back().size(), widest));
  }
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string comment = column_comment(job.source.columns[i], job.source.seen.rows);
    out += comment.empty() ? lines[i] + "\n" : fmt::format("{:<{}}  # {}\n", lines[i], width, comment);
  }
  return out;
}

json json_of(const Value& value) {
  if (is_list(value)) {
    json out = json::array();
    for (const Value& item : value.list().items()) out.push_back(json_of(item));
    return out;
  }
  if (is_map(value)) {
    json out = json::object();
    for (const specs::Entry& entry : value.map().entries()) out[entry.key()] = json_of(entry.value());
    return out;
  }
  // A text as a job says it: $ stands twice.
  std::string text;
  for (const char c : specs::text(value)) text += c == '$' ? "$$" : std::string(1, c);
  return text;
}

json column_json(const operators::inferred_column& c) {
  json out = {{"name", c.name}, {"type", to_string(c.type)}, {"missing", c.num_missing}};
  if (!c.header.empty()) out["header"] = c.header;
  if (!c.missing_texts.empty()) out["missing_texts"] = c.missing_texts;
  if (!c.told_by.empty()) out["told_by"] = c.told_by;
  if (!c.least.empty()) out["least"] = c.least;
  if (!c.most.empty()) out["most"] = c.most;
  if (!c.notes.empty()) out["notes"] = c.notes;
  return out;
}

}  // namespace

std::string inferred_fragment(const inferred_job& job) {
  return heading(job) + types_text(job) + write_yaml(nodes_of(job, false), specs::dollars::doubled);
}

std::string inferred_whole_job(const inferred_job& job) {
  return heading(job) +
         fmt::format("flowrun: 1\nname: {}\n", specs::yaml_scalar(job.node, false, specs::dollars::kept)) +
         types_text(job) + write_yaml(nodes_of(job, true), specs::dollars::doubled);
}

std::string inferred_json(const inferred_job& job) {
  const operators::inferred_source& source = job.source;
  json types = json::object(), columns = json::array();
  for (const operators::inferred_column& c : source.columns) {
    types[type_name(job)][c.name] = to_string(c.type);
    columns.push_back(column_json(c));
  }
  json rows = {{"seen", source.seen.rows}, {"all_seen", source.seen.whole}};
  if (source.seen.all_rows) rows["about"] = std::max(*source.seen.all_rows, source.seen.rows);
  const json out = {{"format", source.format},
                    {"node", job.node},
                    {"paths", job.paths},
                    {"rows", std::move(rows)},
                    {"columns", std::move(columns)},
                    {"notes", source.notes},
                    {"questions", source.questions},
                    {"types", std::move(types)},
                    {"nodes", json_of(*specs::find(nodes_of(job, false), "nodes"))},
                    {"yaml", inferred_fragment(job)}};
  return out.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace flowrun::runner
