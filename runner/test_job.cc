#include "runner/test_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "engine/base/error.h"
#include "runner/difference.h"
#include "runner/test_rows.h"
#include "runner/words.h"
#include "specs/value.h"

namespace flowrun::runner {

namespace {

using specs::Value;

constexpr std::string_view packed_reader = "file.read_rows";
constexpr std::string_view packed_writer = "file.write_rows";

std::string source_path(const std::string& directory, const std::string& node) { return directory + "/given/" + node; }
std::string output_path(const std::string& directory, const std::string& node) { return directory + "/out/" + node; }

bool has_path(const plan::operator_declaration& d) {
  return std::any_of(d.parameters.begin(), d.parameters.end(),
                     [](const plan::parameter_declaration& p) { return p.name == "path"; });
}
bool reads_files(const plan::operator_declaration& d) { return d.role == plan::operator_role::source && has_path(d); }
bool writes_files(const plan::operator_declaration& d) { return d.role == plan::operator_role::sink && has_path(d); }

// The byte that ends a line of a text file: what the node's `delimiter` says, if it is about lines.
char line_end(const plan::node& n) {
  if (!n.declaration->name.ends_with("_lines")) return '\n';
  const Value* delimiter = specs::find(n.spec->with(), "delimiter");
  if (delimiter == nullptr || specs::text(*delimiter).empty() || specs::text(*delimiter) == "\\n") return '\n';
  return specs::text(*delimiter) == "\\0" ? '\0' : specs::text(*delimiter).front();
}

class fitting {
 public:
  fitting(const plan::graph& job, specs::fault_sink& faults) : job_(job), faults_(faults) {}

  fitted_test fit(const test_case& test, const std::vector<std::string>& named) {
    for (const test_case::part& part : test.given) add_source(part);
    for (const test_case::part& part : test.expected) part.field.empty() ? add_output(part) : add_value(part);
    for (const plan::node& n : job_.nodes)
      if (reads_files(*n.declaration)) expect_given(n, test, named);
    return std::move(out_);
  }

 private:
  using predicate = bool (*)(const plan::node&);

  const plan::node* find(const test_case::part& part, predicate fits, std::string_view kind) {
    const plan::node* n = job_.find(part.node);
    if (n != nullptr && fits(*n)) return n;
    std::vector<std::string> names;
    for (const plan::node& other : job_.nodes)
      if (fits(other)) names.push_back(other.id);
    if (n == nullptr)
      faults_.add_unknown(part.position, fmt::format("there is no {} '{}'", kind, specs::quotable(part.node)),
                          part.node, names);
    else
      faults_.add(part.position, fmt::format("'{}' is no {}: it is a {}", part.node, kind, n->declaration->name),
                  one_of(names));
    return nullptr;
  }

  void add_source(const test_case::part& part) {
    const plan::node* n = find(
        part, [](const plan::node& m) { return m.declaration->role == plan::operator_role::source; }, "source");
    if (n == nullptr) return;
    fitted_test::source source{
        part.node, {}, !reads_files(*n->declaration), n->outputs.front().type, n->outputs.front().sorted_by};
    if (specs::is_scalar(part.value)) {
      source.bytes = specs::text(part.value);
    } else if (!source.generates && n->declaration->name != packed_reader) {
      source.bytes = joined_lines(part.value, line_end(*n), faults_);
    } else if (source.type.has_strings()) {
      faults_.add(part.position, fmt::format("the rows of '{}' have strings, which can't be packed", part.node),
                  "a source without strings, or one that reads text");
    } else {
      source.bytes = packed_rows(part.value, source.type, faults_);
    }
    out_.sources.push_back(std::move(source));
  }

  void add_output(const test_case::part& part) {
    const plan::node* n = find(
        part, [](const plan::node& m) { return writes_files(*m.declaration); }, "node that writes a file");
    if (n == nullptr) return;
    fitted_test::output output{
        part.node, part.position, {}, n->declaration->name == packed_writer, job_.input_of(*n, 0).type, line_end(*n)};
    if (specs::is_scalar(part.value))
      output.bytes = specs::text(part.value);
    else if (output.packed)
      output.bytes = packed_rows(part.value, output.type, faults_);
    else
      output.bytes = joined_lines(part.value, output.delimiter, faults_);
    out_.outputs.push_back(std::move(output));
  }

