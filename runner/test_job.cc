#include "runner/test_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "engine/base/error.h"
#include "engine/plan/body_ports.h"
#include "engine/plan/file_rules.h"
#include "runner/test_rows.h"
#include "runner/words.h"
#include "specs/value.h"

namespace flowrun::runner {

namespace {

using specs::Value;

constexpr std::string_view packed_reader = "file.read_rows";
constexpr std::string_view packed_writer = "file.write_rows";

// Files with a header of bytes, or with messages.
bool is_binary(const plan::operator_declaration& o) {
  return o.name == "file.read_npy" || o.name == "file.write_npy" || o.name == "file.read_protobuf" ||
         o.name == "file.write_protobuf";
}

std::string source_path(const std::string& directory, const std::string& node) { return directory + "/given/" + node; }

bool takes(const plan::operator_declaration& d, std::string_view parameter) {
  return std::any_of(d.parameters.begin(), d.parameters.end(),
                     [&](const plan::parameter_declaration& p) { return p.name == parameter; });
}
bool reads_files(const plan::operator_declaration& d) {
  return d.role == plan::operator_role::source && takes(d, "path");
}
bool writes_files(const plan::operator_declaration& d) {
  return d.role == plan::operator_role::sink && takes(d, "path");
}

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
    keep_off_files(job_, test, named);
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
    } else if (is_binary(*n->declaration)) {
      faults_.add(part.position, fmt::format("'{}' reads no lines, which rows could stand for", part.node),
                  "text: all that the file holds",
                  "a test of the nodes behind it has a source of lines, or file.read_rows");
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
        part, [](const plan::node& m) { return writes_files(*m.declaration); }, "sink");
    if (n == nullptr) return;
    const fitted_test::output output{part.node,
                                     part.position,
                                     {},
                                     n->declaration->name == packed_writer,
                                     record::row_type(plan::written_columns(job_, *n)),
                                     line_end(*n)};
    const std::optional<plan::path_template> names = names_of(*n);
    if (names) return add_files(part, *names, output);
    if (specs::is_map(part.value))
      faults_.add(part.position, fmt::format("'{}' writes one file", part.node),
                  "a list of rows, or text: all that the file holds");
    else
      add_output(output, part.value);
  }

  // The path of a node that writes several files.
  static std::optional<plan::path_template> names_of(const plan::node& n) {
    for (plan::file_use& use : plan::files_of(n))
      if (use.partitioned) return std::move(use.partitioned);
    return std::nullopt;
  }

  void add_output(fitted_test::output output, const Value& rows) {
    if (specs::is_scalar(rows))
      output.bytes = specs::text(rows);
    else if (is_binary(*job_.find(output.node)->declaration))
      faults_.add(output.position, fmt::format("'{}' writes no lines, which rows could stand for", output.node),
                  "text: all that the file holds",
                  "a test of the nodes in front of it has a sink of lines, or file.write_rows");
    else if (output.packed)
      output.bytes = with_one_nan(packed_rows(rows, output.type, faults_), output.type);
    else
      output.bytes = joined_lines(rows, output.delimiter, faults_);
    out_.outputs.push_back(std::move(output));
  }

  void add_files(const test_case::part& part, const plan::path_template& names, const fitted_test::output& common) {
    const std::string& fixed = names.parts().front().literal;
    const std::string directory = fixed.substr(0, fixed.rfind('/') + 1);
    const std::string called = names.shown();
    if (!specs::is_map(part.value))
      return faults_.add(part.position, fmt::format("'{}' writes files called {}", part.node, called),
                         "{path: [row, …]}, of all files");
    fitted_test::file_list list{part.node, directory, {}, common};
    for (const specs::Entry& file : part.value.map().entries()) {
      if (!file.key().starts_with(directory) || file.key().size() == directory.size()) {
        faults_.add(file.key_position(),
                    fmt::format("no file of '{}' is called {}", part.node, specs::quotable(file.key())),
                    fmt::format("a name like {}", called));
        continue;
      }
      fitted_test::output output = common;
      output.position = file.key_position();
      output.file = file.key().substr(directory.size());
      output.path = file.key();
      list.files.push_back(output.file);
      add_output(std::move(output), file.value());
    }
    out_.file_lists.push_back(std::move(list));
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
    if (!is_named(n, "path", named))
      faults_.add(test.position,
                  fmt::format("'{}' gives no rows for the source '{}'", specs::quotable(test.name), n.id),
                  fmt::format("given: {{{}: [row, …]}}, or the path under params:", n.id));
  }

  // The test itself says the paths of the parameter, or there are none.
  static bool is_named(const plan::node& n, const std::string& parameter, const std::vector<std::string>& named) {
    const Value* path = specs::find(n.spec->with(), parameter);
    if (path == nullptr) return true;
    const auto is_one = [&named](const Value& v) {
      return std::any_of(named.begin(), named.end(),
                         [&v](const std::string& one) { return specs::text(v).find(one) != std::string::npos; });
    };
    const auto& list = path->list().items();
    return path->has_list() ? std::all_of(list.begin(), list.end(), is_one) : is_one(*path);
  }

  // Files that a test can't put others in place of: of sources inside of other nodes, and of sinks that don't call
  // their path so.
  void keep_off_files(const plan::graph& g, const test_case& test, const std::vector<std::string>& named) {
    for (const plan::node& n : g.nodes) {
      for (const plan::parameter_declaration& p : n.declaration->parameters) {
        const bool is_path = p.kind == plan::parameter_kind::path || p.kind == plan::parameter_kind::paths;
        const bool writes = n.declaration->role == plan::operator_role::sink && p.name != "path";
        const bool reads = &g != &job_ && reads_files(*n.declaration) && p.name == "path";
        if (!is_path || p.is_read || (!writes && !reads) || is_named(n, p.name, named)) continue;
        faults_.add(test.position,
                    fmt::format("'{}' would {} the file of '{}'", specs::quotable(test.name), writes ? "write" : "read",
                                plan::full_name(g, n)),
                    fmt::format("a job that takes its '{}' from a parameter, and the test's own under params:", p.name),
                    reads ? "or a source outside, whose rows a test can give" : "");
      }
      for (const auto& body : n.bodies) keep_off_files(*body, test, named);
    }
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
  value->mutable_scalar()->clear_inserted();
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
      if (d != nullptr && writes_files(*d)) {
        set_text(*node.mutable_with(), "path", path_instead(*d, node, output_path(directory_, prefix + node.id())));
        // Rows are compared, whatever their file would be compressed with.
        if (takes(*d, "compression")) set_text(*node.mutable_with(), "compression", "none");
      }
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
  // The output's path, or where its path names columns, their directory.
  static std::string path_instead(const plan::operator_declaration& d, const specs::Node& node, const std::string& to) {
    for (const plan::parameter_declaration& p : d.parameters) {
      if (!p.names_columns) continue;
      const Value* path = specs::find(node.with(), p.name);
      plan::path_template::problem ignored;
      const auto names = plan::path_template::parse(path == nullptr ? specs::Value() : *path, ignored);
      return names && names->names_columns() ? names->text_in(to) : plan::path_template::escaped(to);
    }
    return to;
  }

  const fitted_test& test_;
  const std::string directory_;
  const plan::vocabulary catalog_ = known_vocabulary();
};

}  // namespace

std::string output_path(const std::string& directory, const std::string& node) { return directory + "/out/" + node; }

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

}  // namespace flowrun::runner