  // Only the end of the run tells what a node reports; nodes inside others are known by their first name.
  void add_value(const test_case::part& part) {
    test_case::part outermost = part;
    outermost.node = part.node.substr(0, part.node.find('.'));
    if (find(
            outermost, [](const plan::node&) { return true; }, "node") != nullptr)
      out_.values.push_back({part.node, part.field, specs::text(part.value), part.position});
  }

  // A file of its own is read only where a test asks for that; tests don't depend on what happens to lie there.
  void expect_given(const plan::node& n, const test_case& test, const std::vector<std::string>& named) {
    if (std::any_of(test.given.begin(), test.given.end(), [&](const auto& part) { return part.node == n.id; })) return;
    const Value* path = specs::find(n.spec->with(), "path");
    if (path == nullptr) return;
    const auto is_named = [&named](const Value& v) {
      return std::any_of(named.begin(), named.end(),
                         [&v](const std::string& one) { return specs::text(v).find(one) != std::string::npos; });
    };
    const auto& list = path->list().items();
    if (path->has_list() ? !std::all_of(list.begin(), list.end(), is_named) : !is_named(*path))
      faults_.add(test.position,
                  fmt::format("'{}' gives no rows for the source '{}'", specs::quotable(test.name), n.id),
                  fmt::format("given: {{{}: [row, …]}}, or the path under params:", n.id));
  }

  const plan::graph& job_;
  specs::fault_sink& faults_;
  fitted_test out_;
};

Value* entry_of(Value& map, const std::string& key) {
  for (specs::Entry& entry : *map.mutable_map()->mutable_entries())
    if (entry.key() == key) return entry.mutable_value();
  specs::Entry* entry = map.mutable_map()->add_entries();
  entry->set_key(key);
  return entry->mutable_value();
}

void set_text(Value& map, const std::string& key, const std::string& text) {
  Value* value = entry_of(map, key);
  *value->mutable_position() = map.position();
  value->mutable_scalar()->set_text(text);
  value->mutable_scalar()->set_unresolved(false);
}

// A node that made rows reads them now; they have to be in the order that it gave.
void read_instead(specs::Node& node, const fitted_test::source& from) {
  node.set_op(std::string(packed_reader));
  Value& with = *node.mutable_with();
  with.clear_kind();
  Value& type = *entry_of(with, "type");
  *type.mutable_position() = with.position();
  for (const record::column& c : from.type.columns()) set_text(type, c.name, record::to_string(c.type));
  if (from.order.empty()) return;
  Value& sorted_by = *entry_of(with, "sorted_by");
  *sorted_by.mutable_position() = with.position();
  for (const plan::order_term& term : from.order) {
    Value& key = *sorted_by.mutable_list()->add_items();
    *key.mutable_position() = with.position();
    key.mutable_scalar()->set_text(plan::to_string({term}));
  }
}

class redirection {
 public:
  redirection(const fitted_test& test, std::string directory) : test_(test), directory_(std::move(directory)) {}

  // Nodes inside others (`prefix`: "levels.") have outputs too, and no given rows.
  void apply(google::protobuf::RepeatedPtrField<specs::Node>& nodes, const std::string& prefix) {
    for (specs::Node& node : nodes) {
      const plan::operator_declaration* d = catalog_.find(node.op());
      if (d != nullptr && writes_files(*d))
        set_text(*node.mutable_with(), "path", output_path(directory_, prefix + node.id()));
      for (const fitted_test::source& source : test_.sources)
        if (prefix.empty() && source.node == node.id()) {
          if (source.generates) read_instead(node, source);
          set_text(*node.mutable_with(), "path", source_path(directory_, source.node));
          // Given rows have no index; without it the same rows are found.
          if (specs::find(node.with(), "index") != nullptr) set_text(*node.mutable_with(), "index", "false");
        }
      for (specs::Body& body : *node.mutable_bodies()) apply(*body.mutable_nodes(), prefix + node.id() + ".");
    }
  }

 private:
  const fitted_test& test_;
  const std::string directory_;
  const plan::vocabulary catalog_ = known_vocabulary();
};

std::string content_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// A terminal gets no control characters.
std::vector<std::string> printable(std::vector<std::string> lines) {
  for (std::string& line : lines)
    for (char& c : line)
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  return lines;
}

void compare_output(const fitted_test::output& expected, const std::string& path, std::vector<std::string>& out) {
  constexpr size_t most_lines = 40;
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    out.push_back(fmt::format("{} wrote no file", expected.node));
    return;
  }
  const std::string found = content_of(path);
  if (found == expected.bytes) return;
  const auto lines = [&expected](const std::string& bytes) {
    return expected.packed ? shown_rows(bytes, expected.type) : printable(split_lines(bytes, expected.delimiter));
  };
  const std::vector<std::string> expected_lines = lines(expected.bytes), found_lines = lines(found);
  out.push_back(fmt::format("{}: expected {} row{} (-), found {} (+)", expected.node, expected_lines.size(),
                            expected_lines.size() == 1 ? "" : "s", found_lines.size()));
  const std::vector<std::string> shown = difference(expected_lines, found_lines, most_lines);
  for (const std::string& line : shown) out.push_back("  " + line);
  if (shown.empty()) {
    const auto [a, b] = std::mismatch(expected.bytes.begin(), expected.bytes.end(), found.begin(), found.end());
    out.push_back(fmt::format("    they look alike, and differ at byte {} (of {} expected, {} found)",
                              a - expected.bytes.begin(), expected.bytes.size(), found.size()));
  }
}

bool same_value(const std::string& expected, const std::string& found) {
  if (found == expected || found == "\"" + expected + "\"") return true;
  const auto a = specs::to_double(expected), b = specs::to_double(found);
  return a && b && !specs::to_int(expected) && *a == *b;
}

void compare_value(const fitted_test::value& expected, const exec::RunReport& report, std::vector<std::string>& out) {
  std::vector<std::string> reported;
  const std::string* found = nullptr;
  for (const exec::RunReport::Result& result : report.results()) {
    if (result.node() != expected.node) continue;
    reported.push_back(result.name());
    if (result.name() == expected.field) found = &result.value();
  }
  if (found == nullptr)
    out.push_back(fmt::format("{} reports no '{}'; it reports {}", expected.node, expected.field,
                              reported.empty() ? "nothing" : joined(reported, ", ")));
  else if (!same_value(expected.text, *found))
    out.push_back(fmt::format("{}.{}: expected {}, found {}", expected.node, expected.field, expected.text, *found));
}

}  // namespace

fitted_test fit(const test_case& test, const plan::graph& job, const std::vector<std::string>& named,
                specs::fault_sink& faults) {
  return fitting(job, faults).fit(test, named);
}

specs::JobSpec redirected(const specs::JobSpec& job, const fitted_test& test, const std::string& directory) {
  specs::JobSpec out = job;
  redirection into(test, directory);
  into.apply(*out.mutable_nodes(), "");
  for (specs::Graph& graph : *out.mutable_graphs()) into.apply(*graph.mutable_nodes(), graph.name() + ".");
  std::filesystem::create_directories(directory + "/given");
  std::filesystem::create_directories(directory + "/out");
  for (const fitted_test::source& source : test.sources) {
    std::ofstream file(source_path(directory, source.node), std::ios::binary);
    file << source.bytes;
    if (!file.flush()) throw error(error_kind::output, "can't write " + source_path(directory, source.node));
  }
  return out;
}

std::vector<std::string> mismatches(const fitted_test& test, const std::string& directory,
                                    const exec::RunReport& report) {
  std::vector<std::string> out;
  for (const fitted_test::output& output : test.outputs)
    compare_output(output, output_path(directory, output.node), out);
  for (const fitted_test::value& value : test.values) compare_value(value, report, out);
  return out;
}

}  // namespace flowrun::runner
